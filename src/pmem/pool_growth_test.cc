// GrowAhead: room for what is being written is made before a writer needs it.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "pmem/file_media.h"
#include "pmem/pool.h"
#include "support/temp_folder.h"

namespace braid::pmem {
namespace {

class PoolGrowthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.pool.initial_bytes = 8ull << 20;
    options_.pool.chunk_bytes = 64ull << 10;
    Result<std::unique_ptr<Media>> media = OpenFileMedia(folder_.Sub("pool"), options_.pool, true);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    Result<std::unique_ptr<PmemPool>> pool =
        PmemPool::Open(std::move(media).value(), options_, [](PmemPool*) { return Status::OK(); });
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(pool).value();
  }
  void Take(uint64_t chunks) {
    for (uint64_t i = 0; i < chunks; ++i) {
      const Result<uint64_t> taken = pool_->AllocateLogChunk(
          format::LogChunkHeader{}, format::ChunkKind::kLog, AllocationClass::kWrite);
      ASSERT_TRUE(taken.ok()) << taken.status().ToString();
    }
  }

  test::TempFolder folder_;
  Options options_;
  std::unique_ptr<PmemPool> pool_;
};

TEST_F(PoolGrowthTest, LeavesAPoolThatIsHalfFreeAlone) {
  const uint64_t bytes = pool_->pool_bytes();
  EXPECT_FALSE(pool_->GrowAhead());
  Take(pool_->free_chunks() / 3);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // so that it was no rate to speak of
  EXPECT_FALSE(pool_->GrowAhead());
  EXPECT_EQ(pool_->pool_bytes(), bytes);
}

TEST_F(PoolGrowthTest, MakesRoomForTheRateAtWhichChunksAreTaken) {
  // As if it had been looked at a moment ago.
  while (pool_->GrowAhead()) {
  }
  const uint64_t taken = pool_->free_chunks() / 3;
  Take(taken);
  int rounds = 0;
  while (pool_->GrowAhead()) ASSERT_LT(++rounds, 100);
  EXPECT_GE(rounds, 1);
  EXPECT_GT(pool_->free_chunks(), taken);
  // When nothing is taken any more, nothing more is wanted.
  const uint64_t bytes = pool_->pool_bytes();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(pool_->GrowAhead());
  EXPECT_EQ(pool_->pool_bytes(), bytes);
}

TEST_F(PoolGrowthTest, StaysWithinTheLimitOfThePool) {
  options_.pool.max_bytes = 16ull << 20;
  pool_.reset();
  Result<std::unique_ptr<Media>> media = OpenFileMedia(folder_.Sub("small"), options_.pool, true);
  ASSERT_TRUE(media.ok());
  Result<std::unique_ptr<PmemPool>> pool =
      PmemPool::Open(std::move(media).value(), options_, [](PmemPool*) { return Status::OK(); });
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  pool_ = std::move(pool).value();
  for (int i = 0; i < 20; ++i) {
    Take(4);
    pool_->GrowAhead();
  }
  EXPECT_LE(pool_->pool_bytes(), options_.pool.max_bytes);
}

}  // namespace
}  // namespace braid::pmem
