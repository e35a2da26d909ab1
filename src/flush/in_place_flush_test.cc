// Tests that the flush of a persistent memtable writes its head, fills the lookup cache, and leaves
// the rest as it is.
#include "flush/in_place_flush.h"

#include <gtest/gtest.h>

#include <string>

#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::flush {
namespace {

/// `pool` emulates nothing and counts what it flushes: of class cache line.
Options FlushedLines() {
  Options options = test::PoolOfSmallChunks(256);
  options.pool.force_media_class = MediaClass::kCacheLine;
  return options;
}

TEST(InPlaceFlushTest, ItWritesTheHeadAndNothingElse) {
  const test::TestPool pool([](pool::PmemPool*) { return Status::OK(); }, FlushedLines());
  std::atomic<uint64_t> sequence{0};
  base::Stalls stalls;
  memtable::PmemMemTable table({pool.get(), &sequence, &stalls}, 1, 1, true);
  for (int i = 0; i < 400; ++i) {
    const std::string key = "key" + std::to_string(i * 7919 % 300);
    const std::string value = std::to_string(i);  // the entry only refers to it
    log::PendingEntry pending = test::PendingOf(key, value);
    ASSERT_TRUE(table.Write(0, &pending, nullptr).ok());
  }
  table.Freeze();
  pool::ChunkUsage usage{4096};
  cache::LookupCache lookups(pool.get(), 1 << 20);
  const uint64_t fences = pool->ops().fences();
  const uint64_t lines = pool->ops().lines_flushed();
  const Result<FlushResult> kept =
      KeepInPlace(pool.get(), &usage, &lookups, table, pool->HeadOffset(3));
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->entries, 400u);
  EXPECT_EQ(kept->max_sequence, 400u);
  EXPECT_EQ(pool->ops().fences() - fences, 1u);
  EXPECT_LE(pool->ops().lines_flushed() - lines, 3u) << "a head takes two lines, or three";
  EXPECT_EQ(lookups.entries(), 300u) << "the newest entry of each key";
  const index::SkipList list(pool.get(), pool->As<uint64_t>(pool->HeadOffset(3)));
  index::Damage damage;
  uint64_t entries = 0;
  for (const auto* entry = list.First(&damage); entry != nullptr; ++entries) {
    entry = list.Next(entry, &damage);
  }
  EXPECT_EQ(entries, 400u);
  EXPECT_FALSE(damage);
  uint64_t used = 0;
  for (const auto& [chunk, bytes] : table.UsedBytes()) {
    EXPECT_EQ(usage.Live(chunk), static_cast<int64_t>(bytes));
    used += bytes;
  }
  EXPECT_EQ(used, table.bytes());
}

}  // namespace
}  // namespace braid::flush
