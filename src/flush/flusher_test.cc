#include "flush/flusher.h"

#include <gtest/gtest.h>

#include "support/store_parts.h"

namespace braid::flush {
namespace {

using State = Flusher::Outcome::State;

format::ManifestState Durable(test::StoreParts* parts) {
  level::Manifest manifest(parts->pool.get());
  test::StoreParts::ExpectOk(manifest.Load());
  return manifest.record();
}

TEST(FlusherTest, ASealedMemTableBecomesTheNewestTable) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Put("b", "2");
  parts.Put("a", "3");
  EXPECT_EQ(parts.FlushOldest().state, State::kNothing) << "it takes writes";
  parts.SwitchMemTable();
  const Flusher::Outcome flushed = parts.FlushOldest();
  EXPECT_EQ(flushed.state, State::kFlushed);
  EXPECT_EQ(flushed.entries, 3u);
  EXPECT_EQ(flushed.table_entries, 2u) << "no view needs the older version of a";
  EXPECT_TRUE(parts.state().immutables.empty());
  ASSERT_EQ(parts.state().version->l0().size(), 1u);
  EXPECT_EQ(parts.Get("a"), "3");
  EXPECT_EQ(parts.Get("b"), "2");
  const format::ManifestState durable = Durable(&parts);
  ASSERT_EQ(durable.tables.size(), 2u);
  EXPECT_EQ(durable.tables[0].entries, 2u);
  EXPECT_EQ(durable.last_sequence, 3u);
  parts.Verify();
}

// Else writers wait for a larger pool, until readers have left a log that is free then.
TEST(FlusherTest, NothingIsKeptForCopiesOfALogThatWasCopied) {
  test::StoreParts parts;
  const std::string value(100, 'v');
  const auto fill = [&] {
    for (int i = 0; parts.pool->write_ahead_chunks() < 8; ++i) {
      parts.Put("key" + std::to_string(i), value);
    }
  };
  const uint64_t at_first = parts.pool->reserve_chunks();
  fill();
  const int64_t spare = parts.pool->spare_chunks();
  EXPECT_GT(parts.pool->reserve_chunks(), at_first);
  parts.Flush();
  ASSERT_GE(parts.pool->write_ahead_chunks(), 8u) << "its chunks are free once readers have left";
  EXPECT_GE(parts.pool->spare_chunks(), spare);
  EXPECT_LE(parts.pool->reserve_chunks(), at_first + 2) << "the new log has a chunk at most";
  ASSERT_TRUE(parts.reclaimer.Reclaim(false).ok());
  EXPECT_LE(parts.pool->write_ahead_chunks(), 1u);
  EXPECT_LE(parts.pool->reserve_chunks(), at_first + 2);
  // The next log is none that leaves.
  fill();
  EXPECT_GE(parts.pool->reserve_chunks(), at_first + 8);
}

TEST(FlusherTest, TheOldestIsFlushedFirst) {
  test::StoreParts parts;
  parts.Put("a", "old");
  parts.SwitchMemTable();
  parts.Put("a", "new");
  parts.SwitchMemTable();
  ASSERT_EQ(parts.FlushOldest().state, State::kFlushed);
  ASSERT_EQ(parts.state().immutables.size(), 1u);
  EXPECT_EQ(parts.Get("a"), "new");
  ASSERT_EQ(parts.FlushOldest().state, State::kFlushed);
  EXPECT_EQ(parts.FlushOldest().state, State::kNothing);
  EXPECT_EQ(parts.Get("a"), "new");
  EXPECT_GT(parts.state().version->l0()[0]->id(), parts.state().version->l0()[1]->id());
}

TEST(FlusherTest, WhatASnapshotSeesIsKept) {
  test::StoreParts parts;
  parts.Put("a", "old");
  const std::shared_ptr<const Snapshot> snapshot = parts.reader.GetSnapshot();
  parts.Put("a", "new");
  parts.Flush();
  EXPECT_EQ(parts.state().version->l0()[0]->entries(), 2u);
  ReadOptions then;
  then.snapshot = snapshot.get();
  std::string value;
  ASSERT_TRUE(parts.reader.Get(then, "a", &value).ok());
  EXPECT_EQ(value, "old");
}

TEST(FlusherTest, AGroupIsInTheManifestOnceItIsWrittenBack) {
  test::StoreParts parts([](Options* options) { options->flush.group_tables = 2; });
  parts.Put("a", "1");
  parts.Flush();
  EXPECT_EQ(Durable(&parts).tables.size(), 1u);
  EXPECT_FALSE(parts.flusher.GroupIsComplete());
  EXPECT_EQ(parts.Get("a"), "1") << "readers use it as soon as it is linked";
  parts.Put("b", "2");
  parts.Flush();
  EXPECT_TRUE(parts.flusher.GroupIsComplete());
  ASSERT_TRUE(parts.flusher.WriteBackGroup(parts.flusher.HoldGroups()).ok());
  EXPECT_EQ(Durable(&parts).tables.size(), 3u);
  EXPECT_FALSE(parts.flusher.GroupIsComplete());
  parts.Verify();
}

TEST(FlusherTest, WhereNothingIsMergedAFullL0IsSaid) {
  // Heads in the first pages, and those that the extension of the manifest has room for.
  const uint64_t kMostTables =
      format::kTableHeads +
      format::ExtensionHeads(test::PoolOfSmallChunks(256).pool.chunk_bytes, 1);
  test::StoreParts parts([](Options* options) { options->compaction.kind = MergeKind::kNone; });
  Flusher::Outcome last;
  for (uint64_t i = 0; i <= kMostTables; ++i) {
    parts.Put("key", std::to_string(i));
    parts.SwitchMemTable();
    last = parts.FlushOldest();
    if (last.state != State::kFlushed) break;
  }
  EXPECT_EQ(last.state, State::kNoRoom);
  EXPECT_TRUE(last.reason.IsOutOfSpace()) << last.reason.ToString();
  ASSERT_EQ(parts.state().immutables.size(), 1u) << "nothing has changed";
  EXPECT_NE(parts.Get("key"), "-");
}

}  // namespace
}  // namespace braid::flush
