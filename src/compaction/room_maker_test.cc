#include "compaction/room_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/store_parts.h"

namespace braid::compaction {
namespace {

constexpr uint64_t kChunkBytes = 16u << 10;
constexpr uint64_t kRunBytes = 8 * kChunkBytes;

/// A pool that can't grow, full of small entries of which every other chunk's worth is deleted.
class RoomMakerTest : public ::testing::Test {
 protected:
  RoomMakerTest()
      : parts_([](Options* options) {
          options->pool.chunk_bytes = kChunkBytes;
          options->pool.initial_bytes = 96 * kChunkBytes;
          options->pool.max_bytes = 96 * kChunkBytes;
          options->log.shards = 1;
        }) {
    Fill();
  }

  static std::string KeyOf(int i) { return "key" + std::to_string(100000 + i); }
  void Fill() {
    const std::string value(1000, 'v');
    for (;; ++keys_) {
      if (parts_.pool->spare_chunks() < 24) break;
      parts_.Put(KeyOf(keys_), value);
    }
    parts_.Flush();
    while (!parts_.state().version->l0().empty()) parts_.Merge();
    parts_.Reclaim();
  }
  /// A write that has found no run of chunks for its value.
  void Ask(space::LargeValues::Scope* scope) {
    test::StoreParts::ExpectOk(scope->AskForRoom(kRunBytes - 100));
  }
  bool Step() { return test::StoreParts::Worked(parts_.room_maker.Step(&stuck_)); }
  void ExpectAllThere() {
    for (int i = 0; i < keys_; ++i) ASSERT_EQ(parts_.Get(KeyOf(i)).size(), 1000u) << i;
    parts_.Verify();
  }

  test::StoreParts parts_;
  int keys_ = 0;
  std::unordered_set<uint64_t> stuck_;
};

TEST_F(RoomMakerTest, WhereNobodyAsksThereIsNothingToDo) {
  EXPECT_FALSE(Step());
  EXPECT_TRUE(stuck_.empty());
}

TEST_F(RoomMakerTest, ARunOfChunksIsEmptiedForWhoAsks) {
  // Of the free chunks every other one is taken: there is room, but not side by side.
  std::vector<uint64_t> taken;
  format::LogChunkHeader header{};
  header.table_id = parts_.versions.Lock().next_table_id() + 100;
  while (parts_.pool->free_chunks() > 0) {
    const Result<uint64_t> chunk = parts_.pool->AllocateLogChunk(
        header, format::ChunkKind::kCopied, pool::AllocationClass::kBackground);
    ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
    taken.push_back(*chunk);
  }
  std::sort(taken.begin(), taken.end());
  std::vector<uint64_t> kept;
  for (size_t i = 0; i < taken.size(); ++i) {
    i % 2 == 0 ? parts_.pool->FreeChunk(taken[i]) : kept.push_back(taken[i]);
  }
  space::LargeValues::Scope scope(&parts_.large_values, {});
  Ask(&scope);
  EXPECT_FALSE(parts_.large_values.HasWantedRun());
  for (int i = 0; i < 40 && !parts_.large_values.HasWantedRun(); ++i) {
    const bool worked = Step();
    parts_.Reclaim();
    if (!worked) break;
  }
  EXPECT_TRUE(parts_.large_values.HasWantedRun());
  for (const uint64_t chunk : kept) parts_.pool->FreeChunk(chunk);
  ExpectAllThere();
}

TEST_F(RoomMakerTest, WhoNoLongerAsksNeedsNone) {
  {
    space::LargeValues::Scope scope(&parts_.large_values, {});
    Ask(&scope);
    EXPECT_EQ(parts_.large_values.WantedRun(), 8u);
  }
  EXPECT_EQ(parts_.large_values.WantedRun(), 0u);
  EXPECT_FALSE(Step());
  ExpectAllThere();
}

}  // namespace
}  // namespace braid::compaction
