// Which neighbouring chunks are emptied for a large value; what is given back during a long view.
#include "compaction/room.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "compaction/garbage_collection.h"

namespace braid::compaction {
namespace {

constexpr uint64_t kChunk = 1000;

/// A letter a chunk: '.' free, '#' fixed, a digit: so many tenths of it live, [=] an extent.
std::vector<ChunkUse> Uses(std::string_view text) {
  std::vector<ChunkUse> uses;
  for (uint64_t i = 0; i < text.size(); ++i) {
    ChunkUse use{ChunkUse::Kind::kFixed, 0, i, i + 1};
    if (text[i] == '.') use.kind = ChunkUse::Kind::kFree;
    if (text[i] >= '0' && text[i] <= '9') {
      use.kind = ChunkUse::Kind::kMovable;
      use.bytes = static_cast<uint64_t>(text[i] - '0') * kChunk / 10;
    }
    if (text[i] == '[' || text[i] == '=' || text[i] == ']') {
      const uint64_t begin = text.rfind('[', i);
      use = {ChunkUse::Kind::kMovable, kChunk, begin, text.find(']', i) + 1};
    }
    uses.push_back(use);
  }
  return uses;
}

/// The room, as its chunks in the text; empty: there is none.
std::string RoomIn(std::string_view text, uint64_t count) {
  const auto room = CheapestRoom(Uses(text), count, kChunk);
  if (!room) return {};
  std::string shown(text.size(), ' ');
  for (uint64_t i = room->begin; i < room->end; ++i) shown[i] = 'x';
  for (uint64_t i = room->first; i < room->first + count; ++i) shown[i] = 'O';
  return shown;
}

TEST(RoomTest, TheCheapestRunIsTaken) {
  EXPECT_EQ(RoomIn("9.9.1..3..", 3),  //
            "   OOO    ");
  EXPECT_EQ(RoomIn("9.9.1.9.9.", 3),  //
            "   OOO    ");
}

TEST(RoomTest, WhatIsFixedIsLeftAlone) {
  EXPECT_EQ(RoomIn(".#.#5..9..", 3),  //
            "    OOO   ");
  EXPECT_EQ(RoomIn(".#.#.#.#..", 3), "");
}

TEST(RoomTest, AnExtentIsMovedAsAWhole) {
  EXPECT_EQ(RoomIn("#.[].#...#", 2),  // what is free already costs nothing
            "      OO  ");
  EXPECT_EQ(RoomIn("#.[==].#..#..", 3),  //
            " OOOxx       ");
  EXPECT_EQ(RoomIn("#.[].#..#..#", 3),  //
            " OOO        ");
  EXPECT_EQ(RoomIn("#[=]9#...........", 2),  //
            "      OO         ");
}

TEST(RoomTest, CopiesMustFindRoomElsewhere) {
  EXPECT_EQ(RoomIn("9.9#.#", 3), "");
  EXPECT_EQ(RoomIn("9.9#.#.#.#", 3),  //
            "OOO       ");
}

TEST(RetiringTest, GivingBackBesideALongViewLooksAtEachChunkOnce) {
  constexpr uint64_t kChunks = 50'000;
  std::vector<pool::ChunkId> empty;
  std::vector<pool::ChunkId> retiring;
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    empty.push_back({chunk, 1});
    // Some came to be empty just now, some are in another life.
    if (chunk % 5 != 0) retiring.push_back({chunk, chunk % 7 == 0 ? 0u : 1u});
  }
  const NewlyEmpty fresh = WithoutRetiring(empty, retiring);
  EXPECT_LE(fresh.looked_at, empty.size() + retiring.size());
  size_t expected = 0;
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) expected += chunk % 5 == 0 || chunk % 7 == 0;
  EXPECT_EQ(fresh.chunks.size(), expected);
}

}  // namespace
}  // namespace braid::compaction
