// Tests of what only a persistent memtable has: a list that is whole at every moment, readers that
// wait for one insertion, and the table that it becomes. What all kinds share: mem_table_test.cc.
#include "memtable/pmem_memtable.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::memtable {
namespace {

using index::LookupResult;
using LookupState = index::LookupResult::State;
using test::PendingOf;

constexpr uint32_t kShards = 4;

Options PoolOfRegions(uint32_t regions) {
  Options options = test::PoolOfSmallChunks(256 * regions);
  options.pool.regions = regions;
  return options;
}

class PmemMemTableTest : public ::testing::Test {
 protected:
  explicit PmemMemTableTest(uint32_t regions = 1)
      : pool_([](pool::PmemPool*) { return Status::OK(); }, PoolOfRegions(regions)),
        table_(std::make_shared<PmemMemTable>(MemTable::Store{pool_.get(), &sequence_, &stalls_}, 1,
                                              kShards, true)) {}

  void Put(std::string_view key, std::string_view value, uint32_t shard = 0) {
    log::PendingEntry pending = PendingOf(key, value);
    const Status s = table_->Write(shard, &pending, nullptr);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  LookupResult Find(std::string_view key, uint64_t sequence = index::kLatest) const {
    index::ReadView view;
    view.sequence = sequence;
    return table_->Get({key, base::Hash64(key)}, view);
  }
  /// The entries that a layer of a strand leads through.
  std::vector<const format::EntryHeader*> Layer(uint32_t strand, uint32_t layer) const {
    std::vector<const format::EntryHeader*> entries;
    index::Damage damage;
    const index::SkipList list(pool_.get(), table_->head(0), table_->head(strand), true);
    index::Tower tower = table_->head(layer == 0 ? 0 : strand);
    while (const format::EntryHeader* entry = list.Follow(tower, layer, &damage)) {
      entries.push_back(entry);
      tower = entry->links();
    }
    EXPECT_FALSE(damage) << "at " << damage.at;
    return entries;
  }
  /// Invariant 3.
  void ExpectSound(size_t entries) const {
    const auto all = Layer(0, 0);
    ASSERT_EQ(all.size(), entries);
    for (size_t i = 1; i < all.size(); ++i) ASSERT_TRUE(index::InOrder(*all[i - 1], *all[i])) << i;
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      for (uint32_t layer = 1; layer < format::kMaxHeight; ++layer) {
        std::vector<const format::EntryHeader*> expected;
        for (const auto* entry : all) {
          const bool here = pool_->StrandOf(pool_->OffsetOf(entry)) == strand;
          if (here && entry->height() > layer) expected.push_back(entry);
        }
        EXPECT_EQ(Layer(strand, layer), expected) << strand << " " << layer;
      }
    }
  }

  test::TestPool pool_;
  std::atomic<uint64_t> sequence_{0};
  base::Stalls stalls_;
  std::shared_ptr<PmemMemTable> table_;
};

class PmemMemTableOfRegionsTest : public PmemMemTableTest {
 protected:
  PmemMemTableOfRegionsTest() : PmemMemTableTest(2) {}
};

TEST_F(PmemMemTableTest, WritersSideBySideKeepTheListWhole) {
  constexpr int kWrites = 2000;
  std::vector<std::thread> writers;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    writers.emplace_back([this, shard] {
      for (int i = 0; i < kWrites; ++i) {
        Put("key" + std::to_string(i * 7919 % 500), std::to_string(shard), shard);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ExpectSound(kShards * kWrites);
  EXPECT_EQ(table_->max_sequence(), uint64_t{kShards} * kWrites);
}

TEST_F(PmemMemTableOfRegionsTest, UpperLayersLeadWithinARegion) {
  for (int i = 0; i < 600; ++i) {
    Put("key" + std::to_string(i * 7919 % 400), "value", static_cast<uint32_t>(i) % kShards);
  }
  ExpectSound(600);
  std::vector<log::PendingEntry> batch = {PendingOf("key1", "x"), PendingOf("key2", "y"),
                                          PendingOf("key1", "z")};
  bool is_torn = false;
  ASSERT_TRUE(table_->WriteBatch(1, batch, pool::AllocationClass::kWrite, &is_torn).ok());
  ExpectSound(603);
  EXPECT_EQ(Find("key1").sequence, 603u);
}

TEST_F(PmemMemTableTest, AViewFindsWhatHasDrawnItsNumber) {
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      const uint64_t now = sequence_.load();
      if (now == 0) continue;
      const LookupResult found = Find("key", now);  // all numbers are of this key
      ASSERT_EQ(found.state, LookupState::kFound);
      ASSERT_EQ(found.sequence, now);
      index::ReadView view;
      view.sequence = sequence_.load();
      const auto cursor = table_->NewCursor(view);
      cursor->SeekToFirst();
      ASSERT_TRUE(cursor->Valid());
      ASSERT_EQ(cursor->item().entry->sequence(), view.sequence);
    }
  });
  for (int i = 0; i < 5000; ++i) Put("key", "value");
  stop.store(true);
  reader.join();
}

TEST_F(PmemMemTableTest, WhatIsUsedIsWhatTheEntriesTake) {
  const std::string large(9'000, 'x');  // one a chunk
  for (int i = 0; i < 40; ++i) {
    Put("key" + std::to_string(i), i % 7 == 0 ? large : "v", static_cast<uint32_t>(i) % 3);
  }
  std::map<uint64_t, uint64_t> expected;
  for (const format::EntryHeader* entry : Layer(0, 0)) {
    expected[pool_->ChunkOf(pool_->OffsetOf(entry))] += entry->size();
  }
  std::map<uint64_t, uint64_t> used;
  for (const auto& [chunk, bytes] : table_->UsedBytes()) used[chunk] += bytes;
  EXPECT_EQ(used, expected);
}

/// The links, too: another thread's flush makes a table of them, and its fence waits for its own.
TEST_F(PmemMemTableTest, APutTakesOneFenceAndABatchTwo) {
  Put("a", "the first chunk takes fences of its own");
  const uint64_t before = pool_->ops().fences();
  Put("b", "1");
  EXPECT_EQ(pool_->ops().fences() - before, 1u);
  std::vector<log::PendingEntry> batch = {PendingOf("c", "2"), PendingOf("a", "3")};
  bool is_torn = false;
  ASSERT_TRUE(table_->WriteBatch(0, batch, pool::AllocationClass::kWrite, &is_torn).ok());
  EXPECT_EQ(pool_->ops().fences() - before, 3u);
  ExpectSound(4);
}

/// A table that knows one key.
class TableOf final : public index::SortedRun {
 public:
  TableOf(std::string key, uint64_t entries) : key_(std::move(key)), entries_(entries) {}
  uint64_t entries() const noexcept override { return entries_; }
  LookupResult Get(const index::LookupKey& key, const index::ReadView&) const noexcept override {
    LookupResult result;
    if (key.key == key_) result.state = LookupState::kDeleted;
    return result;
  }
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               LookupResult* out) const noexcept override {
    for (size_t i = 0; i < n; ++i) out[i] = Get(keys[i], view);
  }
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView&) const override {
    return nullptr;
  }

 private:
  std::string key_;
  uint64_t entries_;
};

TEST_F(PmemMemTableTest, WhoAsksItLateIsAnsweredByItsTable) {
  Put("a", "1");
  Put("b", "2");
  table_->Freeze();
  EXPECT_EQ(Find("b").state, LookupState::kFound);
  table_->Advance(State::kFlushing);
  table_->BecomeTable(std::make_shared<TableOf>("a", 2));
  // A merge may have led the list into another level, whose "b" is older than a newer table's.
  EXPECT_EQ(Find("b").state, LookupState::kAbsent);
  EXPECT_EQ(Find("a").state, LookupState::kDeleted);
  index::LookupKey keys[] = {{"a", base::Hash64("a")}, {"b", base::Hash64("b")}};
  LookupResult results[2];
  index::ReadView view;
  view.sequence = 2;
  table_->GetMany(keys, 2, view, results);
  EXPECT_EQ(results[0].state, LookupState::kDeleted);
  EXPECT_EQ(results[1].state, LookupState::kAbsent);
}

}  // namespace
}  // namespace braid::memtable
