// The rules by which figures are judged, their JSON, and rates from samples.
#include "bench/figures/frame/figure.h"

#include <gtest/gtest.h>

#include <limits>

#include "bench/figures/frame/figure_run.h"
#include "bench/figures/frame/timeline.h"

namespace braid::figures {
namespace {

Check AtLeast(double measured, double agrees, double in_part) {
  return {"a to b", measured, Direction::kAtLeast, agrees, in_part, "2", "memory is fast"};
}

TEST(FigureCheckTest, JudgesByTheBoundsInItsDirection) {
  EXPECT_EQ(AtLeast(1.5, 1.5, 1.1).Judge(), Agreement::kAgrees);
  EXPECT_EQ(AtLeast(1.2, 1.5, 1.1).Judge(), Agreement::kInPart);
  EXPECT_EQ(AtLeast(1.0, 1.5, 1.1).Judge(), Agreement::kDoesNotAgree);
  Check most = AtLeast(0.05, 0.01, 0.1);
  most.direction = Direction::kAtMost;
  EXPECT_EQ(most.Judge(), Agreement::kInPart);
  most.measured = 0.005;
  EXPECT_EQ(most.Judge(), Agreement::kAgrees);
  most.measured = 0.2;
  EXPECT_EQ(most.Judge(), Agreement::kDoesNotAgree);
}

TEST(FigureCheckTest, WhatWasNotMeasuredIsNotJudged) {
  const Check unknown = AtLeast(std::numeric_limits<double>::quiet_NaN(), 1, 1);
  EXPECT_EQ(unknown.Judge(), Agreement::kNotJudged);
  EXPECT_TRUE(CheckToJson(unknown).at("measured").is_null());
}

TEST(FigureCheckTest, AFigureAgreesOnlyWhenAllOfItDoes) {
  const Check yes = AtLeast(2, 1.5, 1.1);
  const Check part = AtLeast(1.2, 1.5, 1.1);
  const Check no = AtLeast(0.5, 1.5, 1.1);
  const Check unknown = AtLeast(std::numeric_limits<double>::quiet_NaN(), 1, 1);
  EXPECT_EQ(JudgeAll({}), Agreement::kNotJudged);
  EXPECT_EQ(JudgeAll({unknown}), Agreement::kNotJudged);
  EXPECT_EQ(JudgeAll({yes, yes}), Agreement::kAgrees);
  EXPECT_EQ(JudgeAll({yes, no}), Agreement::kInPart);
  EXPECT_EQ(JudgeAll({part}), Agreement::kInPart);
  EXPECT_EQ(JudgeAll({yes, unknown}), Agreement::kInPart);
  EXPECT_EQ(JudgeAll({no, no}), Agreement::kDoesNotAgree);
  EXPECT_EQ(JudgeAll({no, unknown}), Agreement::kDoesNotAgree);
}

TEST(FigureCheckTest, TheReasonIsToldOnlyWhereACheckFails) {
  EXPECT_EQ(CheckToJson(AtLeast(2, 1.5, 1.1)).at("reason"), "");
  const Json failed = CheckToJson(AtLeast(1, 1.5, 1.1));
  EXPECT_EQ(failed.at("reason"), "memory is fast");
  EXPECT_EQ(failed.at("verdict"), "does not agree");
  EXPECT_EQ(failed.at("rule"), "agrees from 1.5, in part from 1.1");
}

Json Samples() {
  return Json::parse(R"({"samples": {"seconds": [0, 0.1, 0.2, 0.201],
      "done": {"write": [0, 10, 40, 41]}, "fields": {"flushed_entries": [0, 0, 40, 40]}}})");
}

TEST(TimelineTest, RatesAreGrowthOverTime) {
  const Series put = RateSeries("put", DoneSamples(Samples(), "write"));
  ASSERT_EQ(put.y.size(), 2u) << "the last interval is too short to be a rate";
  EXPECT_DOUBLE_EQ(put.x[0], 0.05);
  EXPECT_DOUBLE_EQ(put.y[0], 100);
  EXPECT_DOUBLE_EQ(put.y[1], 300);
  const Series flush = RateSeries("flush", FieldSamples(Samples(), "flushed_entries"), 0.5);
  EXPECT_DOUBLE_EQ(flush.y[1], 200);
  EXPECT_NEAR(OverallRate(DoneSamples(Samples(), "write")), 41 / 0.201, 1e-9);
}

TEST(TimelineTest, AFieldThatAStoreDoesNotTellIsZero) {
  const Series none = RateSeries("x", FieldSamples(Samples(), "merged_entries"));
  EXPECT_EQ(none.y, (std::vector<double>{0, 0}));
}

TEST(TimelineTest, AJobIsAStepOverTheTimeItTook) {
  const CounterSamples entries{{0, 1, 2, 3}, {0, 0, 100, 100}};
  const CounterSamples micros{{0, 1, 2, 3}, {0, 0, 500'000, 600'000}};
  const Series job = JobSeries("flush", entries, micros, 2);
  EXPECT_EQ(job.x, (std::vector<double>{0, 1.5, 1.5, 2, 2, 3}));
  EXPECT_EQ(job.y, (std::vector<double>{0, 0, 400, 400, 0, 0}));
}

TEST(TimelineTest, ShareBelowCountsIntervalsThatStoodStill) {
  EXPECT_DOUBLE_EQ(ShareBelow({"x", {0, 1, 2, 3}, {10, 10, 0, 10}}, 0.1), 0.25);
}

FigureSpec Spec(std::function<Status(FigureRun&)> run) {
  return {"test-1", "title", "paper", "section", "claim", "setting", false, std::move(run)};
}

TEST(FigureRunTest, ASkippedFigureSaysWhyAndIsNotJudged) {
  const FigureSpec spec = Spec({});
  FigureRun run(spec, FigureSettings{});
  run.AddCheck(AtLeast(2, 1, 1));
  const Json json = run.ToJson(Status::NotSupported("log.kind is not there yet"));
  EXPECT_EQ(json.at("schema"), "braid-figure/1");
  EXPECT_EQ(json.at("state"), "skipped");
  EXPECT_EQ(json.at("skipped_because"), "log.kind is not there yet");
  EXPECT_EQ(json.at("verdict"), "not judged");
}

TEST(FigureRunTest, AChildHandsItsStatusAndItsNumbersOver) {
  const FigureSpec spec = Spec({});
  FigureRun run(spec, FigureSettings{});
  Json out;
  ASSERT_TRUE(run.InChild(
                     "child",
                     [](Json* result) {
                       *result = {{"x", 1}};
                       return Status::OK();
                     },
                     &out)
                  .ok());
  EXPECT_EQ(out.at("x"), 1);
  const Status refused = run.InChild(
      "child", [](Json*) { return Status::NotSupported("not there"); }, &out);
  EXPECT_TRUE(refused.IsNotSupported());
  EXPECT_EQ(refused.message(), "child: not there");
}

TEST(FigureRunTest, MeasuresAStoreAndKeepsTheTimeSeriesOutOfItsRuns) {
  const FigureSpec spec = Spec({});
  FigureSettings settings;
  settings.scale = 0.01;
  FigureRun run(spec, settings);
  StoreRun store;
  store.label = "tiny";
  store.workload = run.Workload(run.Scaled(100'000), 8, 8);
  store.workload.benchmarks = {"ycsb-load", "mix-50"};
  store.workload.sample_millis = 1;
  Json result;
  const Status status = run.Measure(store, &result);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_GT(OpsPerSecond(result, "mix-50"), 0);
  const Json& load = ResultOf(result, "ycsb-load");
  EXPECT_EQ(load.at("operations"), 1000);
  EXPECT_EQ(load.at("samples").at("done").at("write").back(), 1000);
  EXPECT_EQ(load.at("samples").at("fields").at("puts").back(), 1000);
  EXPECT_FALSE(run.ToJson(status).at("runs").at(0).at("results").at(0).contains("samples"));
}

TEST(FigureRunTest, AMissingPartKeepsItsStatusCode) {
  const FigureSpec spec = Spec({});
  FigureRun run(spec, FigureSettings{});
  StoreRun store;
  store.label = "none";
  store.engine = "no such store";
  store.workload = run.Workload(1000, 8, 8);
  store.workload.benchmarks = {"ycsb-load"};
  Json result;
  EXPECT_TRUE(run.Measure(store, &result).IsNotSupported());
}

}  // namespace
}  // namespace braid::figures
