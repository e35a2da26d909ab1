// Tests of tables that newer ones overwrite: which are obsolete, what becomes of those, and which
// wait.
#include "compaction/overwrites.h"

#include <gtest/gtest.h>

#include <string>

#include "support/store_parts.h"

namespace braid::compaction {
namespace {

using OpenMerge = StoreFacts::OpenMerge;

constexpr int kKeys = 2'000;

std::string KeyOf(int i) { return "key" + std::to_string(10'000 + i); }

class OverwritesTest : public ::testing::Test {
 protected:
  /// A table of L0 with these keys.
  void PutTable(int begin, int end, std::string_view value) {
    for (int i = begin; i < end; ++i) parts_.Put(KeyOf(i), value);
    parts_.Flush();
  }
  bool IsObsolete() { return parts_.overwrites.IsObsolete(parts_.state()); }
  uint64_t LiveBytes() { return parts_.usage.KnownLive(); }
  size_t TablesOfL0() { return parts_.state().version->l0().size(); }

  test::StoreParts parts_;
};

TEST_F(OverwritesTest, ATableIsObsoleteOnceNewerOnesHaveAllOfItsKeys) {
  PutTable(0, kKeys, "1");
  EXPECT_FALSE(IsObsolete());
  PutTable(0, 1'200, "2");
  EXPECT_FALSE(IsObsolete());
  PutTable(1'200, kKeys - 1, "3");
  EXPECT_FALSE(IsObsolete()) << "one key is left";
  PutTable(kKeys - 1, kKeys + 100, "4");
  EXPECT_TRUE(IsObsolete());
}

TEST_F(OverwritesTest, WhoClosesDoesNotWaitForTheAnswer) {
  PutTable(0, kKeys, "1");
  PutTable(0, kKeys, "2");
  parts_.stop_merges.store(true);
  EXPECT_FALSE(IsObsolete());
}

TEST_F(OverwritesTest, WhatHidesATableMayBeDeletes) {
  PutTable(0, kKeys, "1");
  for (int i = 0; i < kKeys; ++i) parts_.Delete(KeyOf(i));
  parts_.Flush();
  EXPECT_TRUE(IsObsolete());
}

TEST_F(OverwritesTest, KeysThatTreesKnowInPartAreCompared) {
  const auto put = [&](int end) {
    for (int i = 0; i < end; ++i)
      parts_.Put("a key that is longer than what trees know of it: " + KeyOf(i), "v");
    parts_.Flush();
  };
  put(300);
  put(299);
  EXPECT_FALSE(IsObsolete());
  put(300);
  EXPECT_TRUE(IsObsolete());
}

TEST_F(OverwritesTest, NotWhileAViewSeesAnOlderVersion) {
  PutTable(0, kKeys, "1");
  {
    const level::ViewRegistry::Handle view = parts_.views->Register(parts_.sequence, nullptr);
    PutTable(0, kKeys, "2");
    EXPECT_FALSE(IsObsolete());
    const level::ViewRegistry::Handle later = parts_.views->Register(parts_.sequence, nullptr);
    EXPECT_FALSE(IsObsolete());
  }
  const level::ViewRegistry::Handle now = parts_.views->Register(parts_.sequence, nullptr);
  EXPECT_TRUE(IsObsolete());
}

TEST_F(OverwritesTest, NotWithoutAnIndexThatHasAll) {
  PutTable(0, kKeys, "1");
  PutTable(0, kKeys, "2");
  EXPECT_TRUE(IsObsolete());
  level::ListOf(parts_.state().version->l0().front())->set_tree(nullptr, 1);
  EXPECT_FALSE(IsObsolete());
}

TEST_F(OverwritesTest, AnObsoleteTableGoesWithoutAMerge) {
  PutTable(0, 10, "L1");
  parts_.Merge();
  const uint64_t live = LiveBytes();
  PutTable(0, kKeys, "old");
  PutTable(0, kKeys, "new");
  EXPECT_EQ(parts_.pool->header().incompat & format::kIncompatCopies, 0u);
  const uint64_t fences = parts_.pool->ops().fences();
  EXPECT_EQ(parts_.Merge().entries, static_cast<uint64_t>(kKeys));
  EXPECT_NE(parts_.pool->header().incompat & format::kIncompatCopies, 0u)
      << "older programs would not know what becomes of the entries after a crash";
  EXPECT_LT(parts_.pool->ops().fences(), fences + 20) << "a merge needs some for each batch";
  EXPECT_EQ(parts_.open_merge(), OpenMerge::kNone);
  EXPECT_EQ(parts_.l1_entries(), 10u) << "nothing was linked";
  EXPECT_EQ(TablesOfL0(), 1u);
  EXPECT_EQ(parts_.merger.overwritten_tables(), 1u);
  EXPECT_EQ(parts_.Get(KeyOf(7)), "new");
  EXPECT_EQ(parts_.Get(KeyOf(kKeys - 1)), "new");
  parts_.Verify();
  parts_.Merge();
  EXPECT_EQ(parts_.l1_entries(), static_cast<uint64_t>(kKeys));
  EXPECT_EQ(parts_.Get(KeyOf(7)), "new");
  parts_.Verify();
  EXPECT_GT(LiveBytes(), live);
}

// Readers who hold the state before find the newer versions, or what their view sees.
TEST_F(OverwritesTest, IteratorsOfBeforeGoOnOverWhatIsObsolete) {
  PutTable(0, kKeys, "old");
  PutTable(0, kKeys, "new");
  const std::shared_ptr<const level::ReadState> state = parts_.versions.Lock().Keep();
  index::ReadView view = parts_.reader.ViewOfNow();
  const level::ViewRegistry::Handle handle =
      parts_.views->Register(parts_.sequence, &parts_.reclaimer.clock());
  view.sequence = handle.sequence();
  level::MergingIterator walk = parts_.reader.MergeOf(*state, view);
  walk.SeekToFirst();
  parts_.Merge();
  parts_.Reclaim();
  int keys = 0;
  for (; walk.Valid(); walk.Next(), ++keys) {
    EXPECT_EQ(walk.key(), KeyOf(keys));
    EXPECT_EQ(walk.item().value, "new");
  }
  EXPECT_TRUE(walk.status().ok());
  EXPECT_EQ(keys, kKeys);
}

// What was kept for a view that is gone has no other owner.
TEST_F(OverwritesTest, OlderVersionsInAnObsoleteTableGoToo) {
  {
    parts_.Put("a", "1");
    const level::ViewRegistry::Handle view = parts_.views->Register(parts_.sequence, nullptr);
    PutTable(0, kKeys, "old");
    parts_.Put(KeyOf(3), "older");
    const level::ViewRegistry::Handle other = parts_.views->Register(parts_.sequence, nullptr);
    parts_.Put(KeyOf(3), "newer");
    parts_.Flush();
  }
  parts_.Put("a", "2");
  PutTable(0, kKeys, "new");
  while (TablesOfL0() > 1) parts_.Merge();
  parts_.Merge();
  EXPECT_EQ(parts_.l1_entries(), static_cast<uint64_t>(kKeys + 1));
  EXPECT_EQ(parts_.Get("a"), "2");
  EXPECT_EQ(parts_.Get(KeyOf(3)), "new");
  const uint64_t used = parts_.pool->used_chunks();
  parts_.Reclaim();
  EXPECT_LT(parts_.pool->used_chunks(), used);
  parts_.Verify();
}

TEST_F(OverwritesTest, ExtentsOfAnObsoleteTableAreGivenBack) {
  const std::string large(3 * parts_.pool->chunk_bytes(), 'x');
  const uint64_t before = parts_.pool->used_chunks();
  parts_.Put("large", large);
  parts_.Flush();
  parts_.Put("large", "small");
  parts_.Flush();
  EXPECT_TRUE(IsObsolete());
  EXPECT_EQ(parts_.Merge().entries, 1u);
  parts_.Reclaim();
  EXPECT_LE(parts_.pool->used_chunks(), before + 2);
  EXPECT_EQ(parts_.Get("large"), "small");
  parts_.Verify();
}

/// Tables of L0 that are merged now and then, as a store does.
class WaitingTest : public ::testing::Test {
 protected:
  void PutTable(int begin, int end) {
    for (int i = begin; i < end; ++i) parts_.Put(KeyOf(i), "value");
    parts_.Flush();
  }
  bool Waits() { return parts_.overwrites.IsWorthWaiting(parts_.state()); }
  void MergeAll() {
    while (!parts_.state().version->l0().empty()) parts_.Merge();
  }
  /// The next ones have all keys of the first table.
  void SeeThatAllIsOverwritten() {
    PutTable(0, kKeys);
    EXPECT_FALSE(Waits());
    PutTable(0, kKeys / 2);
    EXPECT_FALSE(Waits());
    PutTable(kKeys / 2, kKeys);
    Waits();
    MergeAll();
    EXPECT_FALSE(Waits()) << "there is none";
  }

  test::StoreParts parts_{
      [](Options* options) { options->pool.max_bytes = options->pool.initial_bytes; }};
};

TEST_F(WaitingTest, ATableWaitsOnceAnotherWasOverwrittenAsAWhole) {
  SeeThatAllIsOverwritten();
  PutTable(0, kKeys);
  EXPECT_TRUE(Waits());
  PutTable(0, kKeys / 2);
  EXPECT_TRUE(Waits());
  PutTable(kKeys / 2, kKeys);
  EXPECT_FALSE(Waits()) << "it is obsolete";
  const uint64_t before = parts_.merger.overwritten_tables();
  parts_.Merge();
  EXPECT_EQ(parts_.merger.overwritten_tables(), before + 1);
}

TEST_F(WaitingTest, WhatIsMergedMeanwhileIsWatchedToo) {
  for (const auto& [begin, end] : {std::pair(0, kKeys), {0, kKeys / 2}}) {
    PutTable(begin, end);
    EXPECT_FALSE(Waits());
    MergeAll();
  }
  PutTable(kKeys / 2, kKeys);
  EXPECT_TRUE(Waits());
}

TEST_F(WaitingTest, NotWhereTheNextTablesLeaveSomeKeys) {
  PutTable(0, kKeys);
  for (size_t i = 1; i < Overwrites::kMostWaiting; ++i) {
    PutTable(1, kKeys);
    EXPECT_FALSE(Waits()) << i;
  }
  MergeAll();
  PutTable(0, kKeys);
  EXPECT_FALSE(Waits()) << "the one that was watched is not the last";
}

TEST_F(WaitingTest, NoMoreOnceATableWasNotOverwritten) {
  SeeThatAllIsOverwritten();
  PutTable(0, kKeys);
  EXPECT_TRUE(Waits());
  for (size_t i = 1; i < Overwrites::kMostWaiting; ++i) {
    MergeAll();
    PutTable(1, kKeys);
    Waits();
  }
  MergeAll();
  PutTable(0, kKeys);
  EXPECT_FALSE(Waits());
}

TEST_F(WaitingTest, NotForMoreThanSomeTables) {
  SeeThatAllIsOverwritten();
  for (size_t i = 1; i < Overwrites::kMostWaiting; ++i) {
    PutTable(i == 1 ? 0 : 1, kKeys);
    EXPECT_TRUE(Waits()) << i;
  }
  PutTable(1, kKeys);
  EXPECT_FALSE(Waits());
}

TEST_F(WaitingTest, NotWhileSomebodyReads) {
  SeeThatAllIsOverwritten();
  PutTable(0, kKeys);
  EXPECT_TRUE(Waits());
  for (int i = 0; i < 100; ++i) parts_.Get(KeyOf(i));
  EXPECT_FALSE(Waits());
}

TEST_F(WaitingTest, NotInAPoolThatIsNearlyFull) {
  SeeThatAllIsOverwritten();
  PutTable(0, kKeys);
  EXPECT_TRUE(Waits());
  pool::PmemPool& pool = *parts_.pool;
  format::LogChunkHeader header{};
  header.table_id = 1'000;
  const auto take_until = [&](auto&& enough) {
    while (!enough()) {
      ASSERT_TRUE(pool.AllocateLogChunk(header, format::ChunkKind::kCollected,
                                        pool::AllocationClass::kBackground)
                      .ok());
    }
  };
  EXPECT_FALSE(pool.may_grow());
  ASSERT_GE(pool.free_chunks(), pool.chunks() / 4);
  take_until([&] { return pool.free_chunks() < pool.chunks() / 4; });
  EXPECT_FALSE(Waits());
}

TEST(NoWaitingTest, WithoutThreadsAndWhereAllIsMergedAnyhow) {
  const test::StoreParts::Change changes[] = {
      [](Options* options) { options->background_threads = false; },
      [](Options* options) { options->compaction.persistence = MergePersistence::kPointer; },
  };
  for (const test::StoreParts::Change& change : changes) {
    test::StoreParts parts(change);
    for (int table = 0; table < 4; ++table) {
      for (int i = 0; i < kKeys; ++i) parts.Put(KeyOf(i), std::to_string(table));
      parts.Flush();
      EXPECT_FALSE(parts.overwrites.IsWorthWaiting(parts.state()));
      parts.Merge();
    }
  }
}

}  // namespace
}  // namespace braid::compaction
