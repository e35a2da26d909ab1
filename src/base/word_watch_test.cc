// Words that change, and systems that can't wait for them.
#include "base/word_watch.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/futex.h"
#include "support/forbidden_call.h"

namespace braid::base {
namespace {

/// Whether `holds()` comes to be true.
template <class Condition>
bool Eventually(Condition&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// A watch that counts what it tells of each of four words.
struct Watched {
  std::array<std::atomic<uint32_t>, 4> words{};
  std::array<std::atomic<uint32_t>, 4> told{};
  WordWatch watch{[](void* name) { static_cast<std::atomic<uint32_t>*>(name)->fetch_add(1); }};

  bool Add(size_t i) { return watch.Add(&told[i], &words[i], words[i].load()); }
  void Change(size_t i) {
    words[i].fetch_add(1);
    WakeWaiters(&words[i], true);
  }
};

TEST(WordWatchTest, TellsOnceOfEachWordThatHasChanged) {
  if (!test::KnowsCall(kFutexWaitv)) GTEST_SKIP() << "Linux before 5.16, or a sandbox";
  Watched watched;
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(watched.Add(i));
  watched.words[3].store(1);
  ASSERT_TRUE(watched.watch.Add(&watched.told[3], &watched.words[3], 0)) << "changed before";
  EXPECT_TRUE(Eventually([&] { return watched.told[3] == 1; }));
  watched.Change(1);
  EXPECT_TRUE(Eventually([&] { return watched.told[1] == 1; }));
  watched.watch.Remove(&watched.told[2]);
  watched.Change(1);
  watched.Change(2);
  watched.Change(0);
  EXPECT_TRUE(Eventually([&] { return watched.told[0] == 1; }));
  EXPECT_EQ(watched.told[1], 1u) << "reported before, and not added again";
  EXPECT_EQ(watched.told[2], 0u) << "it was removed";
  EXPECT_EQ(watched.watch.threads(), 1u);
}

// A thread that asked again and again would take a processor for nothing.
TEST(WordWatchTest, WhereTheSystemCantWaitNothingRuns) {
  const bool ran = test::WithoutCall(kFutexWaitv, [] {
    Watched watched;
    EXPECT_TRUE(watched.Add(0)) << "its thread has to find out first";
    EXPECT_TRUE(Eventually([&] { return watched.told[0] == 1; })) << "to be looked at";
    EXPECT_TRUE(Eventually([&] { return watched.watch.threads() == 0; }));
    EXPECT_FALSE(watched.Add(1));
    EXPECT_EQ(watched.watch.threads(), 0u);
    EXPECT_EQ(watched.told[1], 0u);
  });
  if (!ran) GTEST_SKIP() << "no seccomp here";
}

}  // namespace
}  // namespace braid::base
