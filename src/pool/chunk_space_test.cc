// Tests of what is found in a space of chunks: only what its states and sizes allow.
#include "pool/chunk_space.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/bare_space.h"
#include "support/temp_folder.h"

namespace braid::pool {
namespace {

using format::ChunkKind;

constexpr uint64_t kOneChunk = test::BareSpace::kChunkBytes;

class ChunkSpaceTest : public ::testing::Test {
 protected:
  void SetUp() override { space_.AddSegment(8); }
  /// An entry of a key of three bytes, with one link.
  void PutEntry(uint64_t offset, uint32_t value_bytes, uint8_t flags = 0) {
    format::EntryHeader header{};
    header.sequence_and_op = (1 << 8) | flags;
    header.value_bytes = value_bytes;
    header.key_and_height = format::EntryHeader::PackKeyAndHeight(3, 1);
    std::memcpy(space_.At(offset), &header, sizeof header);
    std::memcpy(space_.At(offset) + sizeof header + 8, "key", 3);
  }
  /// `chunks` of a value that fills them, of the entry at `owner`.
  uint64_t PutExtent(uint64_t first, uint64_t chunks, uint64_t owner) {
    const uint64_t offset = space_.ChunkOffset(first);
    format::ExtentHeader header{};
    header.magic = format::kExtentMagic;
    header.chunks = chunks;
    header.value_bytes = chunks * kOneChunk - sizeof header;
    header.owner = owner;
    header.check = format::StructCheck(header, offset);
    std::memcpy(space_.At(offset), &header, sizeof header);
    space_.SetKind(first, ChunkKind::kExtentHead);
    for (uint64_t i = 1; i < chunks; ++i) space_.SetKind(first + i, ChunkKind::kExtentBody);
    return offset;
  }

  test::TempFolder folder_;
  test::BareSpace space_{folder_.Sub("pool")};
};

TEST_F(ChunkSpaceTest, EntriesAreInChunksThatHoldSome) {
  const uint64_t offset = space_.ChunkOffset(2) + sizeof(format::LogChunkHeader);
  PutEntry(offset, 5);
  EXPECT_EQ(space_.EntryAt(offset), nullptr) << "the chunk is free";
  space_.SetKind(2, ChunkKind::kLog);
  ASSERT_EQ(space_.OffsetOf(space_.EntryAt(offset)), offset);
  EXPECT_EQ(space_.KeyAt(offset), "key");
  EXPECT_EQ(space_.EntryAt(offset + 4), nullptr) << "not aligned";
  EXPECT_EQ(space_.EntryAt(space_.ChunkOffset(2)), nullptr) << "there is the chunk's header";
  EXPECT_EQ(space_.EntryAt(space_.ChunkOffset(8) + 64), nullptr) << "there is no such chunk";
}

TEST_F(ChunkSpaceTest, NoEntryReachesIntoTheNextChunk) {
  for (const uint64_t chunk : {3, 4}) space_.SetKind(chunk, ChunkKind::kLog);
  const uint64_t least = sizeof(format::EntryHeader) + 8 + 3;
  const uint64_t offset = space_.ChunkOffset(4) - 1024;
  PutEntry(offset, 1024 - least);
  const format::EntryHeader* entry = space_.EntryAt(offset);
  ASSERT_NE(entry, nullptr);
  PutEntry(offset, 1024 - least + 1);
  EXPECT_EQ(space_.EntryAt(offset), nullptr);
  format::EntryView view{};
  EXPECT_FALSE(space_.View(entry, &view)) << "it has been overwritten";
  EXPECT_TRUE(space_.IsEntryRoom(offset, 1024));
  EXPECT_FALSE(space_.IsEntryRoom(offset, 1025));
}

TEST_F(ChunkSpaceTest, AnExtentHasAllItsBodies) {
  const uint64_t extent = PutExtent(4, 3, 0);
  ASSERT_NE(space_.ExtentAt(extent), nullptr);
  EXPECT_EQ(space_.ExtentAt(extent)->chunks, 3u);
  EXPECT_EQ(space_.ExtentAt(extent + 8), nullptr);
  space_.SetKind(6, ChunkKind::kLog);
  EXPECT_EQ(space_.ExtentAt(extent), nullptr);
  EXPECT_EQ(space_.ExtentAt(PutExtent(6, 3, 0)), nullptr) << "the pool ends before";
}

TEST_F(ChunkSpaceTest, AnExtentIsOfTheEntryThatItNames) {
  space_.SetKind(1, ChunkKind::kLog);
  const uint64_t entry = space_.ChunkOffset(1) + 64;
  const uint64_t other = entry + 128;
  const format::ExtentRef ref{PutExtent(4, 2, entry), 0, 0};
  for (const uint64_t offset : {entry, other}) {
    PutEntry(offset, sizeof ref, format::kValueInExtent);
    std::memcpy(space_.At(offset) + sizeof(format::EntryHeader) + 8 + 3, &ref, sizeof ref);
  }
  EXPECT_EQ(space_.ExtentOf(entry), ref.offset);
  EXPECT_EQ(space_.ExtentOf(other), 0u);
  PutEntry(entry, sizeof ref);
  EXPECT_EQ(space_.ExtentOf(entry), 0u) << "the value is inline";
}

TEST_F(ChunkSpaceTest, HeadsThatThePagesDoNotHoldAreInTheExtension) {
  const uint64_t head = space_.HeadOffset(format::kTableHeads - 1);
  EXPECT_TRUE(space_.IsHead(head));
  EXPECT_FALSE(space_.IsHead(head + sizeof(format::TableHead)));
  space_.SetKind(5, ChunkKind::kManifest);
  space_.SetExtension(5);
  const uint64_t more = space_.HeadOffset(format::kTableHeads);
  EXPECT_EQ(space_.ChunkOf(more), 5u);
  EXPECT_TRUE(space_.IsHead(more));
  EXPECT_FALSE(space_.IsHead(more - sizeof(format::TableHead))) << "there are records";
}

TEST(ChunkSpaceOfRegionsTest, AChunkIsOfTheRegionOfItsSegment) {
  const test::TempFolder folder;
  test::BareSpace space(folder.Sub("pool"), 2);
  space.AddSegment(4, 0);
  space.AddSegment(6, 1);
  space.AddSegment(3, 0);
  EXPECT_EQ(space.chunks(), 13u);
  EXPECT_EQ(space.chunks_of(0), 7u);
  EXPECT_EQ(space.chunks_of(1), 6u);
  EXPECT_EQ(space.RegionOfChunk(3), 0u);
  EXPECT_EQ(space.RegionOf(4 * kOneChunk), 1u);
  EXPECT_EQ(space.RegionOf(10 * kOneChunk - 1), 1u);
  EXPECT_EQ(space.RegionOfChunk(10), 0u);
  EXPECT_EQ(space.StrandOf(4 * kOneChunk), 1u);
  // Each region's heads are in its first segment.
  const uint64_t head = space.HeadOffset(2);
  EXPECT_EQ(space.StrandHead(head, 0), head);
  const uint64_t strand = space.StrandHead(head, 1);
  EXPECT_EQ(strand, 4 * kOneChunk + format::kRegionHeadsOffset + 2 * sizeof(format::TableHead));
  EXPECT_TRUE(space.IsHead(strand));
}

TEST(ChunkSpaceOfRegionsTest, ListsThatAreNotBraidedHaveOneStrand) {
  const test::TempFolder folder;
  test::BareSpace space(folder.Sub("pool"), 2, false);
  space.AddSegment(4, 0);
  space.AddSegment(6, 1);
  EXPECT_EQ(space.strands(), 1u);
  EXPECT_EQ(space.RegionOfChunk(5), 1u);
  EXPECT_EQ(space.StrandOf(5 * kOneChunk), 0u);
}

}  // namespace
}  // namespace braid::pool
