#include "base/recent_sum.h"

#include <gtest/gtest.h>

namespace braid::base {
namespace {

constexpr uint64_t kMilli = 1'000'000;

TEST(RecentSumTest, WhatGrowsEvenlyCountsAsMuchAsAWindowBrings) {
  uint64_t total = 1'000'000;
  RecentSum recent(200 * kMilli, 0, total);
  uint64_t sum = recent.Update(0, total);
  EXPECT_EQ(sum, 0u) << "what was there before";
  for (uint64_t now = 10; now <= 2000; now += 10) sum = recent.Update(now * kMilli, total += 3);
  EXPECT_EQ(sum, 60u);
}

TEST(RecentSumTest, ALateUpdateFindsTheSame) {
  RecentSum recent(200 * kMilli, 0, 0);
  uint64_t sum = 0;
  for (uint64_t now = 10; now <= 2000; now += 10) {
    if (now % 70 < 40) continue;  // no processor for 50 ms
    sum = recent.Update(now * kMilli, now * 3 / 10);
    EXPECT_LE(sum, 75u);
  }
  EXPECT_GE(sum, 50u);
}

TEST(RecentSumTest, ABurstCountsOnceAndIsForgotten) {
  RecentSum recent(200 * kMilli, 0, 0);
  EXPECT_EQ(recent.Update(10 * kMilli, 11), 11u);
  uint64_t sum = 11;
  for (uint64_t now = 20; now <= 1000; now += 10) {
    const uint64_t next = recent.Update(now * kMilli, 11);
    EXPECT_LE(next, sum);
    sum = next;
  }
  EXPECT_EQ(sum, 0u);
}

TEST(RecentSumTest, NothingIsLeftOfWhatCameBeforeALongRest) {
  RecentSum recent(200 * kMilli, 0, 0);
  EXPECT_EQ(recent.Update(10 * kMilli, 500), 500u);
  EXPECT_EQ(recent.Update(1000 * kMilli, 507), 7u);
}

}  // namespace
}  // namespace braid::base
