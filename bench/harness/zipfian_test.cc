#include "bench/harness/zipfian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace braid::bench {
namespace {

TEST(ZetaTest, EqualsTheSumTermByTerm) {
  for (const double theta : {0.5, 0.9, 0.99}) {
    double sum = 0;
    for (uint64_t n = 1; n <= 300'000; ++n) {
      sum += std::pow(static_cast<double>(n), -theta);
      if (n <= 3 || n == 1000 || n == 1001 || n == 5000 || n == 300'000) {
        EXPECT_NEAR(Zeta(n, theta), sum, sum * 1e-9) << n << " at " << theta;
      }
    }
  }
}

TEST(ZetaTest, EqualsTheConstantYcsbUsesForTenBillionItems) {
  EXPECT_NEAR(Zeta(10'000'000'000, 0.99), 26.46902820178302, 1e-6);
}

TEST(ZipfianTest, RanksFollowThePowerLaw) {
  constexpr uint64_t kItems = 1000;
  constexpr int kDraws = 2'000'000;
  ZipfianGenerator zipfian(kItems);
  Random random(11);
  std::vector<int> counts(kItems);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t rank = zipfian.Next(random);
    ASSERT_LT(rank, kItems);
    ++counts[rank];
  }
  const double zeta = Zeta(kItems, 0.99);
  // The method is exact for the first two ranks and a few percent off around the third.
  for (const uint64_t rank : {0u, 1u}) {
    const double expected = kDraws * std::pow(static_cast<double>(rank + 1), -0.99) / zeta;
    EXPECT_NEAR(counts[rank], expected, expected * 0.02) << rank;
  }
  // Shares of whole ranges of ranks, where the noise is small.
  for (const uint64_t edge : {10u, 100u, 500u}) {
    double drawn = 0;
    for (uint64_t rank = 0; rank < edge; ++rank) drawn += counts[rank];
    EXPECT_NEAR(drawn / kDraws, Zeta(edge, 0.99) / zeta, 0.02) << edge;
  }
}

TEST(ZipfianTest, SmallAndGrowingRangesStayInRange) {
  Random random(2);
  ZipfianGenerator zipfian(1);
  for (uint64_t n = 1; n <= 200; ++n) {
    zipfian.Resize(n);
    bool beyond_first = false;
    for (int i = 0; i < 200; ++i) {
      const uint64_t rank = zipfian.Next(random);
      ASSERT_LT(rank, n);
      beyond_first |= rank > 0;
    }
    EXPECT_EQ(beyond_first, n > 1);
  }
}

TEST(ScrambledZipfianTest, PopularKeysAreScatteredAndKeepTheirShare) {
  constexpr uint64_t kKeys = 100'000;
  constexpr int kDraws = 1'000'000;
  ScrambledZipfianGenerator zipfian(kKeys);
  Random random(4);
  std::vector<int> counts(kKeys);
  for (int i = 0; i < kDraws; ++i) ++counts[zipfian.Next(random)];
  const double zeta = Zeta(10'000'000'000, 0.99);
  const auto hottest = std::max_element(counts.begin(), counts.end());
  EXPECT_NEAR(*hottest, kDraws / zeta, kDraws / zeta * 0.1);
  EXPECT_NE(hottest - counts.begin(), 0) << "the hottest key must not be the first";
  // Each tenth of the key space gets its share: the hot keys do not sit together.
  for (uint64_t part = 0; part < 10; ++part) {
    int drawn = 0;
    for (uint64_t i = 0; i < kKeys / 10; ++i) drawn += counts[part * kKeys / 10 + i];
    EXPECT_NEAR(drawn, kDraws / 10, kDraws / 14) << part;
  }
}

}  // namespace
}  // namespace braid::bench
