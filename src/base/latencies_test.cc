#include "base/latencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/stalls.h"

namespace braid::base {
namespace {

LatencyHistogram Of(const Latencies& latencies, LatencyKind kind) {
  const auto statistics = std::make_unique<Statistics>();
  latencies.Fill(statistics.get());
  return statistics->latency(kind);
}

TEST(LatencyHistogramTest, BucketsFollowEachOtherWithoutAGap) {
  EXPECT_EQ(LatencyHistogram::LowerNanos(0), 0u);
  for (size_t i = 0; i + 1 < LatencyHistogram::kBuckets; ++i) {
    const uint64_t lower = LatencyHistogram::LowerNanos(i);
    const uint64_t upper = LatencyHistogram::UpperNanos(i);
    ASSERT_EQ(LatencyHistogram::LowerNanos(i + 1), upper + 1);
    ASSERT_EQ(LatencyHistogram::BucketOf(lower), i);
    ASSERT_EQ(LatencyHistogram::BucketOf(upper), i);
    ASSERT_LE(upper - lower, lower / 8) << "an eighth of its values wide at most";
  }
  EXPECT_EQ(LatencyHistogram::BucketOf(~uint64_t{0}), LatencyHistogram::kBuckets - 1);
  EXPECT_EQ(LatencyHistogram::UpperNanos(LatencyHistogram::kBuckets - 1), ~uint64_t{0});
}

TEST(LatencyHistogramTest, PercentilesAreWithinSixPercentOfAnExactSort) {
  const Latencies none;
  EXPECT_EQ(Of(none, LatencyKind::kGet).Percentile(50), 0u);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Latencies latencies;
    std::vector<uint64_t> values;
    uint64_t sum = 0;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(random.Next() >> (30 + random.Uniform(30)));
      sum += values.back();
      latencies.Record(LatencyKind::kFlush, values.back());
    }
    std::sort(values.begin(), values.end());
    const LatencyHistogram of = Of(latencies, LatencyKind::kFlush);
    EXPECT_EQ(of.count, values.size());
    EXPECT_EQ(of.sum_nanos, sum);
    EXPECT_EQ(of.max_nanos, values.back());
    EXPECT_EQ(of.Percentile(100), values.back());
    for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
      const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
      const auto exact = static_cast<double>(values[static_cast<size_t>(rank) - 1]);
      EXPECT_NEAR(static_cast<double>(of.Percentile(percent)), exact, exact / 16 + 1) << percent;
    }
  }
}

TEST(LatencyHistogramTest, SinceIsWhatCameInBetween) {
  Latencies latencies;
  for (int i = 0; i < 100; ++i) latencies.Record(LatencyKind::kSync, 5'000'000);
  const LatencyHistogram before = Of(latencies, LatencyKind::kSync);
  for (int i = 0; i < 10; ++i) latencies.Record(LatencyKind::kSync, 1'000);
  const LatencyHistogram now = Of(latencies, LatencyKind::kSync);
  const LatencyHistogram growth = now.Since(before);
  EXPECT_EQ(growth.count, 10u);
  EXPECT_EQ(growth.sum_nanos, 10'000u);
  EXPECT_NEAR(static_cast<double>(growth.Percentile(99)), 1000, 63);
  EXPECT_LT(growth.max_nanos, 1100u) << "not the longest of all, which came before";
  EXPECT_EQ(before.Since(now).count, before.count) << "another process: all of it";
}

TEST(LatenciesTest, TheFirstAreAllTimedAndThenOneInSixtyFour) {
  Latencies latencies;
  uint64_t timed = 0;
  for (uint64_t i = 1; i <= Latencies::kFirst; ++i) {
    ASSERT_TRUE(latencies.IsTimed(LatencyKind::kGet, i));
    latencies.RecordSampled(LatencyKind::kGet, 1000);
  }
  EXPECT_EQ(Of(latencies, LatencyKind::kGet).count, Latencies::kFirst);
  EXPECT_TRUE(latencies.IsTimed(LatencyKind::kPut, 1)) << "each kind has its own";
  constexpr uint64_t kCalls = 1'000'000;
  for (uint64_t i = 1; i <= kCalls; ++i) {
    if (!latencies.IsTimed(LatencyKind::kGet, i)) continue;
    ++timed;
    latencies.RecordSampled(LatencyKind::kGet, 1000);
  }
  EXPECT_NEAR(static_cast<double>(timed), kCalls / 64.0, 10);
  EXPECT_NEAR(static_cast<double>(Of(latencies, LatencyKind::kGet).count), kCalls,
              2.0 * Latencies::kFirst);
}

// A caller that does four gets a request, the first of which is slow, must see a fourth slow.
TEST(LatenciesTest, WhatIsTimedFollowsNoPeriodOfTheCallers) {
  Latencies latencies;
  for (uint64_t i = 0; i < Latencies::kFirst; ++i) {
    latencies.RecordSampled(LatencyKind::kGet, 1000);
  }
  for (const uint64_t period : {2u, 3u, 4u, 8u, 64u, 100u, 128u}) {
    std::vector<double> timed(period);
    constexpr uint64_t kCalls = 64 * 1000;
    for (uint64_t i = 0; i < kCalls * period; ++i) {
      if (latencies.IsTimed(LatencyKind::kGet, i)) ++timed[i % period];
    }
    for (const double of_phase : timed) EXPECT_NEAR(of_phase, 1000, 100) << period;
  }
}

TEST(LatenciesTest, OfManyThreadsNothingIsLost) {
  Latencies latencies;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 1; i <= 10'000; ++i) latencies.Record(LatencyKind::kMerge, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Of(latencies, LatencyKind::kMerge).count, 40'000u);
  EXPECT_EQ(Of(latencies, LatencyKind::kMerge).max_nanos, 10'000u);
}

TEST(LatenciesTest, ASlowWriteIsNeverMissed) {
  Stalls stalls;
  for (uint64_t i = 0; i < Latencies::kFirst; ++i) {
    stalls.latencies()->RecordSampled(LatencyKind::kBatch, 1000);
  }
  for (int i = 0; i < 20; ++i) {
    const Stalls::WriteWatch watch(&stalls, LatencyKind::kBatch);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const LatencyHistogram of = Of(*stalls.latencies(), LatencyKind::kBatch);
  EXPECT_EQ(of.count, Latencies::kFirst + 20) << "each counts as one";
  EXPECT_GE(of.Percentile(99), 2'000'000u);
  EXPECT_EQ(Of(*stalls.latencies(), LatencyKind::kPut).count, 0u);
  const LatencyHistogram stalled = Of(*stalls.latencies(), LatencyKind::kStall);
  EXPECT_EQ(stalled.count, stalls.count()) << "a stall is one, too";
  EXPECT_EQ(stalled.count, 20u);
}

TEST(StatisticsTest, NamesOfFieldsAreWholeAndOfTheirKind) {
  Statistics statistics;
  LatencyHistogram& of = statistics.latencies[static_cast<size_t>(LatencyKind::kMultiGet)];
  of.count = 7;
  std::set<std::string> names;
  for (const StatisticsField& field : ListFields(statistics)) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    const bool is_set = std::string(field.name) == "latency_multi_get_count";
    EXPECT_EQ(field.value, is_set ? 7u : 0u) << field.name;
  }
  for (size_t i = 0; i < kLatencyKinds; ++i) {
    const std::string kind = LatencyKindName(static_cast<LatencyKind>(i));
    EXPECT_NE(kind, "");
    for (const char* end :
         {"count", "sum_nanos", "p50_nanos", "p99_nanos", "p999_nanos", "max_nanos"}) {
      EXPECT_TRUE(names.contains("latency_" + kind + "_" + end)) << kind << end;
    }
  }
  EXPECT_STREQ(LatencyKindName(static_cast<LatencyKind>(kLatencyKinds)), "");
  EXPECT_STREQ(BackgroundWorkName(static_cast<BackgroundWork>(kBackgroundWorks)), "");
}

}  // namespace
}  // namespace braid::base
