#include "recovery/recovery_job.h"

#include <gtest/gtest.h>

#include "support/test_pool.h"

namespace braid::recovery {
namespace {

using format::ChunkKind;

class RecoveryJobTest : public ::testing::Test {
 protected:
  void Load() {
    const Status s = manifest_.Load();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  uint64_t Allocate(ChunkKind kind) {
    const Result<uint64_t> chunk = pool_->AllocatePlainChunk(kind);
    EXPECT_TRUE(chunk.ok()) << chunk.status().ToString();
    return chunk.ok() ? *chunk : 0;
  }
  void Recover() {
    RecoveryJob job(pool_.get(), &manifest_, &usage_, options_);
    const Result<RecoveredState> recovered = job.Run();
    ASSERT_TRUE(recovered.ok()) << recovered.status().ToString();
  }
  ChunkKind KindOf(uint64_t chunk) const { return pool_->StateOf(chunk).kind(); }

  const Options options_ = test::PoolOfSmallChunks();
  test::TestPool pool_{[](pool::PmemPool* fresh) { return level::Manifest(fresh).Create(); }};
  level::Manifest manifest_{pool_.get()};
  pool::ChunkUsage usage_{1024};
};

TEST_F(RecoveryJobTest, WhatWasAllocatedForACommitThatNeverCameIsFreed) {
  const uint64_t used = pool_->used_chunks();
  const uint64_t redo = Allocate(ChunkKind::kRedo);
  const uint64_t extension = Allocate(ChunkKind::kManifest);
  pool_->FreeChunk(redo);
  EXPECT_EQ(KindOf(redo), ChunkKind::kRedo) << "not by those who free chunks of entries";
  Recover();
  EXPECT_EQ(KindOf(redo), ChunkKind::kFree);
  EXPECT_EQ(KindOf(extension), ChunkKind::kFree);
  EXPECT_EQ(pool_->used_chunks(), used);
}

TEST_F(RecoveryJobTest, WhatTheManifestNamesStays) {
  Load();
  for (uint64_t source = 10; source < 12; ++source) {
    ASSERT_TRUE(manifest_.BeginMerge(source, format::kL1Id).ok());
  }
  const format::MergeRecord second = *manifest_.record().MergeOf(11);
  for (uint64_t source = 10; source < 12; ++source) manifest_.EndMerge(source);
  manifest_.record().extension = Allocate(ChunkKind::kManifest);
  ASSERT_TRUE(manifest_.Commit().ok());
  Recover();
  for (const uint64_t chunk : second.redo_chunks) EXPECT_EQ(KindOf(chunk), ChunkKind::kRedo);
  EXPECT_EQ(KindOf(manifest_.record().extension), ChunkKind::kManifest);
  EXPECT_EQ(manifest_.record().redo_chunks(), 4u);
}

}  // namespace
}  // namespace braid::recovery
