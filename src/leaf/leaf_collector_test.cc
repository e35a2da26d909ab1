// Which chunks are emptied, and what becomes of the entries in them.
#include "leaf/leaf_collector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/leaf_parts.h"

namespace braid::leaf {
namespace {

using format::ChunkKind;

class LeafCollectorTest : public ::testing::Test {
 protected:
  void Make(const test::LeafParts::Change& change) {
    parts_ = std::make_unique<test::LeafParts>(change);
  }
  /// Entries of so many bytes; all but each `every`th are deleted again.
  void FillSparsely(int keys, size_t bytes, int every) {
    for (int i = 0; i < keys; ++i) parts_->Put(Key(i), Value(i, bytes));
    for (int i = 0; i < keys; ++i) {
      if (i % every != 0) parts_->Delete(Key(i));
    }
    parts_->reclaimer.Reclaim(true);
  }
  void ExpectEach(int keys, size_t bytes, int every) {
    for (int i = 0; i < keys; ++i) {
      EXPECT_EQ(parts_->Get(Key(i)), i % every == 0 ? Value(i, bytes) : "-") << i;
    }
    EXPECT_EQ(parts_->Problems(), "");
  }
  static std::string Key(int i) { return "key" + std::to_string(1000 + i); }
  static std::string Value(int i, size_t bytes) {
    return std::string(bytes, static_cast<char>('a' + i % 26));
  }

  std::unique_ptr<test::LeafParts> parts_ = std::make_unique<test::LeafParts>();
};

TEST_F(LeafCollectorTest, WhatIsLiveInSparseChunksIsCopiedTogether) {
  FillSparsely(200, 1000, 5);
  const uint64_t before = parts_->ChunksOf(ChunkKind::kLog);
  const uint64_t moved = parts_->Find(Key(0));
  ASSERT_GE(parts_->collector.SparseChunks().size(), 8u);
  EXPECT_TRUE(parts_->collector.CollectStep(true));
  EXPECT_NE(parts_->Find(Key(0)), moved);
  EXPECT_TRUE(parts_->reclaimer.Reclaim(false));
  EXPECT_LT(parts_->ChunksOf(ChunkKind::kLog), before / 2);
  ExpectEach(200, 1000, 5);
}

TEST_F(LeafCollectorTest, WhereThereIsRoomNothingIsCopiedUnasked) {
  FillSparsely(200, 1000, 5);
  const uint64_t place = parts_->Find(Key(0));
  EXPECT_FALSE(parts_->collector.CollectStep(false));
  EXPECT_EQ(parts_->Find(Key(0)), place);
}

TEST_F(LeafCollectorTest, AnEntryWithALargeValueStays) {
  const std::string large(20000, 'v');
  for (int i = 0; i < 40; ++i) {
    parts_->Put("large" + std::to_string(i), large);
    for (int k = 0; k < 16; ++k) parts_->Put("small", Value(k, 1000));
  }
  const uint64_t place = parts_->Find("large0");
  ASSERT_GE(parts_->collector.SparseChunks().size(), 20u);
  EXPECT_FALSE(parts_->collector.CollectStep(true));
  EXPECT_EQ(parts_->Find("large0"), place);
  EXPECT_EQ(parts_->Get("large0"), large);
}

TEST_F(LeafCollectorTest, ACollectionThatGainedNothingIsNotRepeated) {
  Make([](Options* options) { options->compaction.gc_live_ratio = 0.7; });
  // One to a chunk, of which it takes half.
  for (int i = 0; i < 20; ++i) parts_->Put(Key(i), Value(i, 8190));
  ASSERT_GE(parts_->collector.SparseChunks().size(), 19u);
  EXPECT_TRUE(parts_->collector.CollectStep(true));
  EXPECT_TRUE(parts_->reclaimer.Reclaim(false));
  EXPECT_FALSE(parts_->collector.CollectStep(true)) << "it would be the same again";
  const uint64_t place = parts_->Find(Key(0));
  EXPECT_FALSE(parts_->collector.CollectStep(true));
  EXPECT_EQ(parts_->Find(Key(0)), place);
  parts_->Delete(Key(1));
  EXPECT_TRUE(parts_->collector.CollectStep(true)) << "less of it is live";
}

TEST_F(LeafCollectorTest, RoomIsMadeForAValueThatIsAskedFor) {
  Make([](Options* options) {
    options->pool.initial_bytes = options->pool.max_bytes = 64 * options->pool.chunk_bytes;
  });
  FillSparsely(100, 7000, 2);  // two to a chunk, one of which is left
  constexpr uint64_t kWanted = 20;
  const uint64_t bytes = (kWanted - 1) * parts_->pool->chunk_bytes();
  ASSERT_EQ(parts_->pool->ExtentChunks(bytes), kWanted);
  ASSERT_FALSE(parts_->pool->HasRun(kWanted));
  parts_->collector.MakeRoom();
  EXPECT_FALSE(parts_->pool->HasRun(kWanted)) << "nobody asks for it";
  log::PendingEntry pending;
  space::LargeValues::Scope large(&parts_->large_values, {&pending, 1});
  ASSERT_TRUE(large.AskForRoom(bytes).ok());
  parts_->collector.MakeRoom();
  EXPECT_TRUE(parts_->pool->HasRun(kWanted));
  ExpectEach(100, 7000, 2);
}

}  // namespace
}  // namespace braid::leaf
