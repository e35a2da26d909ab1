#include "base/stalls.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace braid::base {
namespace {

TEST(StallsTest, CountsSumsAndKeepsTheLongest) {
  Stalls stalls;
  EXPECT_EQ(stalls.longest_nanos(), 0u);
  for (const uint64_t nanos : {5u, 90u, 7u}) stalls.Add(StallReason::kL0, nanos);
  EXPECT_EQ(stalls.count(), 3u);
  EXPECT_EQ(stalls.nanos(), 102u);
  EXPECT_EQ(stalls.longest_nanos(), 90u);
}

TEST(StallsTest, TheLongestOfManyThreadsIsKept) {
  Stalls stalls;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&stalls, t] {
      for (uint64_t i = 1; i <= 5000; ++i) stalls.Add(StallReason::kL0, 4 * i + t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stalls.longest_nanos(), 4u * 5000 + 3);
  EXPECT_EQ(stalls.count(), 20'000u);
}

TEST(StallsTest, AListenerIsToldOfThoseOfAMillisecondAndMore) {
  struct Listener final : EventListener {
    void OnStall(const Stall& stall) noexcept override { told.push_back(stall.nanos); }
    std::vector<uint64_t> told;
  } listener;
  Stalls stalls(&listener);
  for (const uint64_t nanos : {5u, 999'999u, 1'000'000u, 3'000'000u})
    stalls.Add(StallReason::kL0, nanos);
  EXPECT_EQ(listener.told, (std::vector<uint64_t>{1'000'000, 3'000'000}));
  EXPECT_EQ(stalls.count(), 4u);
}

TEST(StallsTest, ATimerAddsTheTimeItLived) {
  Stalls stalls;
  {
    const Stalls::Timer timer(&stalls, StallReason::kFullPool);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(stalls.count(), 0u);
  }
  EXPECT_EQ(stalls.count(), 1u);
  EXPECT_GE(stalls.longest_nanos(), 2'000'000u);
}

/// Holds a processor for a noticeable time, by the clock that stalls are counted by.
void TakeAWhile() {
  const auto end = Stalls::Clock::now() + std::chrono::nanoseconds(2 * Stalls::kNoticeable);
  while (Stalls::Clock::now() < end) {
  }
}

TEST(StallsTest, EachReasonHasASumOfItsOwn) {
  Stalls stalls;
  stalls.Add(StallReason::kL0, 5000);
  stalls.Add(StallReason::kPages, 7000);
  stalls.Add(StallReason::kPages, 1000);
  Statistics statistics;
  stalls.Fill(&statistics);
  EXPECT_EQ(statistics.stall_micros, 13u);
  for (size_t i = 0; i < kStallReasons; ++i) {
    const auto reason = static_cast<StallReason>(i);
    EXPECT_STRNE(StallReasonName(reason), "");
    EXPECT_EQ(statistics.stall_micros_by[i], reason == StallReason::kL0      ? 5u
                                             : reason == StallReason::kPages ? 8u
                                                                             : 0u);
  }
}

TEST(StallsTest, AWatchCountsOnlyWhatIsNoticeable) {
  Stalls stalls;
  // As often as it takes for one that the scheduler leaves alone.
  uint64_t counted = 0;
  uint64_t tries = 0;
  do {
    counted = stalls.count();
    const Stalls::Watch watch(&stalls, StallReason::kRoom);
  } while (stalls.count() != counted && ++tries < 1000);
  EXPECT_LT(tries, 1000u);
  counted = stalls.count();
  {
    const Stalls::Watch watch(&stalls, StallReason::kRoom);
    TakeAWhile();
  }
  EXPECT_EQ(stalls.count(), counted + 1);
  EXPECT_GE(stalls.nanos(StallReason::kRoom), Stalls::kNoticeable);
}

TEST(StallsTest, NoTimeOfAThreadIsCountedTwice) {
  Stalls stalls;
  const auto begin = Stalls::Clock::now();
  {
    const Stalls::WriteWatch write(&stalls);
    const Stalls::Timer outer(&stalls, StallReason::kFullPool);
    const Stalls::Timer inner(&stalls, StallReason::kL0);
    const Stalls::Watch watch(&stalls, StallReason::kLock);
    EXPECT_EQ(stalls.waiting().writers, 1u);
    TakeAWhile();
  }
  const auto all = static_cast<uint64_t>((Stalls::Clock::now() - begin).count());
  EXPECT_EQ(stalls.nanos(StallReason::kL0), 0u);
  EXPECT_EQ(stalls.nanos(StallReason::kLock), 0u);
  EXPECT_GE(stalls.nanos(StallReason::kFullPool), 2 * Stalls::kNoticeable);
  EXPECT_LE(stalls.nanos(), all);
}

TEST(StallsTest, WhatAWriteTakesBeyondItsTimersIsTheSystems) {
  Stalls stalls;
  {
    const Stalls::WriteWatch write(&stalls);
    TakeAWhile();
  }
  EXPECT_GE(stalls.nanos(StallReason::kSystem), Stalls::kNoticeable);
  const uint64_t counted = stalls.nanos(StallReason::kSystem);
  do {
    const Stalls::WriteWatch write(&stalls);
    const Stalls::Asked asked;  // a sync that the caller wants
    TakeAWhile();
    // The scheduler may take the processor between the two.
  } while (stalls.nanos(StallReason::kSystem) != counted && stalls.count() < 1000);
  EXPECT_LT(stalls.count(), 1000u);
}

TEST(StallsTest, WhoWaitsIsShownWithTheReasonOfTheFirst) {
  Stalls stalls;
  EXPECT_EQ(stalls.waiting().writers, 0u);
  {
    const Stalls::Timer first(&stalls, StallReason::kMemtables);
    std::thread([&] {
      const Stalls::Timer second(&stalls, StallReason::kLock);
      TakeAWhile();
      const Stalls::Waiting now = stalls.waiting();
      EXPECT_EQ(now.writers, 2u);
      EXPECT_EQ(now.reason, StallReason::kMemtables);
      EXPECT_GE(now.longest_nanos, Stalls::kNoticeable);
    }).join();
    Statistics statistics;
    stalls.Fill(&statistics);
    EXPECT_EQ(statistics.stalled_writers, 1u);
    EXPECT_EQ(statistics.stalled_writer_reason, 1 + static_cast<uint64_t>(StallReason::kMemtables));
  }
  EXPECT_EQ(stalls.waiting().writers, 0u);
}

}  // namespace
}  // namespace braid::base
