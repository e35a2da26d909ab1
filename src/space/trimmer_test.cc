// Tests of what is given back to the file system, and when.
#include "space/trimmer.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "media/file_media.h"
#include "support/temp_folder.h"

namespace braid::space {
namespace {

constexpr uint64_t kTick = 10'000'000;

class TrimmerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.pool.initial_bytes = 8ull << 20;
    options_.pool.chunk_bytes = 64ull << 10;
    Open();
    options_.pool.initial_bytes = 256ull << 10;  // so much keeps its pages
    Open();
    if (pool_->holes().WhyNot() != nullptr) GTEST_SKIP() << pool_->holes().WhyNot();
  }
  void Open() {
    trimmer_.reset();
    pool_.reset();
    Result<std::unique_ptr<media::Media>> media =
        media::OpenFileMedia(folder_.Sub("pool"), options_.pool, true);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    Result<std::unique_ptr<pool::PmemPool>> pool = pool::PmemPool::Open(
        std::move(media).value(), options_, [](pool::PmemPool*) { return Status::OK(); });
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(pool).value();
    trimmer_ = std::make_unique<Trimmer>(pool_.get());
  }
  void Pass(uint64_t nanos) {
    for (const uint64_t end = now_ + nanos; now_ < end; now_ += kTick) trimmer_->Step(now_);
  }
  void Take(uint64_t chunks) {
    for (uint64_t i = 0; i < chunks; ++i) {
      const Result<uint64_t> taken = pool_->AllocateLogChunk(
          format::LogChunkHeader{}, format::ChunkKind::kLog, pool::AllocationClass::kWrite);
      ASSERT_TRUE(taken.ok()) << taken.status().ToString();
      taken_.push_back(*taken);
    }
  }
  void FreeAll() {
    for (const uint64_t chunk : taken_) pool_->FreeChunk(chunk);
    taken_.clear();
  }

  test::TempFolder folder_;
  Options options_;
  std::unique_ptr<pool::PmemPool> pool_;
  std::unique_ptr<Trimmer> trimmer_;
  std::vector<uint64_t> taken_;
  uint64_t now_ = 1'000'000'000;
};

TEST_F(TrimmerTest, WhatIsFreeForLongIsGivenBackInPieces) {
  EXPECT_FALSE(trimmer_->IsSettled());
  Pass(Trimmer::kWindowNanos - 2 * kTick);
  EXPECT_EQ(pool_->hole_chunks(), 0u) << "not before a whole window has passed";
  Pass(3 * kTick);
  const uint64_t first = pool_->hole_chunks();
  EXPECT_GT(first, 0u);
  EXPECT_LE(first * pool_->chunk_bytes(), 3 * Trimmer::kStepBytes);
  Pass(2 * Trimmer::kWindowNanos);
  EXPECT_TRUE(trimmer_->IsSettled());
  const uint64_t reserve = pool_->reserve_chunks();
  EXPECT_GE(pool_->resident_chunks_of(0), reserve) << "what writes leave alone has its pages";
  EXPECT_LE(pool_->resident_chunks_of(0), reserve + 8);
}

TEST_F(TrimmerTest, WhatComesAndGoesInAWindowStays) {
  const uint64_t half = pool_->free_chunks() / 2;
  for (int i = 0; i < 8; ++i) {
    Take(half);
    Pass(Trimmer::kWindowNanos / 4);
    FreeAll();
    Pass(Trimmer::kWindowNanos / 4);
  }
  EXPECT_GE(pool_->resident_chunks_of(0), half);
  EXPECT_GT(pool_->hole_chunks(), 0u) << "the other half was never used";
}

TEST_F(TrimmerTest, WhatHappenedUnseenIsNotKnown) {
  Pass(Trimmer::kWindowNanos - 2 * kTick);
  now_ += Trimmer::kWindowNanos;
  Pass(Trimmer::kWindowNanos / 2);
  EXPECT_EQ(pool_->hole_chunks(), 0u);
}

TEST_F(TrimmerTest, AtOnceAllButWhatIsTakenSoon) {
  trimmer_->TrimAll(40);
  EXPECT_GE(pool_->resident_chunks_of(0), 40u);
  EXPECT_GT(pool_->hole_chunks(), 0u);
  const uint64_t holes = pool_->hole_chunks();
  trimmer_->TrimAll(0);
  EXPECT_GT(pool_->hole_chunks(), holes);
  EXPECT_TRUE(trimmer_->IsSettled());
  EXPECT_FALSE(pool_->GrowAhead(0)) << "the two do not work against each other";
}

TEST_F(TrimmerTest, WhatWasAskedForKeepsItsPages) {
  options_.pool.initial_bytes = 5ull << 20;
  Open();
  Take(3);
  trimmer_->TrimAll(0);
  Pass(3 * Trimmer::kWindowNanos);
  EXPECT_TRUE(trimmer_->IsSettled());
  const uint64_t taken = pool_->used_chunks() + pool_->resident_chunks_of(0);
  EXPECT_EQ(taken, pool_->ChunksIn(options_.pool.initial_bytes)) << "used or not";
  EXPECT_EQ(pool_->media().allocated_bytes(), options_.pool.initial_bytes);
  FreeAll();
  trimmer_->TrimAll(0);
  EXPECT_EQ(pool_->media().allocated_bytes(), options_.pool.initial_bytes);
  options_.pool.initial_bytes = 8ull << 20;
  Open();
  const uint64_t holes = pool_->hole_chunks();
  trimmer_->TrimAll(0);
  EXPECT_EQ(pool_->hole_chunks(), holes) << "all of it was asked for";
}

TEST_F(TrimmerTest, WithoutAClockTheWindowIsOneOfCalls) {
  const uint64_t half = pool_->free_chunks() / 2;
  Take(half);
  for (uint32_t i = 1; i < Trimmer::kWindowCalls; ++i) trimmer_->TrimInline();
  EXPECT_EQ(pool_->hole_chunks(), 0u);
  FreeAll();
  trimmer_->TrimInline();
  EXPECT_GT(pool_->hole_chunks(), 0u);
  EXPECT_GE(pool_->resident_chunks_of(0), half) << "what was in use in this window";
}

}  // namespace
}  // namespace braid::space
