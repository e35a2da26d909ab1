#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace braid::base {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value BRAID_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, OneThreadAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 10'000;
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&counter] {
      for (int round = 0; round < kRounds; ++round) {
        const MutexLock lock(counter.mutex);
        ++counter.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.value, kThreads * kRounds);
}

TEST(MutexTest, WhoTriesIsToldThatItIsHeld) {
  Mutex mutex;
  MutexHold hold(mutex);
  std::thread([&mutex] { EXPECT_FALSE(MutexHold(mutex, std::try_to_lock).owns_lock()); }).join();
  hold.unlock();
  std::thread([&mutex] { EXPECT_TRUE(MutexHold(mutex, std::try_to_lock).owns_lock()); }).join();
}

TEST(CondVarTest, WhoWaitsGivesTheMutexBack) {
  Counter counter;
  std::thread other([&counter] {
    const MutexLock lock(counter.mutex);
    counter.value = 1;
    counter.changed.NotifyAll();
    while (counter.value != 2) counter.changed.Wait(counter.mutex);
    counter.value = 3;
    counter.changed.NotifyOne();
  });
  {
    const MutexLock lock(counter.mutex);
    while (counter.value != 1) counter.changed.Wait(counter.mutex);
    counter.value = 2;
    counter.changed.NotifyAll();
    while (counter.value != 3) counter.changed.Wait(counter.mutex);
    counter.mutex.AssertHeld();
  }
  other.join();
}

TEST(CondVarTest, AWaitEndsWithItsTime) {
  using namespace std::chrono_literals;
  Counter counter;
  const MutexLock lock(counter.mutex);
  counter.changed.WaitFor(counter.mutex, 1ms);
  counter.changed.WaitUntil(counter.mutex, std::chrono::steady_clock::now() + 1ms);
  counter.mutex.AssertHeld();
}

#if !defined(NDEBUG)

TEST(MutexDeathTest, AThreadThatHoldsItDoesNotWaitForItself) {
  Mutex mutex;
  const MutexHold hold(mutex);
  const auto lock_again = [&mutex]() BRAID_NO_THREAD_CHECK { mutex.lock(); };
  EXPECT_DEATH(lock_again(), "owner_");
}

TEST(MutexDeathTest, WhoReliesOnItHoldsIt) {
  const Mutex mutex;
  EXPECT_DEATH(mutex.AssertHeld(), "owner_");
}

#endif  // !NDEBUG

}  // namespace
}  // namespace braid::base
