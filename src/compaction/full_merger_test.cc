// Tests of full merges: when one is due, what it makes of tables and L1, and what becomes of that
// which it leaves behind.
#include "compaction/full_merger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "compaction/room.h"
#include "support/idle_engine.h"
#include "support/records.h"
#include "support/store_parts.h"

namespace braid::compaction {
namespace {

constexpr int kFullKeys = 3'000;

std::string FullKeyOf(int i) { return "key" + std::to_string(10'000 + i); }

void SmallBatches(Options* options) {
  options->compaction.batch_entries = 64;
  options->cache.lookup_bytes = 1 << 20;
}

class FullMergerTest : public ::testing::Test {
 protected:
  explicit FullMergerTest(const test::StoreParts::Change& change = SmallBatches) : parts_(change) {}

  void PutTable(int begin, int end, const std::string& value) {
    for (int i = begin; i < end; ++i) parts_.Put(FullKeyOf(i), value + std::to_string(i));
    parts_.Flush();
  }
  /// The first table becomes L1.
  void MakeL1() {
    PutTable(0, kFullKeys, "old");
    parts_.Merge();
    ASSERT_EQ(parts_.l1_entries(), static_cast<uint64_t>(kFullKeys));
  }
  bool IsDue() { return parts_.full_merger.IsDue(parts_.state()); }
  bool AwaitsFlush() { return parts_.full_merger.WaitsForFlush(parts_.state(), IsDue()); }
  Merger::Merged MergeFully() {
    Plan plan = parts_.PlanOfMerge();
    plan.method = MergeMethod::kFull;
    plan.inputs.clear();
    for (const auto& table : parts_.state().version->l0()) plan.inputs.push_back(table->id());
    const Result<Merger::Merged> merged = parts_.merger.Merge(plan);
    EXPECT_TRUE(merged.ok()) << merged.status().ToString();
    return merged.ok() ? *merged : Merger::Merged{};
  }
  void ExpectKeys(int begin, int end, const std::string& value) {
    for (int i = begin; i < end; ++i) {
      ASSERT_EQ(parts_.Get(FullKeyOf(i)), value + std::to_string(i)) << i;
    }
  }
  format::LeftBehind LeftBehind() {
    const auto versions = parts_.versions.Lock();
    return versions.record().left_behind;
  }
  size_t TablesOfL0() { return parts_.state().version->l0().size(); }

  test::StoreParts parts_;
  const read::Reader::Owner engine_ = std::make_shared<test::IdleEngine>();
};

TEST_F(FullMergerTest, TablesAndL1BecomeANewL1) {
  MakeL1();
  PutTable(1'000, 2'500, "middle");
  PutTable(2'000, 4'000, "new");
  const uint64_t newest = parts_.state().version->l0().front()->id();
  ASSERT_TRUE(IsDue());
  const Merger::Merged merged = MergeFully();
  EXPECT_EQ(merged.tables, 2u);
  EXPECT_EQ(merged.entries, 3'000u + 1'500u + 2'000u);
  EXPECT_TRUE(merged.is_in_order);
  EXPECT_EQ(parts_.full_merger.merges(), 1u);
  EXPECT_EQ(TablesOfL0(), 0u);
  EXPECT_EQ(parts_.l1_entries(), 4'000u);
  EXPECT_EQ(LeftBehind().table_id, newest);
  const std::shared_ptr<level::PmemTable> l1 = parts_.versions.Lock().bottom();
  EXPECT_EQ(LeftBehind().collected_id + 1, l1->id());
  EXPECT_FALSE(parts_.indexes.LackSome());
  EXPECT_EQ(l1->tree()->size(), 4'000u);
  int named = 0;
  for (int i = 0; i < 4'000; ++i) {
    const std::string key = FullKeyOf(i);
    named += parts_.lookup_cache->Names(base::Hash64(key), l1->tree()->Find(key)) ? 1 : 0;
  }
  EXPECT_GT(named, 3'800) << "all except for a few that share a bucket";
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  ExpectKeys(0, 1'000, "old");
  ExpectKeys(1'000, 2'000, "middle");
  ExpectKeys(2'000, 4'000, "new");
}

TEST_F(FullMergerTest, WhatIsLeftBehindBecomesFreeAndIsUsedAgain) {
  MakeL1();
  PutTable(0, kFullKeys, "new");
  parts_.Reclaim();
  const uint64_t used = parts_.pool->used_chunks();
  MergeFully();
  parts_.Reclaim();
  EXPECT_LT(parts_.pool->used_chunks(), used);
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  // Whatever named a chunk of those would meet other entries now.
  PutTable(10'000, 16'000, "other");
  ExpectKeys(0, kFullKeys, "new");
  ExpectKeys(10'000, 16'000, "other");
  EXPECT_TRUE(parts_.Verify().problems.empty());
}

TEST_F(FullMergerTest, MergesByLinksGoOnFromThere) {
  MakeL1();
  PutTable(0, 2'000, "new");
  MergeFully();
  for (int i = 0; i < 100; ++i) parts_.Delete(FullKeyOf(i));
  parts_.Put(FullKeyOf(100), "last100");
  parts_.Flush();
  EXPECT_FALSE(IsDue()) << "a small table";
  parts_.Merge();
  EXPECT_EQ(parts_.l1_entries(), 2'900u);
  EXPECT_EQ(parts_.Get(FullKeyOf(50)), "-");
  ExpectKeys(100, 101, "last");
  ExpectKeys(101, 2'000, "new");
  ExpectKeys(2'000, kFullKeys, "old");
  parts_.Reclaim();
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  // And another one behind them.
  PutTable(0, 2'000, "newest");
  ASSERT_TRUE(IsDue());
  EXPECT_EQ(MergeFully().tables, 1u);
  parts_.Reclaim();
  EXPECT_EQ(parts_.l1_entries(), 3'000u);
  ExpectKeys(0, 2'000, "newest");
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
}

TEST_F(FullMergerTest, DeletesGoWithWhatTheyHide) {
  MakeL1();
  PutTable(0, 1'000, "middle");
  for (int i = 500; i < 2'000; ++i) parts_.Delete(FullKeyOf(i));
  parts_.Delete("no such key");
  parts_.Flush();
  ASSERT_TRUE(IsDue());
  EXPECT_EQ(MergeFully().entries, 3'000u + 1'000u + 1'501u);
  EXPECT_EQ(parts_.l1_entries(), 1'500u);
  parts_.Reclaim();
  PutTable(10'000, 14'000, "other");
  ExpectKeys(0, 500, "middle");
  for (int i = 500; i < 2'000; ++i) ASSERT_EQ(parts_.Get(FullKeyOf(i)), "-") << i;
  EXPECT_EQ(parts_.Get("no such key"), "-");
  ExpectKeys(2'000, kFullKeys, "old");
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
}

TEST_F(FullMergerTest, WhereAllIsDeletedItIsLeftToLinks) {
  MakeL1();
  for (int i = 0; i < kFullKeys; ++i) parts_.Delete(FullKeyOf(i));
  parts_.Flush();
  ASSERT_TRUE(IsDue());
  MergeFully();
  EXPECT_EQ(parts_.full_merger.merges(), 0u);
  EXPECT_EQ(parts_.l1_entries(), 0u);
  EXPECT_EQ(TablesOfL0(), 0u);
  parts_.Reclaim();
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
}

TEST_F(FullMergerTest, ReadersOfTheStateBeforeGoOnInIt) {
  MakeL1();
  PutTable(0, 2'000, "new");
  const std::unique_ptr<Iterator> it = parts_.reader.NewIterator({}, engine_);
  it->SeekToFirst();
  ASSERT_TRUE(IsDue()) << "it sees the newest version of each key";
  ASSERT_EQ(MergeFully().tables, 1u);
  PutTable(0, kFullKeys, "later");
  parts_.Reclaim();
  PutTable(10'000, 14'000, "other");
  int at = 0;
  for (; it->Valid(); it->Next(), ++at) {
    ASSERT_EQ(it->key(), FullKeyOf(at));
    ASSERT_EQ(it->value(), (at < 2'000 ? "new" : "old") + std::to_string(at));
  }
  EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  EXPECT_EQ(at, kFullKeys);
}

TEST_F(FullMergerTest, NotWhileAViewNeedsAnOlderVersion) {
  MakeL1();
  std::optional<level::ViewRegistry::Handle> view(parts_.views->Register(parts_.sequence, nullptr));
  PutTable(0, 2'000, "new");
  EXPECT_FALSE(IsDue());
  view.reset();
  EXPECT_TRUE(IsDue());
}

TEST_F(FullMergerTest, NotWhereATableHasComeSinceBehindAView) {
  MakeL1();
  PutTable(0, 2'000, "new");
  ASSERT_TRUE(IsDue());
  const std::shared_ptr<const Snapshot> snapshot = parts_.reader.GetSnapshot();
  PutTable(0, 2'000, "newest");
  MergeFully();
  EXPECT_EQ(parts_.full_merger.merges(), 0u);
  ExpectKeys(0, 2'000, "newest");
  ReadOptions options;
  options.snapshot = snapshot.get();
  std::string value;
  ASSERT_TRUE(parts_.reader.Get(options, FullKeyOf(7), &value).ok());
  EXPECT_EQ(value, "new7");
}

TEST_F(FullMergerTest, VersionsThatNoViewNeedsAnyMoreGo) {
  MakeL1();
  std::optional<level::ViewRegistry::Handle> view(parts_.views->Register(parts_.sequence, nullptr));
  PutTable(0, 1'000, "middle");
  for (int i = 500; i < 600; ++i) parts_.Delete(FullKeyOf(i));
  parts_.Flush();
  while (TablesOfL0() != 0) parts_.Merge();
  EXPECT_GT(parts_.merger.kept()->all(), 0u);
  view.reset();
  PutTable(1'000, 3'000, "new");
  ASSERT_TRUE(IsDue());
  MergeFully();
  EXPECT_EQ(parts_.merger.kept()->all(), 0u);
  EXPECT_EQ(parts_.l1_entries(), 2'900u);
  parts_.Reclaim();
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  ExpectKeys(0, 500, "middle");
  EXPECT_EQ(parts_.Get(FullKeyOf(550)), "-");
  ExpectKeys(600, 1'000, "middle");
  ExpectKeys(1'000, kFullKeys, "new");
}

TEST_F(FullMergerTest, NothingIsMovedOutOfWhatIsLeftBehind) {
  MakeL1();
  PutTable(0, kFullKeys, "new");
  const std::unique_ptr<Iterator> it = parts_.reader.NewIterator({}, engine_);
  it->SeekToFirst();  // its chunks stay
  MergeFully();
  parts_.Reclaim();
  std::vector<uint64_t> empty;
  for (const pool::ChunkId& id : parts_.accounts.Survey(0.5).empty) empty.push_back(id.chunk);
  ASSERT_FALSE(empty.empty());
  const std::vector<ChunkUse> uses = SurveyUses(*parts_.pool, parts_.usage, empty, 2);
  for (const uint64_t chunk : empty) {
    ASSERT_GT(CountLiveBytes(*parts_.pool, chunk), 0u) << "nothing is marked";
    const auto entries = EntriesIn(*parts_.pool, uses, {chunk, chunk, chunk + 1});
    ASSERT_TRUE(entries.has_value());
    EXPECT_TRUE(entries->empty()) << chunk;
  }
}

TEST_F(FullMergerTest, NotIntoAnL1ThatIsMuchLargerOrSmall) {
  PutTable(0, 127, "old");
  parts_.Merge();
  PutTable(0, 127, "new");
  EXPECT_FALSE(IsDue()) << "fewer than two batches";
  PutTable(127, 4'000, "old");
  while (TablesOfL0() != 0) parts_.Merge();
  PutTable(0, 1'999, "new");
  EXPECT_FALSE(IsDue()) << "more than twice as many";
  PutTable(2'000, 2'001, "new");
  EXPECT_TRUE(IsDue());
}

TEST_F(FullMergerTest, NotWithATableThatWasLoaded) {
  MakeL1();
  PutTable(0, 2'000, "new");
  level::ListOf(parts_.state().version->l0().front())->set_is_load();
  EXPECT_FALSE(IsDue());
}

TEST_F(FullMergerTest, NotBesideALoad) {
  MakeL1();
  PutTable(0, 2'000, "new");
  parts_.versions.Lock().SetLoadingTableId(1'000);
  EXPECT_EQ(MergeFully().tables, 1u);
  EXPECT_EQ(LeftBehind().table_id, 0u) << "its chunks may have any id";
  parts_.versions.Lock().SetLoadingTableId(0);
  ExpectKeys(0, 2'000, "new");
}

TEST_F(FullMergerTest, WhoClosesDoesNotWaitForIt) {
  MakeL1();
  PutTable(0, 2'000, "new");
  const uint64_t used = parts_.pool->used_chunks();
  std::vector<uint64_t> ids{parts_.state().version->l0().front()->id()};
  parts_.stop_merges.store(true);
  const Result<uint64_t> merged = parts_.full_merger.Run(ids);
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(*merged, 0u);
  EXPECT_EQ(parts_.pool->used_chunks(), used) << "the copies are given back";
  parts_.stop_merges.store(false);
  EXPECT_FALSE(IsDue()) << "not before another merge";
  parts_.Merge();
  PutTable(0, 2'000, "newest");
  EXPECT_TRUE(IsDue());
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
}

TEST_F(FullMergerTest, AnEntryThatMustStayIsLeftToLinks) {
  MakeL1();
  PutTable(0, 1'500, "new");
  parts_.Put(FullKeyOf(1'600), std::string(40'000, 'v'));
  PutTable(2'000, 2'500, "new");
  const uint64_t left_behind = LeftBehind().table_id;
  while (TablesOfL0() != 0) MergeFully();
  EXPECT_EQ(LeftBehind().table_id, left_behind);
  ExpectKeys(0, 1'500, "new");
  EXPECT_EQ(parts_.Get(FullKeyOf(1'600)), std::string(40'000, 'v'));
  parts_.Reclaim();
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
}

TEST_F(FullMergerTest, AHiddenEntryThatMustStayIsMarkedByLinks) {
  // By the values of a memtable the log of the next one is chosen.
  for (const int round : {1, 2}) {
    for (int i = 0; i < 1'000; ++i) parts_.Put(FullKeyOf(i), std::string(900, 'v'));
    parts_.Put(FullKeyOf(round), "small");
    parts_.Flush();
    parts_.Merge();
  }
  PutTable(0, kFullKeys, "new");
  ASSERT_TRUE(IsDue()) << "by what the tables are";
  const uint64_t before = parts_.full_merger.merges();
  MergeFully();
  EXPECT_EQ(parts_.full_merger.merges(), before) << "L1 lies in a log that has large values";
  EXPECT_EQ(TablesOfL0(), 0u);
  parts_.Reclaim();
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  ExpectKeys(0, kFullKeys, "new");
}

TEST_F(FullMergerTest, AHiddenExtentIsGivenBackByLinks) {
  std::vector<std::pair<std::string, std::string>> all;
  for (int i = 0; i < 200; ++i) all.emplace_back(FullKeyOf(i), "loaded");
  all[7].second = std::string(20'000, 'x');  // its entry lies in the same chunks as the others
  test::PairSource records(all);
  IngestReport report;
  IngestOptions sorted;
  sorted.sorted = true;
  ASSERT_TRUE(parts_.bulk_loader.Load(&records, sorted, &report).ok());
  while (TablesOfL0() != 0) parts_.Merge();
  while (test::StoreParts::Worked(parts_.indexes.BuildStep())) {
  }
  PutTable(0, 200, "new");
  ASSERT_TRUE(IsDue()) << "by what the tables are";
  MergeFully();
  EXPECT_EQ(parts_.full_merger.merges(), 0u);
  EXPECT_EQ(TablesOfL0(), 0u);
  parts_.Reclaim();
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  ExpectKeys(0, 200, "new");
}

TEST_F(FullMergerTest, DamageIsNotCopied) {
  MakeL1();
  PutTable(0, 2'000, "new");
  const std::shared_ptr<const index::EntryIndex> tree =
      parts_.state().version->l0().front()->AsList()->tree();
  auto* entry = parts_.pool->As<format::EntryHeader>(tree->Find(FullKeyOf(700)));
  const_cast<char*>(entry->value().data())[1] ^= 1;
  const format::LeftBehind before = LeftBehind();
  MergeFully();
  EXPECT_EQ(LeftBehind().table_id, before.table_id) << "it came by links";
  EXPECT_EQ(TablesOfL0(), 0u);
  std::string value;
  EXPECT_TRUE(parts_.reader.Get({}, FullKeyOf(700), &value).IsCorruption());
  ExpectKeys(0, 700, "new");
  ExpectKeys(701, 2'000, "new");
}

TEST_F(FullMergerTest, OneThatIsDueWaitsForATableThatIsFlushed) {
  MakeL1();
  PutTable(0, 2'000, "new");
  parts_.Put(FullKeyOf(0), "newer0");
  EXPECT_TRUE(IsDue());
  EXPECT_FALSE(AwaitsFlush());
  parts_.SwitchMemTable();
  EXPECT_TRUE(AwaitsFlush());
  parts_.Flush();
  EXPECT_TRUE(IsDue());
  EXPECT_FALSE(AwaitsFlush());
}

/// In a pool without room for both.
class FullMergerInASmallPoolTest : public FullMergerTest {
 protected:
  FullMergerInASmallPoolTest()
      : FullMergerTest([](Options* options) {
          SmallBatches(options);
          options->pool.max_bytes = options->pool.initial_bytes;
        }) {}
};

TEST_F(FullMergerInASmallPoolTest, IsNotDueWhereTheCopiesWouldTakeTheRoomOfWrites) {
  MakeL1();
  const std::string value(200, 'v');
  PutTable(0, 2'000, value);
  parts_.Merge();
  PutTable(0, 2'000, value);
  EXPECT_FALSE(IsDue());
}

TEST_F(FullMergerInASmallPoolTest, OneThatFindsNoRoomComesToNothing) {
  const std::string value(400, 'v');
  PutTable(0, kFullKeys, value);
  parts_.Merge();
  PutTable(0, kFullKeys, value);
  const uint64_t used = parts_.pool->used_chunks();
  const std::vector<uint64_t> ids{parts_.state().version->l0().front()->id()};
  const Result<uint64_t> merged = parts_.full_merger.Run(ids);
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(*merged, 0u);
  EXPECT_EQ(parts_.pool->used_chunks(), used);
  EXPECT_TRUE(parts_.Verify().problems.empty()) << parts_.Verify().problems.front();
  ExpectKeys(0, kFullKeys, value);
}

}  // namespace
}  // namespace braid::compaction
