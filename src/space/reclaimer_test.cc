#include "space/reclaimer.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "support/test_pool.h"

namespace braid::space {
namespace {

class ReclaimerTest : public ::testing::Test {
 protected:
  pool::ChunkId Chunk() {
    auto chunk =
        pool_->AllocateLogChunk({}, format::ChunkKind::kLog, pool::AllocationClass::kWrite);
    EXPECT_TRUE(chunk.ok()) << chunk.status().ToString();
    return {*chunk, pool_->StateOf(*chunk).generation()};
  }
  bool IsFree(const pool::ChunkId& chunk) const {
    return pool_->StateOf(chunk.chunk).kind() == format::ChunkKind::kFree;
  }
  bool Reclaim(bool in_doubt = false) {
    Result<bool> worked = reclaimer_.Reclaim(in_doubt);
    EXPECT_TRUE(worked.ok()) << worked.status().ToString();
    return worked.ok() && *worked;
  }

  test::TestPool pool_;
  uint64_t oldest_pin_ = ~0ull;
  int wakes_ = 0;
  Reclaimer reclaimer_{pool_.get(), [this] { return oldest_pin_; }, [this] { ++wakes_; }};
};

TEST_F(ReclaimerTest, WithoutViewsAllIsGivenBackAtOnce) {
  EXPECT_FALSE(Reclaim());
  const pool::ChunkId chunk = Chunk();
  const pool::ChunkId other = Chunk();
  reclaimer_.Retire({.chunks = {chunk}, .extents = {}});
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(reclaimer_.HasRetired());
  EXPECT_TRUE(reclaimer_.IsRetired(chunk));
  EXPECT_FALSE(reclaimer_.IsRetired(other));
  EXPECT_FALSE(IsFree(chunk));
  EXPECT_TRUE(Reclaim());
  EXPECT_TRUE(IsFree(chunk));
  EXPECT_FALSE(IsFree(other));
  EXPECT_FALSE(reclaimer_.HasRetired());
  EXPECT_EQ(reclaimer_.times(), 1u);
  EXPECT_EQ(reclaimer_.chunks_given_back(), 1u);
}

TEST_F(ReclaimerTest, AViewKeepsWhatWasRetiredAfterItBegan) {
  const pool::ChunkId before = Chunk();
  const pool::ChunkId after = Chunk();
  reclaimer_.Retire({.chunks = {before}, .extents = {}});
  oldest_pin_ = reclaimer_.clock().load();
  reclaimer_.Retire({.chunks = {after}, .extents = {}});
  EXPECT_TRUE(Reclaim());
  EXPECT_TRUE(IsFree(before));
  EXPECT_FALSE(IsFree(after));
  EXPECT_FALSE(Reclaim());
  oldest_pin_ = ~0ull;
  EXPECT_TRUE(Reclaim());
  EXPECT_TRUE(IsFree(after));
}

TEST_F(ReclaimerTest, ExtentsGoTheSameWay) {
  const pool::ChunkId owner = Chunk();
  const uint64_t entry = pool_->ChunkOffset(owner.chunk) + sizeof(format::LogChunkHeader);
  auto extent = pool_->AllocateExtent(40'000, entry, pool::AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  const uint64_t free_before = pool_->free_chunks();
  reclaimer_.Retire({.chunks = {}, .extents = {*extent}});
  EXPECT_EQ(reclaimer_.RetiredExtents().count(*extent), 1u);
  EXPECT_TRUE(Reclaim());
  EXPECT_EQ(pool_->free_chunks(), free_before + 3);
  EXPECT_TRUE(reclaimer_.RetiredExtents().empty());
}

TEST_F(ReclaimerTest, MemoryWaitsForItsReadersButForNoView) {
  oldest_pin_ = 0;
  auto memory = std::make_shared<int>(7);
  const std::weak_ptr<int> seen = memory;
  RetiredMemory retired;
  retired.push_back(std::move(memory));
  reclaimer_.RetireMemory(std::move(retired));
  EXPECT_TRUE(reclaimer_.HasRetiredMemory());
  EXPECT_FALSE(seen.expired());
  reclaimer_.ReclaimMemory();
  EXPECT_TRUE(seen.expired());
  EXPECT_FALSE(reclaimer_.HasRetiredMemory());
  EXPECT_EQ(reclaimer_.times(), 0u);  // nobody finds room by that
}

TEST_F(ReclaimerTest, OfAMediumInDoubtNothingIsReused) {
  const pool::ChunkId chunk = Chunk();
  RetiredMemory memory;
  memory.push_back(std::make_shared<int>(7));
  const std::weak_ptr<const void> seen = memory.front();
  reclaimer_.Retire({.chunks = {chunk}, .extents = {}});
  reclaimer_.RetireMemory(std::move(memory));
  EXPECT_FALSE(Reclaim(true));
  EXPECT_FALSE(IsFree(chunk));
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(reclaimer_.times(), 0u);
}

TEST_F(ReclaimerTest, RoomThatCameFromElsewhereIsCounted) {
  reclaimer_.CountRoom();
  EXPECT_EQ(reclaimer_.times(), 1u);
}

}  // namespace
}  // namespace braid::space
