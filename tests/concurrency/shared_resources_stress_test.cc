// Pools that are opened, written to and closed beside each other on one budget of memory and three
// threads: nothing is lost, nobody waits for ever, and all of the budget comes back.
#include "braid/shared_resources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct Sharing {
  const uint64_t budget = 6 * kMiB;
  const uint64_t rounds = std::max<uint64_t>(Sized(16, 500), 4);
  TempFolder folder;
  std::shared_ptr<SharedResources> resources;
};

/// Opens, checks and writes one pool round by round; some rounds end without a close.
void OpenAndWrite(Sharing* sharing, size_t number) {
  Options options = TinyOptions();
  options.resources = sharing->resources;
  if (number == 0) options.design = "nvskiplist";
  if (number == 1) options.memtable.max_immutable = 1;  // its writers wait often
  const std::string path = sharing->folder.Sub("pool" + std::to_string(number));
  constexpr uint64_t kKeys = 400;
  for (uint64_t round = 0; round < sharing->rounds; ++round) {
    const std::unique_ptr<DB> db = OpenOrFail(options, path);
    if (db == nullptr) return;
    if (round != 0) {
      EXPECT_EQ(GetText(db.get(), NumberedKey(round % kKeys)), std::to_string(round - 1));
    }
    for (uint64_t i = 0; i < kKeys; ++i) {
      BRAID_EXPECT_OK(db->Put(NumberedKey(i), std::to_string(round)));
    }
    if (round % 4 == 1) {
      BRAID_EXPECT_OK(db->Compact());
    }
    const Statistics statistics = db->GetStatistics();
    EXPECT_GE(statistics.memory_budget_bytes, kMiB) << "each is sure of so much";
    EXPECT_LE(statistics.memory_budget_bytes, sharing->budget);
    if (round % 2 == 0) {
      BRAID_EXPECT_OK(db->Close());
    }
  }
}

TEST(SharedResourcesStressTest, PoolsComeAndGoOnThreeThreads) {
  constexpr size_t kPools = 5;
  Sharing sharing;
  auto made =
      SharedResources::Create({.memory_budget_bytes = sharing.budget, .background_threads = 3});
  BRAID_ASSERT_OK(made.status());
  sharing.resources = std::move(made).value();
  // One that stays, and is told each time that its share is another one.
  Options options = TinyOptions();
  options.resources = sharing.resources;
  const std::unique_ptr<DB> stays = OpenOrFail(options, sharing.folder.Sub("stays"));
  ASSERT_NE(stays, nullptr);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (uint64_t i = 0; !done.load(); ++i) {
      BRAID_EXPECT_OK(stays->Put(NumberedKey(i % 20'000), std::string(20, 's')));
      if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (i % 1'000 != 0) continue;
      EXPECT_LE(sharing.resources->Usage().databases, kPools + 1);
    }
  });
  std::vector<std::thread> openers;
  for (size_t number = 0; number < kPools; ++number) {
    openers.emplace_back([&sharing, number] { OpenAndWrite(&sharing, number); });
  }
  for (std::thread& opener : openers) opener.join();
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  BRAID_EXPECT_OK(stays->Compact());
  const SharedUsage usage = sharing.resources->Usage();
  EXPECT_EQ(usage.databases, 1u);
  EXPECT_LE(usage.threads, 3u + 1) << "one waits for readers of other processes";
  EXPECT_EQ(stays->GetStatistics().memory_budget_bytes, sharing.budget) << "all came back";
}

/// One pool has no room and its writers wait or fail; the others go on beside it.
TEST(SharedResourcesStressTest, AFullPoolKeepsNobodyElseWaiting) {
  TempFolder folder;
  auto made = SharedResources::Create({.memory_budget_bytes = 8 * kMiB, .background_threads = 3});
  BRAID_ASSERT_OK(made.status());
  Options options = TinyOptions();
  options.resources = *made;
  Options small = options;
  small.pool.max_bytes = 1 * kMiB;
  const std::unique_ptr<DB> full = OpenOrFail(small, folder.Sub("full"));
  const std::unique_ptr<DB> other = OpenOrFail(options, folder.Sub("other"));
  ASSERT_NE(full, nullptr);
  ASSERT_NE(other, nullptr);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> refused{0};
  std::vector<std::thread> writers;
  for (uint64_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (uint64_t i = writer; !done.load(); i += 2) {
        if (!full->Put(NumberedKey(i), std::string(500, 'f')).ok()) refused.fetch_add(1);
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (refused.load() == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(refused.load(), 0u) << "it is to be full";
  const uint64_t records = kSanitizer ? 2'000 : 20'000;
  for (uint64_t i = 0; i < records; ++i) {
    BRAID_EXPECT_OK(other->Put(NumberedKey(i), std::string(50, 'o')));
  }
  BRAID_EXPECT_OK(other->Compact());
  BRAID_EXPECT_OK(other->Close());
  done.store(true);
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace braid::test
