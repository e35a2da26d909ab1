// Levels of several lists: what a rewrite makes, what it leaves, and what becomes of that.
#include "compaction/list_rewriter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "log/log_reader.h"
#include "support/environment.h"
#include "support/store_parts.h"

namespace braid::compaction {
namespace {

using format::EntryHeader;
using test::StoreParts;

class ListRewriterTest : public ::testing::Test {
 protected:
  /// `most_bytes` of a pool that can't grow; 0: it can.
  explicit ListRewriterTest(uint64_t most_bytes = 0)
      : parts_([most_bytes](Options* options) {
          options->pool.max_bytes = most_bytes;
          options->compaction.kind = MergeKind::kRewrite;
          options->compaction.recluster_share = 0.0;
          options->log.kind = LogKind::kWriteAhead;
          options->cache.index = false;
          options->levels.growth = 10;
          options->levels.per_group = 1;
          options->levels.count = 4;
          options->levels.l1_bytes = 4 << 10;
          options->levels.list_bytes = 1024;
          options->levels.reference_bytes = 32;
        }) {}

  static std::string Key(int i) { return "key" + std::to_string(10'000 + i); }
  /// Of 100 bytes, which are referred to.
  static std::string Value(int i, char tag) { return std::string(100, tag) + std::to_string(i); }
  void Fill(int from, int to, char tag = 'a') {
    for (int i = from; i < to; ++i) parts_.Put(Key(i), Value(i, tag));
    parts_.Flush();
    parts_.Reclaim();  // the size of lists follows that of the pool
  }
  bool Step(uint32_t from = 0, bool whole = true) {
    Merger::Merged merged{.tables = 0};
    return parts_.Worked(parts_.rewriter.Step(from, whole, &merged));
  }
  const level::Level& LevelOf(size_t level) const { return parts_.state().version->levels[level]; }
  std::vector<uint64_t> IdsOf(size_t level) const {
    std::vector<uint64_t> ids;
    for (const auto& table : LevelOf(level)) ids.push_back(table->id());
    return ids;
  }
  uint64_t EntriesOf(size_t level) const {
    uint64_t entries = 0;
    for (const auto& table : LevelOf(level)) entries += table->entries();
    return entries;
  }
  const EntryHeader* NodeOf(size_t level, const std::string& key) const {
    for (const auto& table : LevelOf(level)) {
      const index::LookupResult found = table->Get({key, base::Hash64(key)}, index::ReadView{});
      if (found.has_version()) return parts_.pool->EntryAt(found.value.offset());
    }
    return nullptr;
  }
  size_t Originals() const {
    const auto versions = parts_.versions.Lock();
    size_t count = 0;
    for (const auto& table : versions.record().tables) {
      count += (table.flags & format::kTableOfOriginals) != 0 ? 1 : 0;
    }
    return count;
  }
  /// Where the value of a key lies that a node of the level refers to.
  uint64_t CarrierOf(size_t level, const std::string& key) const {
    const EntryHeader* const node = NodeOf(level, key);
    return node == nullptr ? 0 : parts_.pool->CarrierOf(*node);
  }
  std::unordered_set<uint64_t> ChunksOfExtent(uint64_t extent) const {
    std::unordered_set<uint64_t> chunks;
    for (uint64_t i = 0; i < parts_.pool->ExtentAt(extent)->chunks; ++i) {
      chunks.insert(parts_.pool->ChunkOf(extent) + i);
    }
    return chunks;
  }
  bool IsBegun() const {
    const auto versions = parts_.versions.Lock();
    const auto& tables = versions.record().tables;
    return std::any_of(tables.begin(), tables.end(), [](const auto& table) {
      return (table.flags & format::kTableIsBegun) != 0;
    });
  }
  void ExpectSound() {
    const VerifyReport report = parts_.Verify();
    EXPECT_TRUE(report.problems.empty()) << report.problems[0];
  }

  test::StoreParts parts_;
};

TEST_F(ListRewriterTest, NodesReferToValuesThatStay) {
  Fill(0, 4);
  parts_.Put(Key(4), "short");
  parts_.Flush();
  ASSERT_TRUE(Step());
  EXPECT_TRUE(LevelOf(0).empty());
  const EntryHeader* const node = NodeOf(1, Key(1));
  ASSERT_NE(node, nullptr);
  ASSERT_TRUE(node->has(format::kValueElsewhere));
  const uint64_t carrier = parts_.pool->CarrierOf(*node);
  ASSERT_NE(carrier, 0u);
  EXPECT_EQ(parts_.pool->EntryAt(carrier)->state(), format::kStateCarrier);
  EXPECT_EQ(parts_.pool->EntryAt(carrier)->value(), Value(1, 'a'));
  const EntryHeader* const copy = NodeOf(1, Key(4));
  ASSERT_NE(copy, nullptr);
  EXPECT_FALSE(copy->has(format::kValueElsewhere));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'a'));
  EXPECT_EQ(parts_.Get(Key(4)), "short");
  EXPECT_EQ(Originals(), 0u);
  ExpectSound();
}

TEST_F(ListRewriterTest, ListsAreOfBoundedSizeAndLieApart) {
  Fill(0, 300);
  ASSERT_TRUE(Step());
  ASSERT_GT(LevelOf(1).size(), 5u);
  EXPECT_EQ(EntriesOf(1), 300u);
  for (size_t i = 1; i < LevelOf(1).size(); ++i) {
    EXPECT_LT(LevelOf(1)[i - 1]->AsList()->range().last, LevelOf(1)[i]->AsList()->range().first);
  }
  for (int i = 0; i < 300; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'a'));
  ExpectSound();
}

TEST_F(ListRewriterTest, WhatWasOverwrittenGoesWithItsCarriers) {
  Fill(0, 100);
  ASSERT_TRUE(Step());
  Fill(0, 100, 'b');
  ASSERT_TRUE(Step());
  EXPECT_EQ(EntriesOf(1), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'b'));
  for (uint64_t chunk = 0; chunk < parts_.pool->chunks(); ++chunk) {
    const format::ChunkKind kind = parts_.pool->StateOf(chunk).kind();
    if (!format::HoldsEntries(kind) || kind == format::ChunkKind::kWriteAhead) continue;
    log::ForEachEntry(*parts_.pool, chunk, [&](uint64_t, const EntryHeader& entry) {
      const bool is_first = !entry.has(format::kValueElsewhere) && entry.value()[0] == 'a';
      EXPECT_FALSE(is_first && entry.is_kept());
    });
  }
  ExpectSound();
}

TEST_F(ListRewriterTest, AStepOverL0EndsAndIsGoneOnWith) {
  Fill(0, 2000);
  Fill(0, 2000, 'b');
  ASSERT_TRUE(Step(0, false));
  EXPECT_TRUE(IsBegun());
  EXPECT_EQ(LevelOf(0).size(), 2u);
  EXPECT_GT(EntriesOf(1), 0u);
  EXPECT_LT(EntriesOf(1), 2000u);
  Fill(0, 10, 'c');  // of the next round
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(parts_.Get(Key(i)), Value(i, i < 10 ? 'c' : 'b'));
  ExpectSound();
  while (IsBegun()) ASSERT_TRUE(Step(0, false));
  EXPECT_EQ(LevelOf(0).size(), 1u);
  EXPECT_EQ(EntriesOf(1), 2000u);
  ExpectSound();
  ASSERT_TRUE(Step());
  EXPECT_TRUE(LevelOf(0).empty());
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(parts_.Get(Key(i)), Value(i, i < 10 ? 'c' : 'b'));
  ExpectSound();
}

TEST_F(ListRewriterTest, AListThatMeetsNoneGoesDownAsItIs) {
  Fill(0, 100);
  ASSERT_TRUE(Step());
  const std::vector<uint64_t> before = IdsOf(1);
  const uint64_t used = parts_.pool->used_chunks();
  ASSERT_TRUE(Step(1));
  EXPECT_EQ(EntriesOf(1), 0u);
  EXPECT_EQ(IdsOf(2), before);
  EXPECT_EQ(parts_.pool->used_chunks(), used);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'a'));
  ExpectSound();
}

// A new list must not reach over one that stays.
TEST_F(ListRewriterTest, WhatLiesBetweenTablesThatLieApartIsReadWithThem) {
  Fill(400, 402);
  ASSERT_TRUE(Step());
  Fill(0, 2, 'b');
  Fill(800, 802, 'c');
  ASSERT_TRUE(Step());
  for (size_t i = 1; i < LevelOf(1).size(); ++i) {
    EXPECT_LT(LevelOf(1)[i - 1]->AsList()->range().last, LevelOf(1)[i]->AsList()->range().first);
  }
  EXPECT_EQ(parts_.Get(Key(400)), Value(400, 'a'));
  EXPECT_EQ(parts_.Get(Key(1)), Value(1, 'b'));
  EXPECT_EQ(parts_.Get(Key(800)), Value(800, 'c'));
  ExpectSound();
}

TEST_F(ListRewriterTest, ListsGoDownIntoThoseThatTheyMeet) {
  Fill(0, 100);
  ASSERT_TRUE(Step());
  ASSERT_TRUE(Step(1));
  ASSERT_TRUE(Step(2));
  Fill(50, 150, 'b');
  for (int i = 0; i < 20; ++i) parts_.Delete(Key(i));
  parts_.Flush();
  ASSERT_TRUE(Step());
  EXPECT_EQ(EntriesOf(1), 120u);  // deletes hide what is below
  ASSERT_TRUE(Step(1));
  ASSERT_TRUE(Step(2));
  EXPECT_EQ(EntriesOf(3), 130u);
  for (int i = 0; i < 150; ++i) {
    EXPECT_EQ(parts_.Get(Key(i)), i < 20 ? "-" : Value(i, i < 50 ? 'a' : 'b'));
  }
  ExpectSound();
}

TEST_F(ListRewriterTest, VersionsThatViewsSeeStayUntilTheyHaveGone) {
  Fill(0, 20);
  auto snapshot = parts_.reader.GetSnapshot();
  Fill(0, 20, 'b');
  for (int i = 0; i < 5; ++i) parts_.Delete(Key(i));
  parts_.Flush();
  ASSERT_TRUE(Step());
  ASSERT_TRUE(Step(1));
  ASSERT_TRUE(Step(2));
  std::string value;
  ReadOptions at_snapshot;
  at_snapshot.snapshot = snapshot.get();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(parts_.reader.Get(at_snapshot, Key(i), &value).ok());
    EXPECT_EQ(value, Value(i, 'a'));
    EXPECT_EQ(parts_.Get(Key(i)), i < 5 ? "-" : Value(i, 'b'));
  }
  EXPECT_FALSE(parts_.Worked(parts_.rewriter.DropKept(parts_.Asked())));
  snapshot.reset();
  while (parts_.Worked(parts_.rewriter.DropKept(parts_.Asked()))) {
  }
  EXPECT_EQ(EntriesOf(3), 15u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(parts_.Get(Key(i)), i < 5 ? "-" : Value(i, 'b'));
  ExpectSound();
}

TEST_F(ListRewriterTest, ChunksAreEmptiedByListsThatReferToThem) {
  Fill(0, 400);
  ASSERT_TRUE(Step());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 400; ++i) {
      if (i % 10 != 0) parts_.Put(Key(i), Value(i, static_cast<char>('b' + round)));
    }
    parts_.Flush();
    ASSERT_TRUE(Step());
  }
  parts_.Reclaim();
  const uint64_t before = parts_.pool->used_chunks();
  bool any = false;
  while (parts_.Worked(parts_.rewriter.Collect(parts_.Asked()))) any = true;
  EXPECT_TRUE(any);
  parts_.Reclaim();
  EXPECT_LT(parts_.pool->used_chunks(), before);
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(parts_.Get(Key(i)), Value(i, i % 10 == 0 ? 'a' : 'd'));
  }
  ExpectSound();
}

TEST_F(ListRewriterTest, LargeValuesKeepTheirExtents) {
  const std::string large(20'000, 'x');  // chunks are of 16 KB
  parts_.Put(Key(1), large);
  Fill(2, 5);
  ASSERT_TRUE(Step());
  ASSERT_TRUE(Step(1));
  EXPECT_EQ(parts_.Get(Key(1)), large);
  ExpectSound();
  Fill(1, 2, 'b');
  const uint64_t used = parts_.pool->used_chunks();
  ASSERT_TRUE(Step());
  ASSERT_TRUE(Step(1));
  parts_.Reclaim();
  EXPECT_LT(parts_.pool->used_chunks(), used);
  EXPECT_EQ(parts_.Get(Key(1)), Value(1, 'b'));
  ExpectSound();
}

TEST_F(ListRewriterTest, LargeValuesMoveWhereTheirChunksAreEmptied) {
  const std::string large(20'000, 'x');  // chunks are of 16 KB
  parts_.Put(Key(1), large);
  Fill(2, 5);
  ASSERT_TRUE(Step());
  const uint64_t carrier = CarrierOf(1, Key(1));
  ASSERT_NE(carrier, 0u);
  const uint64_t extent = parts_.pool->ExtentOf(carrier);
  ASSERT_NE(extent, 0u);
  const std::unordered_set<uint64_t> emptied = ChunksOfExtent(extent);
  ASSERT_TRUE(StoreParts::Worked(parts_.rewriter.MoveAway({carrier}, emptied)));
  parts_.Reclaim();
  for (const uint64_t chunk : emptied) {
    EXPECT_EQ(parts_.pool->StateOf(chunk).kind(), format::ChunkKind::kFree);
  }
  EXPECT_EQ(parts_.Get(Key(1)), large);
  ExpectSound();
  // The node that owns the value becomes the carrier of the next one.
  EXPECT_EQ(CarrierOf(1, Key(1)), 0u);
  Fill(3, 4, 'b');
  ASSERT_TRUE(Step());
  const uint64_t next = CarrierOf(1, Key(1));
  ASSERT_NE(next, 0u);
  const uint64_t moved = parts_.pool->ExtentOf(next);
  ASSERT_NE(moved, 0u);
  EXPECT_EQ(parts_.Get(Key(1)), large);
  Fill(0, 3, 'b');
  ASSERT_TRUE(Step());
  parts_.Reclaim();
  EXPECT_EQ(parts_.pool->ExtentAt(moved), nullptr);
  EXPECT_EQ(parts_.Get(Key(1)), Value(1, 'b'));
  ExpectSound();
}

TEST_F(ListRewriterTest, AVersionDoesNotHideItself) {
  Fill(0, 2000);
  ASSERT_TRUE(Step(0, false));
  ASSERT_TRUE(IsBegun());
  const uint64_t before = EntriesOf(1);
  EXPECT_FALSE(StoreParts::Worked(parts_.rewriter.DropHidden()));
  EXPECT_EQ(EntriesOf(1), before);
  while (IsBegun()) ASSERT_TRUE(Step(0, false));
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(parts_.Get(Key(i)), Value(i, 'a'));
  ExpectSound();
}

TEST_F(ListRewriterTest, SmallNeighboursBecomeOneListWhereHeadsAreShort) {
  Fill(0, 800);
  ASSERT_TRUE(Step());
  const size_t before = LevelOf(1).size();
  ASSERT_GE(4 * before, 3 * parts_.versions.Lock().manifest().MostLists());
  Fill(0, 1, 'b');
  ASSERT_TRUE(Step());
  EXPECT_LE(LevelOf(1).size(), before - 2);
  EXPECT_EQ(EntriesOf(1), 800u);
  for (int i = 0; i < 800; ++i) ASSERT_EQ(parts_.Get(Key(i)), Value(i, i == 0 ? 'b' : 'a'));
  ExpectSound();
}

TEST_F(ListRewriterTest, WhatAViewSeesIsNotHidden) {
  Fill(0, 50);
  ASSERT_TRUE(Step());
  auto snapshot = parts_.reader.GetSnapshot();
  Fill(0, 50, 'b');
  EXPECT_FALSE(StoreParts::Worked(parts_.rewriter.DropHidden()));
  snapshot.reset();
  EXPECT_TRUE(StoreParts::Worked(parts_.rewriter.DropHidden()));
  EXPECT_EQ(EntriesOf(1), 0u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'b'));
  ExpectSound();
}

/// In a pool that can't grow.
class FullPoolRewriterTest : public ListRewriterTest {
 protected:
  FullPoolRewriterTest() : ListRewriterTest(256 * (16u << 10)) {}
  ~FullPoolRewriterTest() override { GiveBack(); }

  /// As a table would that nobody can merge.
  void TakeAllBut(uint64_t free) {
    format::LogChunkHeader header{};
    header.table_id = parts_.versions.Lock().next_table_id() + 100'000;
    while (parts_.pool->free_chunks() > free) {
      const Result<uint64_t> chunk = parts_.pool->AllocateLogChunk(
          header, format::ChunkKind::kCopied, pool::AllocationClass::kBackground);
      ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
      taken_.push_back(*chunk);
    }
  }
  void GiveBack() {
    for (const uint64_t chunk : taken_) parts_.pool->FreeChunk(chunk);
    taken_.clear();
  }

 private:
  std::vector<uint64_t> taken_;
};

TEST_F(FullPoolRewriterTest, AStepLeavesWhatDeletesNeed) {
  Fill(0, 100);
  TakeAllBut(6);
  const uint64_t used = parts_.pool->used_chunks();
  EXPECT_FALSE(Step());
  EXPECT_EQ(LevelOf(0).size(), 1u);
  EXPECT_EQ(parts_.pool->used_chunks(), used);
  GiveBack();
  ASSERT_TRUE(Step());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'a'));
  ExpectSound();
}

// A list that a step over L0 has written and one that it has not come to yet are neighbours. As one
// list they would be read from where the step goes on, and go as a whole.
TEST_F(FullPoolRewriterTest, NeighboursOnBothSidesOfAStepOverL0StayApart) {
  test::Random random(7);
  std::map<std::string, std::string> model;
  const auto fill = [&](uint64_t keys) {
    for (; keys > 0; --keys) {
      const std::string key = Key(static_cast<int>(random.Below(2000)));
      model[key] = std::string(random.Below(200), static_cast<char>('a' + random.Below(26)));
      parts_.Put(key, model[key]);
    }
    parts_.Flush();
    parts_.Reclaim();
  };
  fill(1500);
  ASSERT_TRUE(Step());
  uint64_t steps = 0;
  for (int round = 0; round < 60; ++round) {
    for (uint64_t tables = random.Between(1, 8); tables > 0; --tables) fill(random.Between(10, 60));
    // Where there is little room a step ends early.
    TakeAllBut(random.Between(8, 40));
    while (Step(0, false)) {
      ++steps;
      if (!IsBegun()) break;
      parts_.Reclaim();
    }
    GiveBack();
    parts_.Reclaim();
    while (IsBegun()) ASSERT_TRUE(Step(0, false));
    for (const auto& [key, value] : model) ASSERT_EQ(parts_.Get(key), value) << key;
  }
  EXPECT_GT(steps, 0u);
  ExpectSound();
}

TEST_F(FullPoolRewriterTest, WhatDeletesHideGoesWithoutRoom) {
  Fill(0, 400);
  ASSERT_TRUE(Step());
  ASSERT_TRUE(Step(1));
  ASSERT_TRUE(Step(2));
  for (int i = 0; i < 350; ++i) parts_.Delete(Key(i));
  parts_.Flush();
  parts_.Reclaim();
  TakeAllBut(1);
  ASSERT_TRUE(Step());
  EXPECT_TRUE(LevelOf(0).empty());
  EXPECT_LT(EntriesOf(3), 400u);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(parts_.Get(Key(i)), i < 350 ? "-" : Value(i, 'a'));
  GiveBack();
  ExpectSound();
}

TEST_F(FullPoolRewriterTest, WhatNewerTablesHideNeedsNoRoom) {
  for (int i = 0; i < 2000; ++i) parts_.Put(Key(i), "short");  // which is copied
  parts_.Flush();
  ASSERT_TRUE(Step(0, false));
  ASSERT_TRUE(IsBegun());
  for (int i = 0; i < 2000; ++i) parts_.Delete(Key(i));
  parts_.Flush();
  parts_.Reclaim();
  TakeAllBut(0);
  ASSERT_TRUE(Step());
  EXPECT_TRUE(LevelOf(0).empty());
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(parts_.Get(Key(i)), "-");
  GiveBack();
  ExpectSound();
}

TEST_F(FullPoolRewriterTest, ALargeValueThatFindsNoRoomLeavesNothing) {
  const std::string large(20'000, 'x');
  parts_.Put(Key(1), large);
  parts_.Put(Key(2), large);
  parts_.Flush();
  ASSERT_TRUE(Step());
  parts_.Reclaim();
  const std::vector<uint64_t> carriers = {CarrierOf(1, Key(1)), CarrierOf(1, Key(2))};
  std::unordered_set<uint64_t> emptied;
  for (const uint64_t carrier : carriers) {
    emptied.merge(ChunksOfExtent(parts_.pool->ExtentOf(carrier)));
  }
  TakeAllBut(4);
  EXPECT_FALSE(StoreParts::Worked(parts_.rewriter.MoveAway(carriers, emptied)));
  EXPECT_EQ(parts_.pool->free_chunks(), 4u);
  EXPECT_EQ(parts_.Get(Key(2)), large);
  GiveBack();
  EXPECT_TRUE(StoreParts::Worked(parts_.rewriter.MoveAway(carriers, emptied)));
  EXPECT_EQ(parts_.Get(Key(1)), large);
  EXPECT_EQ(parts_.Get(Key(2)), large);
  ExpectSound();
}

/// Keys of an even number leave the first list of L1.
class LeavingTest : public ListRewriterTest {
 protected:
  void SetUp() override {
    Fill(0, 60);
    ASSERT_TRUE(Step());
    list_ = level::ListOf(LevelOf(1).front());
    ASSERT_GT(list_->entries(), 3u);
  }
  ListRewriter::Leaving Evens(std::function<Result<bool>()> before_commit) {
    const auto is_even = [this](const EntryHeader& newest) {
      leaves_.emplace_back(newest.key());
      return (newest.key().back() - '0') % 2 == 0;
    };
    return {.has = is_even, .before_commit = std::move(before_commit), .must_gain = false};
  }
  std::shared_ptr<level::PmemTable> list_;
  std::vector<std::string> leaves_;  // that were asked for
};

TEST_F(LeavingTest, WhatStaysIsWrittenAnewBeforeTheRestGoes) {
  const uint64_t entries = list_->entries();
  bool asked = false;
  const Result<bool> gone = parts_.rewriter.LetGo(list_, Evens([&]() -> Result<bool> {
                                                    asked = true;
                                                    EXPECT_EQ(leaves_.size(), entries);
                                                    EXPECT_EQ(parts_.Get(Key(0)), Value(0, 'a'));
                                                    return true;
                                                  }));
  ASSERT_TRUE(gone.ok()) << gone.status().ToString();
  EXPECT_TRUE(*gone && asked);
  EXPECT_EQ(EntriesOf(1), 60 - (entries + 1) / 2);
  for (int i = 0; i < 60; ++i) {
    const bool left = i < static_cast<int>(entries) && i % 2 == 0;
    EXPECT_EQ(parts_.Get(Key(i)), left ? "-" : Value(i, 'a')) << i;
  }
  EXPECT_EQ(Originals(), 0u);
  ExpectSound();
}

TEST_F(LeavingTest, WhereTheyAreNotTakenNothingHasChanged) {
  const std::vector<uint64_t> ids = IdsOf(1);
  parts_.Reclaim();
  const uint64_t used = parts_.pool->used_chunks();
  const Result<bool> refused =
      parts_.rewriter.LetGo(list_, Evens([]() -> Result<bool> { return false; }));
  ASSERT_TRUE(refused.ok());
  EXPECT_FALSE(*refused);
  const Result<bool> failed = parts_.rewriter.LetGo(
      list_, Evens([]() -> Result<bool> { return Status::IOError("it is broken"); }));
  EXPECT_TRUE(failed.status().IsIOError());
  EXPECT_EQ(IdsOf(1), ids);
  EXPECT_EQ(parts_.pool->used_chunks(), used);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(parts_.Get(Key(i)), Value(i, 'a'));
  ExpectSound();
}

TEST_F(LeavingTest, AListOfWhichAllLeaveTakesNoChunk) {
  parts_.Reclaim();
  const uint64_t used = parts_.pool->used_chunks();
  std::string last(list_->range().last);
  const ListRewriter::Leaving all{.has = [](const EntryHeader&) { return true; },
                                  .before_commit = [&]() -> Result<bool> {
                                    EXPECT_EQ(parts_.pool->used_chunks(), used);
                                    return true;
                                  }};
  EXPECT_TRUE(StoreParts::Worked(parts_.rewriter.LetGo(list_, all)));
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(parts_.Get(Key(i)), Key(i) <= last ? "-" : Value(i, 'a')) << i;
  }
  parts_.Reclaim();
  EXPECT_LE(parts_.pool->used_chunks(), used);
  ExpectSound();
}

TEST_F(ListRewriterTest, AStepThatIsStoppedChangesNothing) {
  // As many entries as there are between two looks, and not as many keys as a step takes.
  for (int i = 0; i < 20; ++i) Fill(0, 40);
  const uint64_t used = parts_.pool->used_chunks();
  parts_.stop_merges.store(true);
  EXPECT_FALSE(Step());
  parts_.stop_merges.store(false);
  EXPECT_EQ(LevelOf(0).size(), 20u);
  EXPECT_EQ(EntriesOf(1), 0u);
  EXPECT_EQ(parts_.pool->used_chunks(), used);
  ExpectSound();
}

}  // namespace
}  // namespace braid::compaction
