#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace braid {
namespace {

uint64_t ExactPercentile(const std::vector<uint64_t>& sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::max<size_t>(static_cast<size_t>(rank), 1) - 1];
}

TEST(HistogramTest, PercentilesAreWithinOnePercentOfAnExactSort) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Histogram histogram;
    std::vector<uint64_t> values;
    for (int i = 0; i < 50'000; ++i) {
      // Spread over many octaves, as latencies are.
      const uint64_t value = random.Next() >> (20 + random.Uniform(43));
      values.push_back(value);
      histogram.Record(value);
    }
    std::sort(values.begin(), values.end());
    for (const double percent : {0.001, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
      const auto exact = static_cast<double>(ExactPercentile(values, percent));
      const auto told = static_cast<double>(histogram.Percentile(percent));
      EXPECT_NEAR(told, exact, exact * 0.01) << "at " << percent << " %";
    }
    EXPECT_EQ(histogram.Percentile(0), values.front());
    EXPECT_EQ(histogram.Percentile(100), values.back());
  }
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 0; value < 128; ++value) histogram.Record(value);
  for (uint64_t rank = 1; rank <= 128; ++rank) {
    EXPECT_EQ(histogram.Percentile(100.0 * static_cast<double>(rank) / 128), rank - 1);
  }
}

TEST(HistogramTest, BucketsCoverAllNumbersWithoutGapOrOverlap) {
  const Histogram histogram;
  uint64_t expected_lower = 0;
  for (size_t i = 0; i < Histogram::kBuckets; ++i) {
    const Histogram::Bucket bucket = histogram.BucketAt(i);
    ASSERT_EQ(bucket.lower, expected_lower) << i;
    ASSERT_GE(bucket.upper, bucket.lower) << i;
    ASSERT_EQ(Histogram::BucketIndex(bucket.lower), i);
    ASSERT_EQ(Histogram::BucketIndex(bucket.upper), i);
    expected_lower = bucket.upper + 1;
  }
  EXPECT_EQ(expected_lower, 0u) << "the last bucket must end with the largest number";
}

TEST(HistogramTest, MergeEqualsRecordingInOne) {
  Random random(7);
  Histogram all;
  Histogram parts[3];
  for (int i = 0; i < 3000; ++i) {
    const uint64_t value = random.Uniform(1'000'000);
    all.Record(value);
    parts[i % 3].Record(value);
  }
  Histogram merged;
  for (const Histogram& part : parts) merged.Merge(part);
  EXPECT_EQ(merged.count(), all.count());
  EXPECT_EQ(merged.min(), all.min());
  EXPECT_EQ(merged.max(), all.max());
  EXPECT_DOUBLE_EQ(merged.Mean(), all.Mean());
  for (const double percent : {1.0, 50.0, 99.0}) {
    EXPECT_EQ(merged.Percentile(percent), all.Percentile(percent));
  }
}

TEST(HistogramTest, AnEmptyHistogramTellsZeros) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.Percentile(50), 0u);
  EXPECT_EQ(histogram.Mean(), 0.0);
  EXPECT_TRUE(histogram.ToTable().empty());
}

TEST(HistogramTest, TheTableCountsEveryValueOnce) {
  Histogram histogram;
  histogram.Record(0);
  histogram.Record(5);
  histogram.Record(1'000);
  histogram.Record(~uint64_t{0});
  const std::string table = histogram.ToTable();
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  EXPECT_NE(table.find("100.0000 %"), std::string::npos);
}

}  // namespace
}  // namespace braid
