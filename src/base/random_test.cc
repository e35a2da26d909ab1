#include "base/random.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/clock.h"

namespace braid {
namespace {

TEST(RandomTest, EqualSeedsGiveEqualSequencesAndDifferentSeedsDoNot) {
  Random a(42), b(42), c(43);
  int differences = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.Next();
    ASSERT_EQ(value, b.Next());
    differences += value != c.Next();
  }
  EXPECT_EQ(differences, 100);
}

TEST(RandomTest, UniformStaysInRangeAndHitsEveryNumberEqually) {
  Random random(1);
  constexpr uint64_t kRange = 10;
  constexpr int kDraws = 100'000;
  std::vector<int> counts(kRange);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t value = random.Uniform(kRange);
    ASSERT_LT(value, kRange);
    ++counts[value];
  }
  // Six standard deviations of a binomial with p = 0.1 are 569.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 10, 569);
}

TEST(RandomTest, DoublesLieBetweenZeroAndOneAroundOneHalf) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.NextDouble();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.006);
}

TEST(RandomTest, EveryBitOfTheOutputIsSetHalfTheTime) {
  Random random(9);
  std::vector<int> ones(64);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t value = random.Next();
    for (unsigned bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(value >> bit & 1);
  }
  for (const int count : ones) EXPECT_NEAR(count, 10'000, 425);
}

TEST(RandomTest, Mix64MapsDifferentNumbersToDifferentNumbers) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 10'000; ++i) seen.insert(Mix64(i));
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(ClockTest, NeverGoesBackwards) {
  uint64_t last = NowNanos();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t now = NowNanos();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace braid
