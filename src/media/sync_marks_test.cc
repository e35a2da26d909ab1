// Tests of which files a sync leaves alone, and that it leaves none alone that a thread counts on.
#include "media/sync_marks.h"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/forbidden_call.h"

namespace braid::media {
namespace {

constexpr uint64_t kMark = 16ull << 20;
constexpr uint64_t kBytes = 4 * kMark;

class SyncMarksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const long known = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (known < 0 || (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) {
      GTEST_SKIP() << "the kernel can't order the threads of a process: all is synced";
    }
  }

  /// Nothing is read or written there.
  const char* base_ = reinterpret_cast<const char*>(uint64_t{1} << 40);
  SyncMarks marks_{base_, kBytes};

  void Mark(uint64_t begin, uint64_t end) {
    const auto at = reinterpret_cast<uintptr_t>(base_);
    marks_.Mark(at + begin, at + end);
  }
  std::vector<bool> Take(uint64_t bytes = kBytes) {
    marks_.Take(bytes);
    std::vector<bool> taken;
    for (uint64_t at = 0; at < kBytes; at += kMark)
      taken.push_back(marks_.WasTaken(at, at + kMark));
    return taken;
  }
};

TEST_F(SyncMarksTest, AtFirstEverythingIsMarked) {
  EXPECT_EQ(Take(), std::vector<bool>(4, true));
  EXPECT_EQ(Take(), std::vector<bool>(4, false));
}

TEST_F(SyncMarksTest, AFlushMarksWhatItCovers) {
  Take();
  Mark(kMark - 1, kMark + 1);
  Mark(3 * kMark, 3 * kMark + 64);
  EXPECT_EQ(Take(), (std::vector<bool>{true, true, false, true}));
  Mark(4 * kMark - 64, 4 * kMark);
  EXPECT_EQ(Take(), (std::vector<bool>{false, false, false, true}));
  EXPECT_FALSE(marks_.WasTaken(0, 3 * kMark));
  EXPECT_TRUE(marks_.WasTaken(0, 3 * kMark + 1));
}

TEST_F(SyncMarksTest, WhatIsNotAskedForStaysMarked) {
  Take(kMark + 1);
  EXPECT_EQ(Take(), (std::vector<bool>{false, false, true, true}));
}

TEST_F(SyncMarksTest, WhereThreadsCantBeOrderedAllIsTaken) {
  const bool ran = test::WithoutCall(SYS_membarrier, [&] {
    Take();
    EXPECT_EQ(Take(), std::vector<bool>(4, true));
  });
  if (!ran) GTEST_SKIP() << "no seccomp here";
}

TEST_F(SyncMarksTest, AChildOfAForkTakesMarksToo) {
  Take();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Mark(kMark, kMark + 1);
    ::_exit(Take() == std::vector<bool>{false, true, false, false} ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// A thread stores and marks, another takes marks and looks: where the first has found its mark
/// set, the second has seen the store.
TEST_F(SyncMarksTest, AStoreWhoseMarkWasTakenIsSeen) {
  constexpr uint64_t kRounds = 20'000;
  alignas(64) std::atomic<uint64_t> data{0};
  alignas(64) std::atomic<uint64_t> round{0};
  alignas(64) std::atomic<uint64_t> stored{0};
  std::thread writer([&] {
    for (uint64_t n = 1; n <= kRounds; ++n) {
      while (round.load(std::memory_order_acquire) != n) {
      }
      data.store(n, std::memory_order_relaxed);
      Mark(0, 64);
      stored.store(n, std::memory_order_release);
    }
  });
  uint64_t unseen = 0;
  for (uint64_t n = 1; n <= kRounds; ++n) {
    Mark(0, 64);  // so that the writer may find it
    round.store(n, std::memory_order_release);
    for (uint64_t wait = 0; wait < n % 64; ++wait) data.load(std::memory_order_relaxed);
    marks_.Take(kMark);
    const uint64_t seen = data.load(std::memory_order_relaxed);
    while (stored.load(std::memory_order_acquire) != n) {
    }
    marks_.Take(kMark);
    unseen += seen != n && !marks_.WasTaken(0, kMark) ? 1 : 0;
  }
  writer.join();
  EXPECT_EQ(unseen, 0u);
}

}  // namespace
}  // namespace braid::media
