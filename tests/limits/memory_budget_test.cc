// One budget covers what grows with data: by the store's own count and by the process's.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "braid/db.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;
/// Stacks, working buffers of jobs, what malloc keeps: whatever the budget.
constexpr uint64_t kConstant = 6 * kMiB;

/// Bytes of this process that no file backs.
uint64_t OwnBytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long long kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "RssAnon: %llu", &kilobytes) == 1) break;
  }
  std::fclose(file);
  return kilobytes << 10;
}

struct Load {
  uint64_t budget;
  uint64_t records;
  size_t value_bytes;
};

/// Loads and settles while another thread looks. Says what went wrong; empty when nothing did.
std::string LoadAndWatch(const Load& load, const std::string& path) {
  // Where the system gives huge pages unasked, all of one counts as soon as a byte is touched.
  (void)::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  Options options;
  options.memory_budget_bytes = load.budget;
  const uint64_t before = OwnBytes();
  Result<std::unique_ptr<DB>> opened = DB::Open(options, path);
  if (!opened.ok()) return opened.status().ToString();
  DB& db = **opened;
  std::atomic<bool> done{false};
  uint64_t most_counted = 0;
  uint64_t most_taken = 0;
  std::thread watcher([&] {
    while (!done.load()) {
      most_counted = std::max(most_counted, db.GetStatistics().memory_bytes);
      const uint64_t now = OwnBytes();
      most_taken = std::max(most_taken, now - std::min(now, before));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  std::atomic<bool> failed{false};
  std::vector<std::thread> writers;
  constexpr uint64_t kWriters = 2;
  for (uint64_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      const std::string value(load.value_bytes, 'v');
      for (uint64_t i = writer; i < load.records; i += kWriters) {
        const uint64_t key = i * 0x9E3779B97F4A7C15ull;
        const Slice bytes(reinterpret_cast<const char*>(&key), sizeof key);
        if (!db.Put({}, bytes, value).ok()) failed.store(true);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  if (!db.Compact().ok()) failed.store(true);
  done.store(true);
  watcher.join();
  if (failed.load()) return "a write has failed";
  const Statistics end = db.GetStatistics();
  if (end.l1_entries != load.records) return "records are missing";
  if (end.index_entries == 0) return "the index over L1 was given up altogether";
  const uint64_t limit = load.budget + load.budget / 20;
  if (most_counted > limit) return "counted: " + std::to_string(most_counted);
  // Sanitizers take memory of their own.
  if (!kSanitizer && most_taken > limit + kConstant) return "taken: " + std::to_string(most_taken);
  return "";
}

class MemoryBudgetTest : public ::testing::TestWithParam<Load> {};

INSTANTIATE_TEST_SUITE_P(Budgets, MemoryBudgetTest,
                         ::testing::Values(Load{16 * kMiB, 1'000'000, 8},
                                           Load{16 * kMiB, 500'000, 200},
                                           Load{64 * kMiB, 3'000'000, 8},
                                           Load{256 * kMiB, 14'000'000, 8}),
                         [](const auto& load) {
                           return std::to_string(load.param.budget / kMiB) + "MiBWithValuesOf" +
                                  std::to_string(load.param.value_bytes);
                         });

TEST_P(MemoryBudgetTest, IsHeldWhateverIsLoaded) {
  Load load = GetParam();
  if (load.budget > 64 * kMiB && !NightSize()) GTEST_SKIP() << "takes a minute: night size";
  if (kSanitizer) load.records /= 10;
  TempFolder folder;
  // In a process of its own: others have left memory behind.
  const ChildOutcome outcome = RunInChild(600, [&](int say) {
    const std::string wrong = LoadAndWatch(load, folder.Sub("pool"));
    SayTo(say, wrong);
    return wrong.empty() ? 0 : 1;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(MemoryBudgetOfIteratorsTest, WhatOnlyAnIteratorHoldsIsCounted) {
  TempFolder folder;
  Options options;
  options.background_threads = false;
  const std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  // Else the tree would be that of L1 afterwards.
  BRAID_ASSERT_OK(db->Put("first", "value"));
  BRAID_ASSERT_OK(db->Compact());
  for (int i = 0; i < 20'000; ++i) BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), "value"));
  std::unique_ptr<Iterator> iterator = db->NewIterator({});
  BRAID_ASSERT_OK(db->Compact());
  const uint64_t held = db->GetStatistics().memory_bytes;
  iterator.reset();
  BRAID_ASSERT_OK(db->Compact());
  const uint64_t released = db->GetStatistics().memory_bytes;
  EXPECT_GT(held, released + 20'000 * 16) << "the tree of the memtable that was";
}

}  // namespace
}  // namespace braid::test
