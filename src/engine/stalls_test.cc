#include "engine/stalls.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace braid::engine {
namespace {

TEST(StallsTest, CountsSumsAndKeepsTheLongest) {
  Stalls stalls;
  EXPECT_EQ(stalls.longest_nanos(), 0u);
  for (const uint64_t nanos : {5u, 90u, 7u}) stalls.Add(nanos);
  EXPECT_EQ(stalls.count(), 3u);
  EXPECT_EQ(stalls.nanos(), 102u);
  EXPECT_EQ(stalls.longest_nanos(), 90u);
}

TEST(StallsTest, TheLongestOfManyThreadsIsKept) {
  Stalls stalls;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&stalls, t] {
      for (uint64_t i = 1; i <= 5000; ++i) stalls.Add(4 * i + t);
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
  for (const uint64_t nanos : {5u, 999'999u, 1'000'000u, 3'000'000u}) stalls.Add(nanos);
  EXPECT_EQ(listener.told, (std::vector<uint64_t>{1'000'000, 3'000'000}));
  EXPECT_EQ(stalls.count(), 4u);
}

TEST(StallsTest, ATimerAddsTheTimeItLived) {
  Stalls stalls;
  {
    const Stalls::Timer timer(&stalls);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(stalls.count(), 0u);
  }
  EXPECT_EQ(stalls.count(), 1u);
  EXPECT_GE(stalls.longest_nanos(), 2'000'000u);
}

}  // namespace
}  // namespace braid::engine
