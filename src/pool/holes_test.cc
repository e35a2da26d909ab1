// Tests of holes in the files of a pool.
#include "pool/holes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "media/file_media.h"
#include "pool/pool.h"
#include "support/temp_folder.h"

namespace braid::pool {
namespace {

constexpr uint64_t kChunk = 64ull << 10;
constexpr uint64_t kAll = 1ull << 20;

class HolesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.pool.initial_bytes = 4ull << 20;
    options_.pool.chunk_bytes = kChunk;
    Open();
    if (pool_->holes().WhyNot() != nullptr) GTEST_SKIP() << pool_->holes().WhyNot();
  }
  void Open() {
    pool_.reset();
    Result<std::unique_ptr<media::Media>> media =
        media::OpenFileMedia(folder_.Sub("pool"), options_.pool, true);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    Result<std::unique_ptr<PmemPool>> pool =
        PmemPool::Open(std::move(media).value(), options_, [](PmemPool*) { return Status::OK(); });
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(pool).value();
  }
  uint64_t TakeOne(AllocationClass allocation = AllocationClass::kWrite) {
    const Result<uint64_t> taken =
        pool_->AllocateLogChunk(format::LogChunkHeader{}, format::ChunkKind::kLog, allocation);
    EXPECT_TRUE(taken.ok()) << taken.status().ToString();
    return taken.ok() ? *taken : 0;
  }
  uint64_t GiveBack(uint64_t most, uint64_t keep) {
    const Result<uint64_t> given = pool_->holes().GiveBack(0, most, keep);
    EXPECT_TRUE(given.ok()) << given.status().ToString();
    return given.ok() ? *given : 0;
  }
  uint64_t Allocated() const { return pool_->media().allocated_bytes().value_or(0); }
  std::vector<std::string> Problems() { return pool_->CheckAllocator(2); }

  test::TempFolder folder_;
  Options options_;
  std::unique_ptr<PmemPool> pool_;
};

TEST_F(HolesTest, PagesGoAndComeAgain) {
  const uint64_t free = pool_->free_chunks();
  const uint64_t before = Allocated();
  EXPECT_EQ(before, pool_->pool_bytes());
  EXPECT_EQ(GiveBack(kAll, 10), free - 10);
  EXPECT_EQ(Allocated(), before - (free - 10) * kChunk);
  EXPECT_EQ(pool_->resident_chunks_of(0), 10u);
  EXPECT_EQ(pool_->hole_chunks(), free - 10);
  EXPECT_EQ(pool_->free_chunks(), free) << "they are free all the same";
  EXPECT_TRUE(Problems().empty()) << Problems().front();
  EXPECT_EQ(GiveBack(kAll, 10), 0u);
  // Those that have pages first, except the reserve.
  const uint64_t bytes = pool_->pool_bytes();
  for (uint64_t i = 0; i < free - 10; ++i) (void)TakeOne();
  EXPECT_EQ(pool_->pool_bytes(), bytes) << "holes were filled before the pool was made larger";
  EXPECT_GE(pool_->resident_chunks_of(0), 4u) << "the reserve has its pages";
  EXPECT_GT(pool_->holes().chunks_filled(), 0u);
  EXPECT_TRUE(Problems().empty()) << Problems().front();
}

TEST_F(HolesTest, AnOpenTakesFreeChunksForHoles) {
  const uint64_t free = pool_->free_chunks();
  EXPECT_EQ(pool_->hole_chunks(), 0u);
  Open();
  EXPECT_EQ(pool_->hole_chunks(), 0u) << "none was ever made";
  EXPECT_GT(GiveBack(3, 10), 0u);
  Open();
  EXPECT_EQ(pool_->free_chunks(), free);
  EXPECT_EQ(pool_->hole_chunks(), free);
  EXPECT_TRUE(Problems().empty()) << Problems().front();
  (void)TakeOne();
  EXPECT_EQ(pool_->free_chunks(), free - 1);
}

TEST_F(HolesTest, RunsGoAcrossHoles) {
  const uint64_t free = pool_->free_chunks();
  EXPECT_EQ(GiveBack(kAll, 6), free - 6);
  EXPECT_TRUE(pool_->HasRun(20));
  const uint64_t bytes = pool_->pool_bytes();
  const Result<uint64_t> extent =
      pool_->ReserveExtent(20 * kChunk - 4096, 0, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  EXPECT_EQ(pool_->pool_bytes(), bytes);
  EXPECT_EQ(pool_->free_chunks(), free - 20);
  EXPECT_TRUE(Problems().empty()) << Problems().front();
  pool_->CancelExtent(*extent, 20 * kChunk - 4096);
  EXPECT_EQ(pool_->free_chunks(), free);
}

TEST_F(HolesTest, AKeptRunHasItsPages) {
  const uint64_t free = pool_->free_chunks();
  EXPECT_EQ(GiveBack(kAll, 6), free - 6);
  const uint64_t first = pool_->chunks() - 8;
  pool_->KeepRun(first, 8);
  EXPECT_EQ(pool_->hole_chunks(), free - 6 - 8);
  EXPECT_EQ(GiveBack(kAll, 0), 6u) << "not those that are kept";
  pool_->LetRunGo();
  EXPECT_EQ(GiveBack(kAll, 0), 8u);
}

TEST_F(HolesTest, PrefaultLeavesHolesAlone) {
  EXPECT_GT(GiveBack(kAll, 6), 0u);
  const uint64_t allocated = Allocated();
  pool_->Prefault(0, pool_->pool_bytes());
  EXPECT_EQ(Allocated(), allocated);
}

TEST_F(HolesTest, RoomIsMadeReadyAhead) {
  EXPECT_GT(GiveBack(kAll, 0), 0u);
  EXPECT_EQ(pool_->resident_chunks_of(0), 0u);
  int rounds = 0;
  while (pool_->GrowAhead(12)) ASSERT_LT(++rounds, 100);
  EXPECT_GE(pool_->resident_chunks_of(0), 12u);
}

}  // namespace
}  // namespace braid::pool
