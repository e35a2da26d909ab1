// Memtables of DRAM and of persistent memory in turn: which one comes next, who waits, and that the
// newest version wins whatever the order in which they are flushed, or found after a crash.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include "braid/db.h"
#include "support/child_process.h"
#include "support/store_parts.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

test::StoreParts::Change Alternating() {
  return [](Options* options) {
    options->memtable.kind = MemTableKind::kAlternating;
    options->log.kind = LogKind::kWriteAhead;
    options->memtable.max_immutable = 1;
  };
}

bool IsPersistent(const test::StoreParts& parts) { return parts.state().active->is_persistent(); }

TEST(AlternatingTest, WritesGoToPersistentMemoryWhileDramWaitsForItsFlush) {
  test::StoreParts parts(Alternating());
  EXPECT_FALSE(IsPersistent(parts));
  parts.Put("a", "dram");
  parts.Put("b", "dram");
  parts.SwitchMemTable();
  EXPECT_TRUE(IsPersistent(parts));
  parts.Put("a", "persistent");
  parts.SwitchMemTable();
  EXPECT_TRUE(IsPersistent(parts)) << "the one of DRAM still waits";
  parts.Put("c", "second");
  ASSERT_EQ(parts.FlushOldest().state, flush::Flusher::Outcome::State::kFlushed);
  parts.SwitchMemTable();
  EXPECT_FALSE(IsPersistent(parts)) << "it is flushed";
  parts.Put("b", "new");
  EXPECT_EQ(parts.Get("a"), "persistent");
  EXPECT_EQ(parts.Get("b"), "new");
  EXPECT_EQ(parts.Get("c"), "second");
  while (parts.FlushOldest().state == flush::Flusher::Outcome::State::kFlushed) {
  }
  EXPECT_EQ(parts.state().version->l0().size(), 3u);
  EXPECT_EQ(parts.Get("a"), "persistent");
  EXPECT_EQ(parts.Get("b"), "new");
  EXPECT_EQ(parts.Get("c"), "second");
  parts.Verify();
}

TEST(AlternatingTest, OnlyAPersistentMemTableKeepsWritersWaiting) {
  test::StoreParts parts(Alternating());
  parts.Put("a", "value");
  parts.SwitchMemTable();
  EXPECT_TRUE(IsPersistent(parts));
  EXPECT_TRUE(parts.WaitsForFlush(parts.state())) << "as many wait as may";
  ASSERT_EQ(parts.FlushOldest().state, flush::Flusher::Outcome::State::kFlushed);
  EXPECT_FALSE(parts.WaitsForFlush(parts.state()));
  parts.Put("b", "value");
  parts.SwitchMemTable();
  EXPECT_FALSE(IsPersistent(parts));
  EXPECT_EQ(parts.state().immutables.size(), 1u);
  EXPECT_FALSE(parts.WaitsForFlush(parts.state())) << "one of DRAM gives way whatever waits";
}

TEST(AlternatingTest, APersistentMemTableKeepsItsEntriesWhereTheyAre) {
  test::StoreParts parts([](Options* options) {
    options->memtable.kind = MemTableKind::kPersistent;
    options->cache.lookup_bytes = 1 << 20;
  });
  for (int i = 0; i < 100; ++i) parts.Put("key" + std::to_string(i % 50), std::to_string(i));
  const uint64_t free = parts.pool->free_chunks();
  parts.SwitchMemTable();
  const flush::Flusher::Outcome flushed = parts.FlushOldest();
  ASSERT_EQ(flushed.state, flush::Flusher::Outcome::State::kFlushed);
  EXPECT_EQ(flushed.table_entries, 100u) << "older versions go with the merge";
  EXPECT_EQ(parts.pool->free_chunks(), free);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(parts.Get("key" + std::to_string(i)), std::to_string(50 + i));
  }
  EXPECT_EQ(parts.lookup_cache->entries(), 50u);
  parts.Verify();
}

/// What a crash leaves of both kinds is one sequence of writes.
TEST(AlternatingTest, TheGreatestCommittedVersionWinsAfterACrash) {
  test::TempFolder folder;
  Options options;
  options.design = "novelsm";
  options.background_threads = false;  // in a child of a process that may have some
  options.pool.chunk_bytes = 16 << 10;
  options.pool.initial_bytes = 16 << 20;
  options.memtable.bytes = 4 << 10;
  std::map<std::string, std::string> model;
  for (int round = 0; round < 4; ++round) {
    const auto key_of = [](int i) { return "key" + std::to_string(i * 7919 % 97); };
    const auto value_of = [round](int i) {
      return std::to_string(round) + "-" + std::to_string(i);
    };
    const int writes = 2500 + 137 * round;  // so that the last one meets another memtable
    const test::ChildOutcome outcome = test::RunInChild(60, [&](int) -> int {
      Result<std::unique_ptr<DB>> db = DB::Open(options, folder.Sub("pool"));
      if (!db.ok()) ::_exit(1);
      for (const auto& [key, value] : model) {
        std::string found;
        if (!(*db)->Get(key, &found).ok() || found != value) ::_exit(2);
      }
      for (int i = 0; i < writes; ++i) {
        if (!(*db)->Put(key_of(i), value_of(i)).ok()) ::_exit(3);
      }
      ::_exit(0);  // as a crash leaves it
    });
    ASSERT_EQ(outcome.exit_code, 0) << "round " << round << ": " << outcome.ToString();
    for (int i = 0; i < writes; ++i) model[key_of(i)] = value_of(i);
  }
}

}  // namespace
}  // namespace braid
