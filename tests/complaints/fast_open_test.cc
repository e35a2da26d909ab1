// "Opening a large database takes minutes, or hours" (leveldb#226, rocksdb#3166): what an open does
// depends on what was written last, not on how much there is. Work is counted, in log entries that
// are replayed and in pages of the pool that the open touches; no clock decides.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kSmall = 20'000;
constexpr uint64_t kTimes = 16;

Options StoreOptions() {
  Options options;
  options.pool.initial_bytes = 8ull << 20;
  options.memtable.bytes = 1ull << 20;
  options.log.shards = 2;
  options.background_threads = false;  // a thread would grow the pool by the rate of the writes
  return options;
}

void Fill(DB* db, uint64_t entries) {
  for (uint64_t i = 0; i < entries; ++i) {
    BRAID_ASSERT_OK(db->Put(NumberedKey(i * 7919 % entries), std::string(100, 'v')));
  }
}

struct Work {
  uint64_t replayed = 0;
  uint64_t pages = 0;   ///< page faults of the thread that opens
  uint64_t chunks = 0;  ///< of the pool
};

/// Opens without threads of the store's own, so that all work is this thread's.
Work OpenAndCount(const std::string& path) {
  Options options = StoreOptions();
  options.cache.index = false;  // it is filled from L1, in the background else
  rusage before{};
  rusage after{};
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &before), 0);
  auto db = OpenOrFail(options, path);
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &after), 0);
  if (db == nullptr) return {};
  std::string value;
  EXPECT_TRUE(IsOk(db->Get(NumberedKey(1), &value)));
  const auto faults = [](const rusage& usage) {
    return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
  };
  const Statistics now = db->GetStatistics();
  return {now.recovered_entries, faults(after) - faults(before),
          now.pool_bytes / StoreOptions().pool.chunk_bytes};
}

TEST(FastOpenTest, AnOpenAfterACloseTouchesHardlyMoreOfALargeStore) {
  Work work[2];
  for (const bool large : {false, true}) {
    TempFolder folder;
    const std::string path = folder.Sub("pool");
    {
      auto db = OpenOrFail(StoreOptions(), path);
      ASSERT_NE(db, nullptr);
      Fill(db.get(), large ? kSmall * kTimes : kSmall);
      BRAID_ASSERT_OK(db->Compact());
      BRAID_ASSERT_OK(db->Close());
    }
    OpenAndCount(path);  // code and caches of the process, once
    work[large ? 1 : 0] = OpenAndCount(path);
  }
  std::printf("pages touched: %zu of %zu chunks, %zu of %zu chunks\n",
              static_cast<size_t>(work[0].pages), static_cast<size_t>(work[0].chunks),
              static_cast<size_t>(work[1].pages), static_cast<size_t>(work[1].chunks));
  EXPECT_EQ(work[0].replayed, 0u);
  EXPECT_EQ(work[1].replayed, 0u);
  ASSERT_GE(work[1].chunks, 4 * work[0].chunks);
  // What grows is a look at each chunk (docs/guide/limitations.md), a page of the 256 of a MiB, and
  // what segments take.
  EXPECT_LE(work[1].pages, work[0].pages + 2 * (work[1].chunks - work[0].chunks) + 64);
}

TEST(FastOpenTest, AnOpenAfterAKillReplaysNoMoreOfALargeStore) {
  Work work[2];
  for (const bool large : {false, true}) {
    TempFolder folder;
    const std::string path = folder.Sub("pool");
    const ChildOutcome child = RunInChild(120, [&](int) {
      auto db = DB::Open(StoreOptions(), path);
      if (!db.ok()) return 1;
      const uint64_t entries = large ? kSmall * kTimes : kSmall;
      for (uint64_t i = 0; i < entries; ++i) {
        if (!(*db)->Put(NumberedKey(i), std::string(100, 'v')).ok()) return 2;
      }
      ::kill(::getpid(), SIGKILL);
      return 3;
    });
    ASSERT_EQ(child.signal, SIGKILL);
    work[large ? 1 : 0] = OpenAndCount(path);
  }
  std::printf("replayed: %zu small, %zu large\n", static_cast<size_t>(work[0].replayed),
              static_cast<size_t>(work[1].replayed));
  // The memtables that were in DRAM, and never more: the active one and those that wait for a
  // flush.
  const Options options = StoreOptions();
  const uint64_t most = (options.memtable.max_immutable + 2) * (options.memtable.bytes / 128);
  EXPECT_LE(work[0].replayed, most);
  EXPECT_LE(work[1].replayed, most);
}

}  // namespace
}  // namespace braid::test
