// Tests of segments on the medium: what was written is read again, and nothing else is believed.
#include "pool/segments.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/bare_space.h"
#include "support/temp_folder.h"

namespace braid::pool {
namespace {

using format::ChunkKind;
using format::ChunkState;

class SegmentsTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kChunk = test::BareSpace::kChunkBytes;

  SegmentsTest() { std::memcpy(pool_.uuid, "0123456789abcdef", sizeof pool_.uuid); }
  /// The next one, of `chunks`.
  Segment Make(uint64_t chunks) {
    const uint64_t base = space_.pool_bytes();
    const Status added = space_.media().AddSegment(chunks * kChunk);
    EXPECT_TRUE(added.ok()) << added.ToString();
    const Segment segment = segments_.Init(pool_, segments_.count(), 0, base, chunks * kChunk);
    EXPECT_TRUE(space_.media().PublishSegment().ok());
    segments_.Add(segment);
    space_.NoteSegment(chunks);
    return segment;
  }
  void ExpectCorrupt(const Status& status, const std::string& what) {
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.message().find(what), std::string::npos) << status.ToString();
  }

  test::TempFolder folder_;
  test::BareSpace space_{folder_.Sub("pool")};
  Segments segments_{&space_, space_.ops()};
  format::PoolHeader pool_{};
};

TEST_F(SegmentsTest, WhatWasWrittenIsReadAgain) {
  for (const uint64_t chunks : {8, 5}) {
    const uint32_t index = segments_.count();
    const Segment made = Make(chunks);
    const Result<Segment> read = segments_.Read(pool_, index, made.base, made.bytes);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->first_chunk, made.first_chunk);
    EXPECT_EQ(read->state_table, made.state_table);
    EXPECT_EQ(read->meta_chunks, made.meta_chunks);
    const Result<std::vector<ChunkState>> states = segments_.ReadStates(*read);
    ASSERT_TRUE(states.ok()) << states.status().ToString();
    ASSERT_EQ(states->size(), chunks);
    for (uint64_t i = 0; i < chunks; ++i) {
      EXPECT_EQ((*states)[i].kind(), i < made.meta_chunks ? ChunkKind::kMeta : ChunkKind::kFree);
    }
  }
}

TEST_F(SegmentsTest, AStateIsStoredInTheTableOfItsSegment) {
  const Segment first = Make(8);
  const Segment second = Make(5);
  for (const uint64_t chunk : {7, 9}) {
    segments_.StoreState(chunk, ChunkState::Make(ChunkKind::kLog, 3, chunk));
    EXPECT_EQ(segments_.StateOnMedium(chunk).kind(), ChunkKind::kLog);
    EXPECT_EQ(segments_.StateOnMedium(chunk).generation(), 3u);
  }
  EXPECT_EQ((*segments_.ReadStates(first))[7].kind(), ChunkKind::kLog);
  EXPECT_EQ((*segments_.ReadStates(second))[1].kind(), ChunkKind::kLog);
  EXPECT_EQ((*segments_.ReadStates(second))[2].kind(), ChunkKind::kFree);
}

TEST_F(SegmentsTest, ASegmentOfAnotherPoolOrPlaceIsRefused) {
  const Segment made = Make(8);
  ExpectCorrupt(segments_.Read(pool_, 1, made.base, made.bytes).status(), "another pool or place");
  ++pool_.uuid[15];
  ExpectCorrupt(segments_.Read(pool_, 0, made.base, made.bytes).status(), "another pool or place");
  --pool_.uuid[15];
  ExpectCorrupt(segments_.Read(pool_, 0, made.base, made.bytes - kChunk).status(), "truncated");
  ++*space_.At(made.base + offsetof(format::SegmentHeader, index));
  ExpectCorrupt(segments_.Read(pool_, 1, made.base, made.bytes).status(), "check");
}

TEST_F(SegmentsTest, AStateOfAnotherChunkIsDamage) {
  const Segment made = Make(8);
  *space_.As<uint64_t>(made.state_table + 6 * sizeof(uint64_t)) = segments_.StateOnMedium(5).raw;
  ExpectCorrupt(segments_.ReadStates(made).status(), "the state of chunk 6 is damaged");
}

TEST_F(SegmentsTest, OnlyHeadersAreInChunksOfHeaders) {
  const Segment made = Make(8);
  *space_.As<uint64_t>(made.state_table) = ChunkState::Make(ChunkKind::kFree, 0, 0).raw;
  ExpectCorrupt(segments_.ReadStates(made).status(), "the state of chunk 0 is damaged");
}

}  // namespace
}  // namespace braid::pool
