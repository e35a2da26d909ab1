#include "compaction/merger.h"

#include <gtest/gtest.h>

#include <string>

#include "support/store_parts.h"

namespace braid::compaction {
namespace {

using OpenMerge = StoreFacts::OpenMerge;

TEST(MergerTest, TheOldestTableGoesIntoL1) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Put("b", "1");
  parts.Flush();
  parts.Put("a", "2");
  parts.Flush();
  EXPECT_EQ(parts.Merge().entries, 2u);
  EXPECT_EQ(parts.state().version->l0().size(), 1u);
  EXPECT_EQ(parts.l1_entries(), 1u) << "the other is overwritten in the table that is left";
  EXPECT_EQ(parts.Get("a"), "2");
  EXPECT_EQ(parts.Get("b"), "1");
  EXPECT_EQ(parts.Merge().entries, 1u);
  EXPECT_EQ(parts.l1_entries(), 2u);
  EXPECT_EQ(parts.Get("a"), "2");
  EXPECT_EQ(parts.Get("b"), "1");
  EXPECT_EQ(parts.open_merge(), OpenMerge::kNone);
  parts.Verify();
}

TEST(MergerTest, TheOlderVersionInL1Goes) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Flush();
  parts.Merge();
  parts.Put("a", "2");
  parts.Flush();
  EXPECT_EQ(parts.Merge().entries, 1u);
  EXPECT_EQ(parts.l1_entries(), 1u);
  EXPECT_EQ(parts.Get("a"), "2");
  parts.Verify();
}

TEST(MergerTest, WhatIsOverwrittenInAMemTableAloneIsMerged) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Put("b", "1");
  parts.Flush();
  parts.Put("a", "2");
  parts.SwitchMemTable();
  parts.Put("b", "2");
  parts.Merge();
  EXPECT_EQ(parts.l1_entries(), 2u);
}

TEST(MergerTest, WhatASnapshotSeesIsMergedThoughItIsOverwritten) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Flush();
  const level::ViewRegistry::Handle view = parts.views->Register(parts.sequence, nullptr);
  parts.Put("a", "2");
  parts.Flush();
  parts.Merge();
  EXPECT_EQ(parts.l1_entries(), 1u);
  parts.Merge();
  EXPECT_EQ(parts.l1_entries(), 2u) << "both versions";
  parts.Verify();
}

TEST(MergerTest, ADeleteGoesWithWhatItHides) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Flush();
  parts.Delete("a");
  parts.Flush();
  parts.Merge();
  parts.Merge();
  EXPECT_EQ(parts.l1_entries(), 0u);
  EXPECT_EQ(parts.Get("a"), "-");
  parts.Verify();
}

TEST(MergerTest, ADeleteStaysWhereALevelIsBelow) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Flush();
  parts.Merge();
  parts.Delete("a");
  parts.Flush();
  parts.Merge(/*is_bottom=*/false);
  EXPECT_EQ(parts.l1_entries(), 1u) << "the delete, which hides what may be below";
  EXPECT_EQ(parts.Get("a"), "-");
  parts.Verify();
}

TEST(MergerTest, AMergeThatIsStoppedStaysOpenAndGoesOn) {
  test::StoreParts parts;
  for (int i = 0; i < 20'000; ++i) parts.Put("key" + std::to_string(i), "value");
  parts.Flush();
  parts.stop_merges.store(true);
  const Result<Merger::Merged> stopped = parts.merger.Merge(parts.PlanOfMerge());
  EXPECT_EQ(stopped.status().code(), Status::Code::kAborted);
  EXPECT_EQ(parts.open_merge(), OpenMerge::kOfTable);
  Merger::CopySlot slot;
  EXPECT_FALSE(parts.merger.TakeSlot(&slot)) << "the manifest names one merge";
  EXPECT_EQ(parts.Get("key7"), "value");
  parts.stop_merges.store(false);
  parts.Merge();
  EXPECT_EQ(parts.open_merge(), OpenMerge::kNone);
  EXPECT_EQ(parts.l1_entries(), 20'000u);
  parts.Verify();
}

// Merges go from the end of the list to its beginning, where this one meets damage.
TEST(MergerTest, WhatAStepHasOverwrittenIsOutOfTheCountsBehindIt) {
  constexpr uint64_t kKeys = 5000;
  test::StoreParts parts;
  const auto put_all = [&](std::string_view value) {
    for (uint64_t i = 0; i < kKeys; ++i) parts.Put("key" + std::to_string(10'000 + i), value);
    parts.Flush();
  };
  put_all("old");
  parts.Merge();
  put_all("new");
  index::Damage damage;
  const auto* first = parts.versions.Lock().bottom()->list().First(&damage);
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(first->key(), "key10000");
  const uint64_t bytes = first->size();
  const uint64_t live = parts.usage.KnownLive();
  *parts.pool->As<uint64_t>(parts.pool->OffsetOf(first->links())) = parts.pool->pool_bytes();
  EXPECT_TRUE(parts.merger.Merge(parts.PlanOfMerge()).status().IsCorruption());
  EXPECT_LE(parts.usage.KnownLive() + (kKeys - 1100) * bytes, live);
}

// The next open makes its last batch again, which names entries that it has made obsolete.
TEST(MergerTest, ChunksThatAMergeHasEmptiedStayUntilItsEnd) {
  constexpr uint64_t kKeys = 5000;
  test::StoreParts parts;
  const auto put_all = [&](char c) {
    const std::string value(1000, c);
    for (uint64_t i = 0; i < kKeys; ++i) parts.Put("key" + std::to_string(10'000 + i), value);
    parts.Flush();
  };
  put_all('a');
  parts.Merge();
  put_all('b');
  index::Damage damage;
  const auto* first = parts.versions.Lock().bottom()->list().First(&damage);
  ASSERT_NE(first, nullptr);
  *parts.pool->As<uint64_t>(parts.pool->OffsetOf(first->links())) = parts.pool->pool_bytes();
  EXPECT_TRUE(parts.merger.Merge(parts.PlanOfMerge()).status().IsCorruption());
  ASSERT_EQ(parts.open_merge(), OpenMerge::kOfTable);
  ASSERT_FALSE(parts.accounts.Survey(0.5).empty.empty()) << "the test means a merge that empties";
  const uint64_t used = parts.pool->used_chunks();
  parts.accounts.RetireEmptyChunks();
  parts.Reclaim();
  EXPECT_EQ(parts.pool->used_chunks(), used);
}

TEST(MergerTest, CopiesThatCameToNothingLeaveTheirPlace) {
  test::StoreParts parts;
  Merger::CopySlot first;
  ASSERT_TRUE(parts.merger.TakeSlot(&first));
  const uint64_t times = parts.reclaimer.times();
  const Result<bool> none =
      parts.merger.CommitCopies(first, Result<format::TableRecord>(Status::OutOfSpace("full")));
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_FALSE(*none);
  EXPECT_GT(parts.reclaimer.times(), times) << "who waits for room may look again";
  Merger::CopySlot second;
  ASSERT_TRUE(parts.merger.TakeSlot(&second));
  EXPECT_EQ(second.head, first.head);
  EXPECT_NE(second.table_id, first.table_id) << "no id is given out twice";
  EXPECT_FALSE(
      parts.merger.CommitCopies(second, Result<format::TableRecord>(Status::IOError("it broke")))
          .ok());
  const Result<bool> finished = parts.merger.FinishCopies();
  ASSERT_TRUE(finished.ok());
  EXPECT_FALSE(*finished) << "there are none";
}

TEST(MergerTest, NothingBeginsOnceWritesHaveEnded) {
  test::StoreParts parts;
  parts.errors.Fail(Status::IOError("it failed"));
  Merger::CopySlot slot;
  EXPECT_FALSE(parts.merger.TakeSlot(&slot));
}

}  // namespace
}  // namespace braid::compaction
