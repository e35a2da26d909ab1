#include "base/work_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <thread>

namespace braid::base {
namespace {

constexpr auto kWhile = std::chrono::milliseconds(3);
constexpr uint64_t kWhileNanos = 3'000'000;

TEST(WorkClockTest, WhatRunsIsShownAndItsTimeGrows) {
  WorkClock clock;
  EXPECT_EQ(clock.running(BackgroundWork::kMerge), 0u);
  {
    const WorkClock::Scope merge(&clock, BackgroundWork::kMerge);
    const WorkClock::Scope other(&clock, BackgroundWork::kMerge);
    EXPECT_EQ(clock.running(BackgroundWork::kMerge), 2u);
    EXPECT_EQ(clock.running(BackgroundWork::kFlush), 0u);
    std::this_thread::sleep_for(kWhile);
    EXPECT_GE(clock.nanos(BackgroundWork::kMerge), 2 * kWhileNanos) << "before it has ended";
    EXPECT_EQ(clock.nanos(BackgroundWork::kFlush), 0u);
  }
  EXPECT_EQ(clock.running(BackgroundWork::kMerge), 0u);
  const uint64_t after = clock.nanos(BackgroundWork::kMerge);
  EXPECT_GE(after, 2 * kWhileNanos);
  std::this_thread::sleep_for(kWhile);
  EXPECT_EQ(clock.nanos(BackgroundWork::kMerge), after) << "nothing runs";
  Statistics statistics;
  clock.Fill(&statistics);
  EXPECT_EQ(statistics.work_micros[1], after / 1000);
  EXPECT_EQ(statistics.work_running[1], 0u);
}

TEST(WorkClockTest, MoreThanCanBeShownAreCountedWhenTheyEnd) {
  WorkClock clock;
  {
    std::list<WorkClock::Scope> scopes;
    for (int i = 0; i < 20; ++i) scopes.emplace_back(&clock, BackgroundWork::kCollect);
    std::this_thread::sleep_for(kWhile);
    EXPECT_GE(clock.running(BackgroundWork::kCollect), 8u);
  }
  EXPECT_EQ(clock.running(BackgroundWork::kCollect), 0u);
  EXPECT_GE(clock.nanos(BackgroundWork::kCollect), 20 * kWhileNanos);
}

}  // namespace
}  // namespace braid::base
