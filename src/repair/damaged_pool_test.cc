// What headers and manifest of a damaged pool tell.
#include "repair/damaged_pool.h"

#include <gtest/gtest.h>

#include "support/pool_of_bytes.h"

namespace braid::repair {
namespace {

using test::PoolOfBytes;

TEST(DamagedPoolTest, OnlyAnotherBootOfAPoolOnPagesThatWasNotClosedHasLostThePageCache) {
  PoolOfBytes bytes;
  EXPECT_FALSE(bytes.Open("another boot")->lost_page_cache()) << "it was closed";
  bytes.LeaveOpen();
  EXPECT_FALSE(bytes.Open(PoolOfBytes::kBoot)->lost_page_cache());
  EXPECT_TRUE(bytes.Open("another boot")->lost_page_cache());
  format::PoolHeader header = bytes.Header();
  header.media_class = static_cast<uint32_t>(MediaClass::kCacheLine);
  bytes.SetHeader(header);
  EXPECT_FALSE(bytes.Open("another boot")->lost_page_cache());
}

TEST(DamagedPoolTest, TheNewerManifestThatIsIntactCounts) {
  PoolOfBytes bytes;
  format::ManifestState state;
  for (const int copy : {0, 1}) {
    state.commit_count = 5 + static_cast<uint64_t>(copy);
    state.flushed_table_id = state.commit_count;
    bytes.SetManifest(state, copy);
  }
  std::unique_ptr<DamagedPool> pool = bytes.Open();
  Findings findings(pool->image(), {});
  EXPECT_FALSE(pool->has_manifest());
  pool->ReadManifest(&findings);
  EXPECT_TRUE(pool->has_manifest());
  EXPECT_EQ(pool->manifest().flushed_table_id, 6u);
  EXPECT_TRUE(findings.TakeSorted().empty());
}

TEST(DamagedPoolTest, ADamagedManifestIsNotedAndTheOtherOneUsed) {
  PoolOfBytes bytes;
  format::ManifestState state;
  state.flushed_table_id = 3;
  bytes.SetManifest(state, 0);
  *bytes.As<uint64_t>(format::kManifestOffset[1]) = format::kManifestMagic;
  std::unique_ptr<DamagedPool> pool = bytes.Open();
  Findings findings(pool->image(), {});
  pool->ReadManifest(&findings);
  EXPECT_EQ(pool->manifest().flushed_table_id, 3u);
  EXPECT_EQ(test::Describe(findings.TakeSorted()),
            std::vector<std::string>{"manifest copy 2: its check does not match"});

  *bytes.As<uint64_t>(format::kManifestOffset[0]) ^= 1;
  pool = bytes.Open();
  Findings none(pool->image(), {});
  pool->ReadManifest(&none);
  EXPECT_FALSE(pool->has_manifest());
  EXPECT_EQ(pool->manifest().flushed_table_id, 0u);
  EXPECT_EQ(none.TakeSorted().size(), 2u);
}

TEST(DamagedPoolTest, WithoutAHeaderTheGeometryIsTheSegments) {
  PoolOfBytes bytes;
  format::PoolHeader header = bytes.Header();
  header.generation_floor = 9;
  bytes.SetHeader(header);
  EXPECT_EQ(bytes.Open()->generation_floor(), 9u);
  for (const uint64_t place : format::kPoolHeaderOffset) *bytes.As<uint64_t>(place) = 0;
  const std::unique_ptr<DamagedPool> pool = bytes.Open("another boot");
  EXPECT_EQ(pool->chunk_bytes(), PoolOfBytes::kChunkBytes);
  EXPECT_EQ(pool->generation_floor(), 0u);
  EXPECT_FALSE(pool->lost_page_cache());
  EXPECT_EQ(pool->geometry().findings.size(), 2u);
}

}  // namespace
}  // namespace braid::repair
