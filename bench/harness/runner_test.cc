#include "bench/harness/runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>

#include "bench/harness/report.h"
#include "bench/harness/scenario.h"

namespace braid::bench {
namespace {

/// What goes wrong in a MapEngine, to see that the harness notices.
struct Faults {
  std::string lose_put_of{};    ///< the key's puts are acknowledged and dropped
  std::string flip_byte_of{};   ///< a byte of the key's value is changed when it is written
  std::string hide_in_scans{};  ///< scans pass over the key
  std::string keep_old_of{};    ///< only the first put of the key takes effect
  std::string undelete{};       ///< deletes of the key are acknowledged and dropped
  bool reverse_seeks = false;   ///< seeks end one record too early
};

struct MapState {
  std::map<std::string, std::string, std::less<>> records;
  std::mutex mutex;
  Faults faults;
};

class MapSession : public KvSession {
 public:
  explicit MapSession(MapState& state) : state_(state) {}
  Status Put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(state_.mutex);
    PutLocked(key, value);
    return Status::OK();
  }
  Status Get(std::string_view key, std::string* value) override {
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.records.find(key);
    if (found == state_.records.end()) return Status::NotFound();
    *value = found->second;
    return Status::OK();
  }
  Status Delete(std::string_view key) override {
    const std::lock_guard lock(state_.mutex);
    if (key != state_.faults.undelete) state_.records.erase(std::string(key));
    return Status::OK();
  }
  Status Write(const std::vector<BatchUpdate>& batch) override {
    const std::lock_guard lock(state_.mutex);
    for (const BatchUpdate& update : batch) PutLocked(update.key, update.value);
    return Status::OK();
  }
  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    const std::lock_guard lock(state_.mutex);
    const auto& records = state_.records;
    if (range.reverse) {
      for (auto it = records.rbegin(); it != records.rend(); ++it) {
        if (it->first != state_.faults.hide_in_scans && !visit(it->first, it->second)) break;
      }
      return Status::OK();
    }
    auto it = range.start ? records.lower_bound(*range.start) : records.begin();
    if (range.start && state_.faults.reverse_seeks && it != records.begin()) --it;
    for (; it != records.end(); ++it) {
      if (it->first != state_.faults.hide_in_scans && !visit(it->first, it->second)) break;
    }
    return Status::OK();
  }

 private:
  void PutLocked(std::string_view key, std::string_view value) {
    if (key == state_.faults.lose_put_of) return;
    if (key == state_.faults.keep_old_of && state_.records.count(std::string(key)) > 0) return;
    std::string& stored = state_.records[std::string(key)];
    stored = value;
    if (key == state_.faults.flip_byte_of) stored[3] = static_cast<char>(stored[3] ^ 4);
  }
  MapState& state_;
};

/// A correct store over std::map, unless it is told to misbehave.
class MapEngine : public KvEngine {
 public:
  explicit MapEngine(Faults faults = {}) { state_.faults = std::move(faults); }
  std::string name() const override { return "map"; }
  std::string version() const override { return "1"; }
  std::string parameters() const override { return "none"; }
  Status Open(const EngineConfig&) override {
    ++opens;
    state_.records.clear();
    return Status::OK();
  }
  std::unique_ptr<KvSession> NewSession() override { return std::make_unique<MapSession>(state_); }
  Status Settle() override {
    ++settles;
    return Status::OK();
  }
  EngineCounters Counters() override {
    return {state_.records.size(), std::nullopt, 5, std::nullopt};
  }
  Status Close() override { return Status::OK(); }

  int opens = 0;
  int settles = 0;

 private:
  MapState state_;
};

WorkloadOptions SmallOptions(std::vector<std::string> benchmarks, int threads = 1) {
  WorkloadOptions options;
  options.benchmarks = std::move(benchmarks);
  options.num = 5000;
  options.threads = threads;
  options.value_size = 24;
  options.pin = false;
  return options;
}

const std::string kNoDirectory =
    (std::filesystem::temp_directory_path() / "braid-bench-test-never-made").string();

Status RunOn(KvEngine& engine, const WorkloadOptions& options,
             std::vector<BenchmarkResult>* results = nullptr) {
  EXPECT_TRUE(options.Validate().ok()) << options.Validate().message();
  Runner runner(engine, options, kNoDirectory);
  return runner.Run([&](const BenchmarkResult& result) {
    if (results != nullptr) results->push_back(result);
  });
}

std::string Key(uint64_t number) {
  const KeyMaker maker(16, false);
  KeyBuffer buffer(maker);
  return std::string(buffer.Key(number));
}

void ExpectWrongAnswer(Faults faults, std::vector<std::string> benchmarks, const std::string& key) {
  MapEngine engine(std::move(faults));
  WorkloadOptions options = SmallOptions(std::move(benchmarks));
  options.reads = 60'000;  // enough to hit one key of 5000 almost surely
  if (options.benchmarks.back().rfind("readseq", 0) == 0 ||
      options.benchmarks.back().rfind("readreverse", 0) == 0) {
    options.reads.reset();
  }
  const Status status = RunOn(engine, options);
  EXPECT_TRUE(status.IsCorruption()) << options.benchmarks.back();
  EXPECT_NE(status.message().find(key), std::string_view::npos) << status.message();
  EXPECT_NE(status.message().find(options.benchmarks.back()), std::string_view::npos);
}

TEST(RunnerTest, EveryBenchmarkRunsOnACorrectStoreWithOneAndFourThreads) {
  for (const int threads : {1, 4}) {
    for (const BenchmarkSpec& spec : AllBenchmarks()) {
      SCOPED_TRACE(spec.name + " with " + std::to_string(threads));
      MapEngine engine;
      std::vector<BenchmarkResult> results;
      WorkloadOptions options = SmallOptions({"fillrandom", spec.name}, threads);
      options.seek_nexts = 5;
      const Status status = RunOn(engine, options, &results);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(results.size(), 2u);
      const uint64_t passes = spec.in_rounds ? options.overwrites + 1 : 1;
      const uint64_t expected =
          spec.scans_all ? 5000u * static_cast<unsigned>(threads) : 5000u * passes;
      EXPECT_EQ(results[1].totals.operations, expected);
      EXPECT_GT(results[1].seconds, 0);
      EXPECT_FALSE(FormatResult(results[1]).empty());
    }
  }
}

TEST(RunnerTest, ALongChainOfBenchmarksStaysConsistent) {
  MapEngine engine;
  const WorkloadOptions options =
      SmallOptions({"fillseq",    "readseq",    "overwrite", "readrandom",       "multireadrandom",
                    "ycsb-d",     "readseq",    "ycsb-e",    "readreverse",      "deleterandom",
                    "readrandom", "readseq",    "ycsb-a",    "readrandom",       "fillrandom",
                    "readseq",    "readrandom", "ycsb-f",    "readwhilewriting", "readmissing"},
                   3);
  const Status status = RunOn(engine, options);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(engine.opens, 2) << "the second fill starts from an empty store";
}

TEST(RunnerTest, FillsWriteEveryRecordOnceWhateverTheBatchSize) {
  for (const uint64_t batch_size : {1, 7, 5000, 9999}) {
    MapEngine engine;
    WorkloadOptions options = SmallOptions({"fillrandom", "readseq"}, 4);
    options.batch_size = batch_size;
    std::vector<BenchmarkResult> results;
    ASSERT_TRUE(RunOn(engine, options, &results).ok());
    EXPECT_EQ(results[0].totals.operations, 5000u);
    EXPECT_EQ(results[0].totals.bytes_written, 5000u * 40);
    EXPECT_EQ(*results[0].counters.lines_flushed, 5000u) << "one new record an operation";
  }
}

TEST(RunnerTest, ALostPutIsNoticed) {
  ExpectWrongAnswer({.lose_put_of = Key(77)}, {"fillrandom", "readrandom"}, Key(77));
  ExpectWrongAnswer({.lose_put_of = Key(77)}, {"fillrandom", "multireadrandom"}, Key(77));
  ExpectWrongAnswer({.lose_put_of = Key(77)}, {"fillrandom", "seekrandom"}, Key(77));
  ExpectWrongAnswer({.lose_put_of = Key(77)}, {"fillrandom", "readseq"}, "4999 records");
  ExpectWrongAnswer({.lose_put_of = Key(77)}, {"fillrandom", "ycsb-f"}, Key(77));
}

TEST(RunnerTest, AFlippedByteIsNoticed) {
  for (const char* reader :
       {"readrandom", "multireadrandom", "seekrandom", "readseq", "readreverse"}) {
    ExpectWrongAnswer({.flip_byte_of = Key(123)}, {"fillrandom", reader}, Key(123));
  }
}

TEST(RunnerTest, AnOldValueAfterASecondFillIsNoticed) {
  MapEngine engine({.keep_old_of = Key(9)});
  Dataset dataset(SmallOptions({"readrandom"}));
  RunControl control;
  Worker worker(0, 1, dataset, engine.NewSession(), control);
  for (int fill = 1; fill <= 2; ++fill) {
    dataset.BeginWrites();
    ASSERT_TRUE(worker.Put(9).ok());
    dataset.CompleteFill(true);
    const Status status = worker.Get(9);
    EXPECT_EQ(status.ok(), fill == 1);
    EXPECT_EQ(status.IsCorruption(), fill == 2) << status.message();
  }
}

TEST(RunnerTest, ARecordThatScansHideIsNoticed) {
  ExpectWrongAnswer({.hide_in_scans = Key(4000)}, {"fillrandom", "readseq"}, "4999 records");
  ExpectWrongAnswer({.hide_in_scans = Key(4000)}, {"fillrandom", "readreverse"}, "4999 records");
  ExpectWrongAnswer({.hide_in_scans = Key(4000)}, {"fillrandom", "seekrandom"}, Key(4000));
}

TEST(RunnerTest, ASeekThatEndsTooEarlyIsNoticed) {
  ExpectWrongAnswer({.reverse_seeks = true}, {"fillrandom", "seekrandom"}, "a seek to");
}

TEST(RunnerTest, ADeletedKeyThatIsStillThereIsNoticed) {
  ExpectWrongAnswer({.undelete = Key(55)}, {"fillrandom", "deleterandom", "readrandom"}, Key(55));
}

TEST(RunnerTest, SettlesOnlyBetweenWritingAndReading) {
  MapEngine engine;
  std::vector<BenchmarkResult> results;
  const WorkloadOptions options =
      SmallOptions({"fillrandom", "overwrite", "readrandom", "ycsb-a", "readrandom"});
  ASSERT_TRUE(RunOn(engine, options, &results).ok());
  EXPECT_EQ(engine.settles, 2);
  EXPECT_FALSE(results[0].settled);
  EXPECT_TRUE(results[1].settled);
  EXPECT_FALSE(results[2].settled);
  EXPECT_TRUE(results[3].settled);

  MapEngine unsettled;
  WorkloadOptions without = SmallOptions({"fillrandom", "readrandom"});
  without.settle = false;
  ASSERT_TRUE(RunOn(unsettled, without).ok());
  EXPECT_EQ(unsettled.settles, 0);
}

TEST(RunnerTest, ReadingAnEmptyStoreSaysWhatToDo) {
  MapEngine engine;
  const Status status = RunOn(engine, SmallOptions({"readrandom"}));
  EXPECT_NE(status.message().find("fillrandom"), std::string_view::npos) << status.message();
}

TEST(RunnerTest, AnExistingStoreIsReadWithoutAssumptionsAboutItsKeys) {
  MapEngine engine;
  WorkloadOptions options = SmallOptions({"readrandom", "readseq"});
  options.use_existing_db = true;
  std::vector<BenchmarkResult> results;
  ASSERT_TRUE(RunOn(engine, options, &results).ok());
  EXPECT_EQ(results[0].totals.not_found, 5000u);
}

TEST(RunnerTest, ADurationEndsABenchmark) {
  MapEngine engine;
  WorkloadOptions options = SmallOptions({"fillrandom", "readrandom"}, 2);
  options.reads = 1;
  std::vector<BenchmarkResult> results;
  // On a busy machine one operation of each thread may take all the time there is.
  for (options.duration = 0.05; results.empty() || results[1].totals.operations <= 2u;
       options.duration *= 2) {
    results.clear();
    ASSERT_TRUE(RunOn(engine, options, &results).ok());
    EXPECT_EQ(results[0].totals.operations, 5000u);
    ASSERT_GE(results[1].seconds, options.duration);
  }
}

TEST(RunnerTest, SamplesBeginBeforeTheFirstOperationAndEndAfterTheLast) {
  MapEngine engine;
  // The second run is over before a thread has started.
  WorkloadOptions options = SmallOptions({"fillrandom", "readrandom", "readseq"}, 3);
  options.reads = 10;
  options.sample_millis = 1;
  std::vector<BenchmarkResult> results;
  ASSERT_TRUE(RunOn(engine, options, &results).ok());
  ASSERT_EQ(results.size(), 3u);
  const uint64_t expected[] = {5000, 10, 0};  // three scans of 10 records, counted by 64
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<ProgressSample>& samples = results[i].samples;
    ASSERT_GE(samples.size(), 2u) << results[i].name;
    const auto sum = [](const ProgressSample& sample) {
      return std::accumulate(sample.done.begin(), sample.done.end(), uint64_t{0});
    };
    EXPECT_EQ(sum(samples.front()), 0u) << results[i].name;
    EXPECT_EQ(sum(samples.back()), expected[i]) << results[i].name;
    EXPECT_GE(samples.back().seconds, results[i].seconds) << results[i].name;
  }
  EXPECT_GE(results[0].settle_samples.size(), 2u) << "settling is watched, too";
  EXPECT_TRUE(results[1].settle_samples.empty()) << "nothing to settle";
}

TEST(RunnerTest, EveryOperationIsInTheHistogram) {
  MapEngine engine;
  std::vector<BenchmarkResult> results;
  ASSERT_TRUE(RunOn(engine, SmallOptions({"fillrandom", "ycsb-a"}, 3), &results).ok());
  for (const BenchmarkResult& result : results) EXPECT_EQ(result.Latency().count(), 5000u);
  const auto& by_kind = results[1].totals.latency;
  EXPECT_NEAR(static_cast<double>(by_kind[0].count()), 2500, 250);
  EXPECT_NEAR(static_cast<double>(by_kind[1].count()), 2500, 250);
}

TEST(SustainedTest, EachRoundWritesEachRecordOnce) {
  for (const int threads : {1, 3}) {
    MapEngine engine;
    WorkloadOptions options = SmallOptions({"sustained", "readseq"}, threads);
    options.overwrites = 4;
    std::vector<BenchmarkResult> results;
    ASSERT_TRUE(RunOn(engine, options, &results).ok());
    const std::vector<RoundTotals>& rounds = results[0].totals.rounds;
    ASSERT_EQ(rounds.size(), 5u);
    for (const RoundTotals& round : rounds) {
      EXPECT_EQ(round.latency.count(), 5000u);
      EXPECT_EQ(round.workers, threads);
    }
    EXPECT_EQ(results[0].totals.operations, 25'000u);
    EXPECT_EQ(results[0].Latency().count(), 25'000u);
    EXPECT_TRUE(results[0].settled) << "settling is a part of it";
    EXPECT_EQ(results[1].totals.operations, 5000u * static_cast<unsigned>(threads));
  }
}

TEST(SustainedTest, ARecordThatKeptAnOlderRoundIsNoticed) {
  for (const int threads : {1, 3}) {
    MapEngine engine({.keep_old_of = Key(4321)});
    const Status status = RunOn(engine, SmallOptions({"sustained", "readseq"}, threads));
    EXPECT_TRUE(status.IsCorruption());
    EXPECT_NE(status.message().find(Key(4321)), std::string_view::npos) << status.message();
  }
}

TEST(SustainedTest, RoundsSpaceAndSeriesAreInTheResult) {
  MapEngine engine;
  std::vector<BenchmarkResult> results;
  ASSERT_TRUE(RunOn(engine, SmallOptions({"sustained", "readseq"}), &results).ok());
  const nlohmann::json json = ResultToJson(results[0]);
  ASSERT_EQ(json.at("rounds").size(), 11u);
  double seconds = 0;
  for (const auto& round : json.at("rounds")) {
    seconds += 5000 / round.at("ops_per_second").get<double>();
    EXPECT_GT(round.at("ops_per_second").get<double>(), 0);
    EXPECT_LE(round.at("p99_99_ns").get<double>(), round.at("max_ns").get<double>());
  }
  const auto all = json.at("seconds").get<double>();
  EXPECT_LE(seconds, all * 1.001) << "rounds follow one another";
  EXPECT_LE(json.at("ops_per_second_settled"), json.at("ops_per_second"));
  EXPECT_EQ(json.at("space").at("live_bytes"), 5000u * 40);
  const auto& series = json.at("series");
  ASSERT_GE(series.at("seconds").size(), 2u);
  EXPECT_EQ(series.at("operations").back(), 55'000u);
  for (const char* column : {"operations", "cpu_ns", "file_bytes", "longest_ns"}) {
    EXPECT_EQ(series.at(column).size(), series.at("seconds").size()) << column;
  }
  EXPECT_FALSE(json.contains("samples")) << "the series has them";
  EXPECT_NE(FormatResult(results[0]).find("overwrite 10 "), std::string::npos);
}

TEST(BesideTest, AWriterWritesWhileOthersReadAndNobodySettles) {
  MapEngine engine;
  WorkloadOptions options = SmallOptions(
      {"fillrandom", "readrandom-beside-writer", "readseq-beside-100k", "readrandom"}, 2);
  options.duration = 0.1;
  std::vector<BenchmarkResult> results;
  ASSERT_TRUE(RunOn(engine, options, &results).ok());
  EXPECT_EQ(engine.settles, 1) << "behind the fill alone";
  EXPECT_GT(results[1].side_writes, 0u);
  EXPECT_EQ(results[1].side_latency.count(), results[1].side_writes);
  EXPECT_GT(results[1].side_seconds, results[1].seconds) << "it has a head start";
  EXPECT_GE(results[2].seconds, 0.1) << "scans again and again";
  // Bursts of a millisecond, and a burst more at the end.
  EXPECT_LE(static_cast<double>(results[2].side_writes), 100'000 * results[2].side_seconds + 200);
  EXPECT_TRUE(ResultToJson(results[1]).contains("side_writes_per_second"));
}

TEST(ScenarioTest, EachIsMadeOfBenchmarksAndNamesWhatIsKnown) {
  for (const Scenario& scenario : AllScenarios()) {
    WorkloadOptions options;
    ASSERT_TRUE(ApplyScenario(scenario.name, &options).ok());
    EXPECT_TRUE(options.Validate().ok()) << options.Validate().message();
    EXPECT_EQ(options.settle, scenario.name != "scan-at-once");
  }
  WorkloadOptions options;
  const Status status = ApplyScenario("at-noon", &options);
  EXPECT_NE(status.message().find("scan-beside-writer"), std::string_view::npos);
}

TEST(DatasetTest, InsertsBecomeReadableInOrder) {
  Dataset dataset(SmallOptions({"ycsb-d"}));
  const uint64_t first = dataset.ClaimInsert();
  const uint64_t second = dataset.ClaimInsert();
  EXPECT_EQ(first, 5000u);
  EXPECT_EQ(second, 5001u);
  dataset.AcknowledgeInsert(second);
  EXPECT_EQ(dataset.limit(), 5000u);
  dataset.AcknowledgeInsert(first);
  EXPECT_EQ(dataset.limit(), 5002u);
}

TEST(WorkloadOptionsTest, FlagsOutsideTheirLimitsAreNamed) {
  const auto message_of = [](auto change) {
    WorkloadOptions options = SmallOptions({"fillrandom"});
    change(options);
    return std::string(options.Validate().message());
  };
  EXPECT_EQ(message_of([](WorkloadOptions&) {}), "");
  const auto expect_named = [&](const std::string& flag, auto change) {
    EXPECT_NE(message_of(change).find(flag), std::string::npos) << flag;
  };
  expect_named("--threads", [](WorkloadOptions& o) { o.threads = 0; });
  expect_named("--num", [](WorkloadOptions& o) { o.num = 0; });
  expect_named("--num", [](WorkloadOptions& o) { o.key_size = 1; });
  expect_named("--key_size", [](WorkloadOptions& o) { o.key_size = 0; });
  expect_named("--multiread_keys", [](WorkloadOptions& o) { o.multiread_keys = 0; });
  expect_named("--batch_size", [](WorkloadOptions& o) { o.batch_size = 0; });
  expect_named("--overwrites", [](WorkloadOptions& o) { o.overwrites = 0; });
  expect_named("--distribution", [](WorkloadOptions& o) { o.distribution = "normal"; });
  expect_named("--force_media_class", [](WorkloadOptions& o) { o.force_media_class = "disk"; });
  expect_named("fillsideways", [](WorkloadOptions& o) { o.benchmarks = {"fillsideways"}; });
  expect_named("--hash_keys", [](WorkloadOptions& o) {
    o.benchmarks = {"fillseq"};
    o.hash_keys = true;
  });
}

TEST(WorkloadOptionsTest, FlagsAreReadAsDbBenchWritesThem) {
  CLI::App app;
  WorkloadOptions options;
  AddWorkloadFlags(app, &options);
  const char* arguments[] = {"bench",           "--benchmarks=fillseq,ycsb-a",
                             "--num=123",       "--reads=7",
                             "--histogram=1",   "--settle=0",
                             "--sync",          "--memory_budget=64M",
                             "--seek_nexts=10", "--key_size=24",
                             "--hash_keys=0"};
  app.parse(static_cast<int>(std::size(arguments)), arguments);
  EXPECT_EQ(options.benchmarks, (std::vector<std::string>{"fillseq", "ycsb-a"}));
  EXPECT_EQ(options.num, 123u);
  EXPECT_EQ(options.Operations(), 7u);
  EXPECT_TRUE(options.histogram);
  EXPECT_FALSE(options.settle);
  EXPECT_TRUE(options.sync);
  EXPECT_FALSE(options.hash_keys);
  EXPECT_EQ(options.memory_budget_bytes, 64u << 20);
  EXPECT_EQ(options.key_size, 24u);
}

}  // namespace
}  // namespace braid::bench
