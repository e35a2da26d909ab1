// GrowAhead: room for what is being written is made before a writer needs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "media/file_media.h"
#include "pool/pool.h"
#include "support/temp_folder.h"

namespace braid::pool {
namespace {

class PoolGrowthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.pool.initial_bytes = 8ull << 20;
    options_.pool.chunk_bytes = 64ull << 10;
    Open("pool");
  }
  /// Another pool, of a store with memtables of 16 chunks.
  void Reopen(LogKind kind) {
    options_.memtable.bytes = 1ull << 20;
    options_.log.kind = kind;
    Open("memtables");
  }
  void Open(const std::string& name) {
    pool_.reset();
    Result<std::unique_ptr<media::Media>> media =
        media::OpenFileMedia(folder_.Sub(name), options_.pool, true);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    Result<std::unique_ptr<PmemPool>> pool =
        PmemPool::Open(std::move(media).value(), options_, [](PmemPool*) { return Status::OK(); });
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(pool).value();
  }
  void Take(uint64_t chunks, format::ChunkKind kind = format::ChunkKind::kLog) {
    for (uint64_t i = 0; i < chunks; ++i) {
      const Result<uint64_t> taken =
          pool_->AllocateLogChunk(format::LogChunkHeader{}, kind, AllocationClass::kWrite);
      ASSERT_TRUE(taken.ok()) << taken.status().ToString();
    }
  }
  /// Of logs whose entries are to be copied.
  void TakeLogs(uint64_t chunks) { Take(chunks, format::ChunkKind::kWriteAhead); }

  test::TempFolder folder_;
  Options options_;
  std::unique_ptr<PmemPool> pool_;
};

TEST_F(PoolGrowthTest, LeavesAPoolThatIsHalfFreeAlone) {
  const uint64_t bytes = pool_->pool_bytes();
  Take(pool_->free_chunks() / 3);
  EXPECT_FALSE(pool_->GrowAhead(0));
  EXPECT_EQ(pool_->pool_bytes(), bytes);
  Take(pool_->free_chunks() / 2);
  EXPECT_TRUE(pool_->GrowAhead(0));
}

TEST_F(PoolGrowthTest, SegmentsBeginWhereHugePagesDo) {
  for (int i = 0; i < 14; ++i) {
    const uint64_t bytes = pool_->pool_bytes();
    ASSERT_TRUE(pool_->Grow(0).ok());
    ASSERT_GT(pool_->pool_bytes(), bytes);
    ASSERT_EQ(pool_->pool_bytes() % (2u << 20), 0u) << "segment " << i + 1;
  }
  EXPECT_GT(pool_->pool_bytes(), 120ull << 20) << "some were larger than the first";
}

TEST_F(PoolGrowthTest, MakesRoomForWhatIsWanted) {
  const uint64_t taken = pool_->chunks_taken();
  Take(5);
  EXPECT_EQ(pool_->chunks_taken() - taken, 5u);
  Take(pool_->free_chunks() * 3 / 4);
  const uint64_t demand = 2 * pool_->free_chunks();
  int rounds = 0;
  while (pool_->GrowAhead(demand)) ASSERT_LT(++rounds, 100);
  EXPECT_GE(rounds, 1);
  EXPECT_GE(pool_->free_chunks(), demand);
  const uint64_t bytes = pool_->pool_bytes();
  EXPECT_FALSE(pool_->GrowAhead(demand));
  EXPECT_FALSE(pool_->GrowAhead(0));
  EXPECT_EQ(pool_->pool_bytes(), bytes);
}

// A thread without a processor sees the writes of seconds at once, and would want a pool of
// hundreds of megabytes for a store of two.
TEST_F(PoolGrowthTest, ADemandThatIsAbsurdAtMostDoublesWhatIsUsed) {
  Take(pool_->free_chunks() / 4);
  const uint64_t bytes = pool_->pool_bytes();
  while (pool_->GrowAhead(4000)) {
  }
  EXPECT_EQ(pool_->pool_bytes(), bytes) << "more than half of it was free before";
  Take(pool_->free_chunks());
  const uint64_t used = pool_->used_chunks();
  while (pool_->GrowAhead(4000)) {
  }
  EXPECT_GE(pool_->free_chunks(), used);
  EXPECT_LT(pool_->free_chunks(), 2 * used);
}

TEST_F(PoolGrowthTest, WhatIsKeptForCopiesIsNoRoomForWrites) {
  const uint64_t bytes = pool_->pool_bytes();
  // Logs to be copied keep twice as much free, which no write may have.
  while (pool_->spare_chunks() >= 8) {
    TakeLogs(1);
  }
  ASSERT_EQ(pool_->pool_bytes(), bytes);
  EXPECT_GT(pool_->free_chunks(), pool_->chunks() / 2);
  EXPECT_TRUE(pool_->GrowAhead(0));
  EXPECT_GT(pool_->pool_bytes(), bytes);
  EXPECT_FALSE(pool_->GrowAhead(0));
}

TEST_F(PoolGrowthTest, LogsOfManyMemTablesDoNotKeepRoomForAllTheirCopies) {
  Reopen(LogKind::kWriteAhead);
  constexpr uint64_t kLogs = 400;  // of 25 memtables
  TakeLogs(kLogs);
  EXPECT_LT(pool_->chunks(), 2 * kLogs);
  EXPECT_GE(pool_->reserve_chunks(), 2u * 16u) << "half of each chunk of copies may be wasted";
}

TEST_F(PoolGrowthTest, CopiesOfSmallRecordsFillTheirChunksAsTheLogDid) {
  Reopen(LogKind::kBySize);
  const uint64_t before = pool_->reserve_chunks();
  TakeLogs(16);  // of one memtable
  const uint64_t kept = pool_->reserve_chunks() - before;
  EXPECT_GE(kept, 16u + 16u / 8) << "with their towers";
  EXPECT_LT(kept, 2u * 16u);
  TakeLogs(4 * 16);  // flushes of five memtables, one after the other
  EXPECT_GE(pool_->reserve_chunks() - before, 16u + 5u * 16u / 8);
}

TEST_F(PoolGrowthTest, KeepsNoMoreThanHalfAGigabyteFree) {
  Take(10'000);  // 625 MiB, hardly any of it touched
  while (pool_->GrowAhead(~0ull)) {
  }
  const uint64_t free = pool_->free_chunks() * pool_->chunk_bytes();
  EXPECT_GE(free, 512ull << 20);
  EXPECT_LT(free, 1ull << 30);
}

TEST_F(PoolGrowthTest, WhatIsUsedIsToldRightWhileItGrows) {
  Take(pool_->free_chunks());
  std::atomic<bool> done{false};
  std::thread growing([&] {
    while (pool_->GrowAhead(1500)) {
    }
    done = true;
  });
  uint64_t most = 0;
  const uint64_t least = pool_->used_chunks();
  for (uint64_t used = least; !done; used = pool_->used_chunks()) {
    EXPECT_GE(used, least);
    most = std::max(most, used);
  }
  growing.join();
  // The headers of the segments that were added.
  EXPECT_LE(most, pool_->used_chunks());
}

TEST_F(PoolGrowthTest, StaysWithinTheLimitOfThePool) {
  options_.pool.max_bytes = 16ull << 20;
  pool_.reset();
  Result<std::unique_ptr<media::Media>> media =
      media::OpenFileMedia(folder_.Sub("small"), options_.pool, true);
  ASSERT_TRUE(media.ok());
  Result<std::unique_ptr<PmemPool>> pool =
      PmemPool::Open(std::move(media).value(), options_, [](PmemPool*) { return Status::OK(); });
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  pool_ = std::move(pool).value();
  for (int i = 0; i < 20; ++i) {
    Take(4);
    pool_->GrowAhead(1000);
  }
  EXPECT_LE(pool_->pool_bytes(), options_.pool.max_bytes);
}

}  // namespace
}  // namespace braid::pool
