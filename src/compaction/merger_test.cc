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
  parts.Put("a", "1");
  parts.Flush();
  parts.Merge();
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
  EXPECT_EQ(parts.l1_entries(), 20'001u);
  parts.Verify();
}

/// Of a table of 2,000 keys with an index.
class AdoptionTest : public ::testing::Test {
 protected:
  static std::string KeyOf(int i) { return "key" + std::to_string(10'000 + i); }
  void PutAll() {
    for (int i = 0; i < 2'000; ++i) parts_.Put(KeyOf(i), "value");
  }
  const index::EntryIndex* TreeOfOldest() {
    return level::ListOf(parts_.state().version->l0().back())->tree().get();
  }
  const index::EntryIndex* TreeOfL1() { return parts_.versions.Lock().bottom()->tree().get(); }
  void ExpectMerged(uint64_t entries) {
    const index::EntryIndex* const tree = TreeOfOldest();
    parts_.Merge();
    EXPECT_NE(TreeOfL1(), tree);
    EXPECT_EQ(parts_.l1_entries(), entries);
    parts_.Verify();
  }

  test::StoreParts parts_;
};

TEST_F(AdoptionTest, ATableOfPutsBecomesTheEmptyL1WithItsIndex) {
  PutAll();
  parts_.Flush();
  const index::EntryIndex* const tree = TreeOfOldest();
  ASSERT_NE(tree, nullptr);
  const uint64_t lines = parts_.pool->ops().lines_flushed();
  EXPECT_EQ(parts_.Merge().entries, 2'000u);
  EXPECT_LT(parts_.pool->ops().lines_flushed(), lines + 100) << "no entry is touched";
  EXPECT_EQ(parts_.l1_entries(), 2'000u);
  EXPECT_EQ(TreeOfL1(), tree);
  EXPECT_FALSE(parts_.indexes.LackSome());
  EXPECT_EQ(parts_.indexes.kept(), 0u);
  parts_.Verify();
  // From here on merges keep it up to date.
  parts_.Delete(KeyOf(7));
  parts_.Put(KeyOf(8), "new");
  parts_.Put("later", "value");
  parts_.Flush();
  parts_.Merge();
  EXPECT_EQ(TreeOfL1(), tree);
  EXPECT_EQ(tree->size(), 2'000u);
  EXPECT_EQ(parts_.Get(KeyOf(7)), "-");
  EXPECT_EQ(parts_.Get(KeyOf(8)), "new");
  EXPECT_EQ(parts_.Get("later"), "value");
  parts_.Verify();
}

TEST_F(AdoptionTest, NotOneWithADelete) {
  PutAll();
  parts_.Delete("no such key");
  parts_.Flush();
  ExpectMerged(2'000);
}

TEST_F(AdoptionTest, NotOneWithOlderVersions) {
  PutAll();
  const level::ViewRegistry::Handle view = parts_.views->Register(parts_.sequence, nullptr);
  parts_.Put(KeyOf(7), "new");
  parts_.Flush();
  ExpectMerged(2'001);
}

TEST_F(AdoptionTest, NotOneThatIsOverwritten) {
  PutAll();
  parts_.Flush();
  PutAll();
  parts_.Flush();
  ExpectMerged(0);
}

// Whatever the manifest counts there: what is merged after all has an index of its own, without
// what newer tables have overwritten.
TEST_F(AdoptionTest, NotIntoAnL1ThatLooksEmpty) {
  parts_.Put("a", "1");
  parts_.Flush();
  parts_.Merge();
  parts_.versions.Lock().bottom()->set_entries(0);
  PutAll();
  parts_.Flush();
  const index::EntryIndex* const tree = TreeOfOldest();
  for (int i = 500; i < 1'500; ++i) parts_.Put(KeyOf(i), "new");
  parts_.Flush();
  parts_.Merge();
  EXPECT_NE(TreeOfL1(), tree);
  while (parts_.Worked(parts_.indexes.BuildStep())) {
  }
  ASSERT_NE(TreeOfL1(), nullptr);
  EXPECT_EQ(TreeOfL1()->Find(KeyOf(1'000)), 0u);
  EXPECT_EQ(TreeOfL1()->size(), 1'001u);
  EXPECT_EQ(parts_.Get(KeyOf(1'000)), "new");
  EXPECT_EQ(parts_.Get(KeyOf(10)), "value");
}

TEST_F(AdoptionTest, NotIntoAnL1ThatHoldsSomething) {
  parts_.Put("a", "1");
  parts_.Flush();
  parts_.Merge();
  PutAll();
  parts_.Flush();
  ExpectMerged(2'001);
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
