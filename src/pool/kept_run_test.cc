// A run of chunks that is kept for a large value while it is emptied: nobody else gets any of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/test_pool.h"

namespace braid::pool {
namespace {

class KeptRunTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kCount = 3;

  static Options Limited() {
    Options options = test::PoolOfSmallChunks();
    options.pool.max_bytes = options.pool.initial_bytes;
    return options;
  }
  static uint64_t BytesOf(uint64_t chunks) { return chunks * (16u << 10) - 4096; }

  void SetUp() override {
    Take(&taken_);
    std::sort(taken_.begin(), taken_.end());
    ASSERT_GT(taken_.size(), 40u);
    first_ = taken_[10];
    ASSERT_EQ(taken_[12], first_ + 2);
    // Single ones besides, so that it is not lack of space that refuses.
    for (size_t i = 15; i < taken_.size(); i += 2) pool_->FreeChunk(taken_[i]);
    pool_->FreeChunk(first_ + 1);
  }
  /// All chunks that there are to be had.
  void Take(std::vector<uint64_t>* taken) {
    for (;;) {
      Result<uint64_t> chunk =
          pool_->AllocateLogChunk({}, format::ChunkKind::kLog, AllocationClass::kBackground);
      if (!chunk.ok()) return;
      taken->push_back(*chunk);
    }
  }
  bool InRun(uint64_t chunk) const { return chunk >= first_ && chunk < first_ + kCount; }
  Result<uint64_t> Reserve(AllocationClass allocation = AllocationClass::kWrite) {
    return pool_->ReserveExtent(BytesOf(kCount), 0, allocation);
  }

  test::TestPool pool_{[](PmemPool*) { return Status::OK(); }, Limited()};
  std::vector<uint64_t> taken_;
  uint64_t first_ = 0;
};

TEST_F(KeptRunTest, NobodyTakesWhatIsOrBecomesFreeOfIt) {
  pool_->KeepRun(first_, kCount);
  pool_->FreeChunk(first_);
  std::vector<uint64_t> taken;
  Take(&taken);
  EXPECT_GT(taken.size(), 10u);
  for (const uint64_t chunk : taken) EXPECT_FALSE(InRun(chunk)) << chunk;
  EXPECT_EQ(pool_->free_chunks(), 2u);
}

TEST_F(KeptRunTest, ALargeValueGetsItOnceAllOfItIsFree) {
  EXPECT_FALSE(pool_->HasRun(kCount));
  pool_->KeepRun(first_, kCount);
  pool_->FreeChunk(first_);
  EXPECT_FALSE(pool_->HasRun(kCount));
  EXPECT_TRUE(Reserve().status().IsOutOfSpace());
  pool_->FreeChunk(first_ + 2);
  EXPECT_TRUE(pool_->HasRun(kCount));
  // Not for copies of the background.
  EXPECT_TRUE(Reserve(AllocationClass::kBackground).status().IsOutOfSpace());
  Result<uint64_t> extent = Reserve();
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  EXPECT_EQ(pool_->ChunkOf(*extent), first_);
  // It has served: what is given back is anybody's.
  pool_->CancelExtent(*extent, BytesOf(kCount));
  std::vector<uint64_t> taken;
  Take(&taken);
  EXPECT_EQ(std::count_if(taken.begin(), taken.end(), [this](auto c) { return InRun(c); }), 3);
}

TEST_F(KeptRunTest, LetGoItIsAnybodysAgain) {
  pool_->KeepRun(first_, kCount);
  pool_->LetRunGo();
  std::vector<uint64_t> taken;
  Take(&taken);
  EXPECT_EQ(std::count_if(taken.begin(), taken.end(), [this](auto c) { return InRun(c); }), 1);
  EXPECT_EQ(pool_->free_chunks(), 0u);
}

}  // namespace
}  // namespace braid::pool
