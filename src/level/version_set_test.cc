#include "level/version_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "base/epoch.h"
#include "memtable/dram_memtable.h"
#include "support/test_pool.h"

namespace braid::level {
namespace {

constexpr uint64_t kL1 = level::Manifest::kL1Id;

class VersionSetTest : public ::testing::Test {
 protected:
  VersionSetTest() {
    options_.log.kind = LogKind::kIndexUnified;
    options_.memtable.kind = MemTableKind::kBTree;
    const VersionSet::Locked versions = versions_.Lock();
    const Status loaded = versions.manifest().Load();
    EXPECT_TRUE(loaded.ok()) << loaded.ToString();
    auto version = std::make_shared<level::Version>();
    version->levels.back() = {Table(versions.record().tables[0])};
    ReadState first;
    first.version = std::move(version);
    first.active = NewMemTable(kL1 + 1);
    versions.Begin(std::move(first), kL1 + 2);
  }

  std::shared_ptr<memtable::MemTable> NewMemTable(uint64_t id) {
    return std::make_shared<memtable::DramMemTable>(
        memtable::MemTable::Store{pool_.get(), &sequence_, &stalls_}, id, 1, options_);
  }
  std::shared_ptr<level::PmemTable> Table(const format::TableRecord& record) {
    return std::make_shared<level::PmemTable>(pool_.get(), record, true);
  }
  /// An empty table of L0, whose head leads to its end.
  format::TableRecord NewTable(const VersionSet::Locked& versions) {
    format::TableRecord record{};
    record.id = versions.NewTableId();
    const Result<uint32_t> head = versions.manifest().TakeHead();
    EXPECT_TRUE(head.ok()) << head.status().ToString();
    record.head = *head;
    format::TableHead links;
    for (uint64_t& link : links.links) link = format::EntryPtr::End().raw;
    void* place = pool_->At(format::kTableHeadsOffset + record.head * sizeof links);
    pool_->ops().Copy(place, &links, sizeof links);
    pool_->ops().Persist(place, sizeof links, media::Site::kOutside);
    return record;
  }
  /// What an open after a crash would read.
  format::ManifestState Durable() {
    level::Manifest manifest(pool_.get());
    const Status loaded = manifest.Load();
    EXPECT_TRUE(loaded.ok()) << loaded.ToString();
    return manifest.record();
  }

  Options options_;
  std::atomic<uint64_t> sequence_{0};
  base::Stalls stalls_;
  test::TestPool pool_{[](pool::PmemPool* pool) { return level::Manifest(pool).Create(); }};
  space::Reclaimer reclaimer_{pool_.get(), [] { return ~0ull; }, [] {}};
  VersionSet versions_{pool_.get(), &reclaimer_};
};

TEST_F(VersionSetTest, WhoReadsFindsOneStateOrTheNext) {
  const std::shared_ptr<memtable::MemTable> first = versions_.Lock().Keep()->active;
  const uint64_t merge_epoch = versions_.merge_epoch().Now();
  {
    const VersionSet::Locked versions = versions_.Lock();
    NextState next = versions.Next();
    next.SwitchMemTable(NewMemTable(versions.NewTableId()));
    const base::EpochGuard guard;
    EXPECT_EQ(versions_.shown().active, first) << "it is not shown yet";
    EXPECT_TRUE(versions_.shown().immutables.empty());
    versions.Show(std::move(next));
  }
  const base::EpochGuard guard;
  EXPECT_NE(versions_.shown().active, first);
  ASSERT_EQ(versions_.shown().immutables.size(), 1u);
  EXPECT_EQ(versions_.shown().immutables[0], first);
  EXPECT_NE(versions_.merge_epoch().Now(), merge_epoch);
  EXPECT_FALSE(index::MergeEpoch::AnyAtWork(versions_.merge_epoch().Now()));
}

TEST_F(VersionSetTest, AStateIsFreedWhenItsReadersHaveLeft) {
  const std::weak_ptr<const ReadState> before = versions_.Lock().Keep();
  {
    const VersionSet::Locked versions = versions_.Lock();
    versions.Show(versions.Next());
  }
  EXPECT_FALSE(before.expired()) << "a reader may stand on it";
  reclaimer_.ReclaimMemory();
  EXPECT_TRUE(before.expired());
}

TEST_F(VersionSetTest, WhoKeepsAStateKeepsItsTables) {
  std::shared_ptr<const ReadState> kept;
  {
    const base::EpochGuard guard;
    kept = versions_.shown().shared_from_this();
  }
  {
    const VersionSet::Locked versions = versions_.Lock();
    NextState next = versions.Next();
    next.ReplaceActive(NewMemTable(versions.NewTableId()));
    versions.Show(std::move(next));
  }
  reclaimer_.ReclaimMemory();
  EXPECT_EQ(kept->active->id(), kL1 + 1);
  EXPECT_EQ(versions_.Lock().Keep()->active->id(), kL1 + 2);
}

TEST_F(VersionSetTest, AHeadIsKeptForAsLongAsAnybodyHasItsList) {
  const VersionSet::Locked versions = versions_.Lock();
  std::shared_ptr<PmemTable> list = versions.state().version->KeepList(1);
  const uint32_t head = list->head_index();
  versions.KeepHead(list);
  versions.manifest().RemoveTable(list->id());
  for (int i = 0; i < 3; ++i) {
    const Result<uint32_t> other = versions.TakeHead();
    ASSERT_TRUE(other.ok());
    EXPECT_NE(*other, head) << "a reader looks at it";
  }
  // The state has it, too; nobody has another reference than these.
  const std::weak_ptr<PmemTable> alive = list;
  NextState next = versions.Next();
  next.ReplaceOldest(1, std::make_shared<PmemTable>(pool_.get(), list->record(), true));
  versions.Show(std::move(next));
  list.reset();
  reclaimer_.ReclaimMemory();
  ASSERT_TRUE(alive.expired());
  const Result<uint32_t> again = versions.TakeHead();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, head);
}

TEST_F(VersionSetTest, TablesAreNewestFirst) {
  const VersionSet::Locked versions = versions_.Lock();
  const format::TableRecord older = NewTable(versions);
  const format::TableRecord newer = NewTable(versions);
  EXPECT_LT(older.id, newer.id);
  for (const format::TableRecord& record : {older, newer}) {
    NextState next = versions.Next();
    next.AddNewest(Table(record));
    versions.AddTable(record);
    ASSERT_TRUE(versions.manifest().Commit().ok());
    versions.Show(std::move(next));
  }
  ASSERT_EQ(versions.state().version->l0().size(), 2u);
  EXPECT_EQ(versions.state().version->l0().front()->id(), newer.id);
  EXPECT_EQ(versions.state().version->l0().back()->id(), older.id);
  const format::ManifestState durable = Durable();
  ASSERT_EQ(durable.tables.size(), 3u);
  EXPECT_EQ(durable.tables[0].id, newer.id);
  EXPECT_EQ(durable.flushed_table_id, newer.id);
  EXPECT_EQ(durable.next_table_id, versions.next_table_id()) << "else an id is given out twice";

  const auto l1 = versions.bottom();
  NextState next = versions.Next();
  next.DropOldest(0);
  versions.Show(std::move(next));
  ASSERT_EQ(versions.state().version->l0().size(), 1u);
  EXPECT_EQ(versions.state().version->l0().front()->id(), newer.id);
  EXPECT_EQ(versions.bottom(), l1);
}

TEST_F(VersionSetTest, WhatWaitsIsInTheManifestWithItsGroup) {
  std::list<WaitingTable> tables(3);
  uint64_t last = 0;
  for (WaitingTable& table : tables) {
    std::list<WaitingTable> one;
    const VersionSet::Locked versions = versions_.Lock();
    table.record = NewTable(versions);
    table.record.max_sequence = table.record.id;
    table.touched.resize(1000);
    last = table.record.id;
    NextState next = versions.Next();
    next.AddNewest(Table(table.record));
    one.push_back(table);
    versions.AddWaiting(&one);
    versions.Show(std::move(next));
    EXPECT_TRUE(one.empty());
  }
  EXPECT_GE(pool_->memory_users().Sum(), 3 * 1000 * sizeof(uint64_t));
  EXPECT_EQ(Durable().tables.size(), 1u);
  EXPECT_EQ(versions_.Lock().RecordToCome().tables.size(), 4u);
  EXPECT_EQ(versions_.Lock().RecordToCome().flushed_table_id, last);
  EXPECT_TRUE(versions_.Lock().Waits(last));
  EXPECT_FALSE(versions_.Lock().Waits(last - 3));

  std::list<WaitingTable> committed;
  ASSERT_TRUE(versions_.Lock().CommitWaiting(2, &committed).ok());
  EXPECT_EQ(committed.size(), 2u);
  EXPECT_EQ(Durable().tables.size(), 3u);
  EXPECT_EQ(Durable().flushed_table_id, last - 1);
  EXPECT_EQ(Durable().last_sequence, last - 1);
  EXPECT_EQ(versions_.Lock().waiting().size(), 1u);
  EXPECT_FALSE(versions_.Lock().Waits(last - 1));
  EXPECT_TRUE(versions_.Lock().Waits(last));
  ASSERT_TRUE(versions_.Lock().CommitWaiting(1, &committed).ok());
  EXPECT_EQ(Durable().tables.size(), 4u);
  EXPECT_FALSE(versions_.Lock().Waits(last));
}

TEST_F(VersionSetTest, NoIdIsGivenOutTwice) {
  const uint64_t first = versions_.Lock().NewTableId();
  EXPECT_EQ(versions_.Lock().NewTableId(), first + 1);
  EXPECT_EQ(versions_.Lock().next_table_id(), first + 2);
}

}  // namespace
}  // namespace braid::level
