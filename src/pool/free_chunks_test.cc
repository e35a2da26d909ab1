// Tests of the lists of free chunks. What the pool makes of them: chunk_allocator_test.cc and
// kept_run_test.cc.
#include "pool/free_chunks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace braid::pool {
namespace {

constexpr auto kBackground = AllocationClass::kBackground;
constexpr auto kWrite = AllocationClass::kWrite;
constexpr auto kFlush = AllocationClass::kFlush;

/// A segment of region 0 whose `chunks` begin with one for headers, all others free.
void Fill(FreeChunks* free, uint64_t chunks) {
  std::vector<uint64_t> fresh;
  for (uint64_t chunk = chunks; chunk-- > 1;) fresh.push_back(chunk);
  free->Add(0, chunks, fresh);
  free->Reserve(0, chunks);
}

/// All that are to be had one by one.
std::vector<uint64_t> TakeAll(FreeChunks* free, AllocationClass allocation) {
  std::vector<uint64_t> taken;
  while (const auto chunk = free->Take(1, 0, allocation)) taken.push_back(*chunk);
  return taken;
}

TEST(FreeChunksTest, WhatWasGivenBackLastIsTakenFirst) {
  FreeChunks free;
  Fill(&free, 40);
  EXPECT_EQ(free.Take(1, 0, kBackground), 1u) << "the last one that was added";
  EXPECT_EQ(free.Take(1, 0, kBackground), 2u);
  free.GiveBack(1, 0);
  EXPECT_EQ(free.Take(1, 0, kBackground), 1u);
  EXPECT_EQ(free.taken(), 3u);
  EXPECT_EQ(free.used(), 3u);
  EXPECT_EQ(free.free() + free.used(), 40u);
}

TEST(FreeChunksTest, EachClassLeavesItsReserveAlone) {
  // 4 chunks, and two for each whose entries are to be copied.
  FreeChunks free;
  Fill(&free, 40);
  free.AddWriteAhead();
  EXPECT_EQ(free.spare(), 39 - 6);
  TakeAll(&free, kWrite);
  EXPECT_EQ(free.free(), 6u);
  EXPECT_EQ(free.spare(), 0);
  TakeAll(&free, AllocationClass::kDelete);
  EXPECT_EQ(free.free(), 4u);
  EXPECT_EQ(free.spare(), -2);
  free.RemoveWriteAhead();
  TakeAll(&free, AllocationClass::kDelete);
  EXPECT_EQ(free.free(), 2u);
  TakeAll(&free, kBackground);
  EXPECT_EQ(free.free(), 0u);
}

TEST(FreeChunksTest, NoMoreIsKeptForCopiesThanWasSaid) {
  FreeChunks free;
  Fill(&free, 40);
  for (int i = 0; i < 10; ++i) free.AddWriteAhead();
  EXPECT_EQ(free.spare(), 39 - 24);
  free.KeepForCopies(5);
  EXPECT_EQ(free.spare(), 39 - 10) << "and an eighth of the logs";
  TakeAll(&free, kWrite);
  EXPECT_EQ(free.free(), 10u);
  free.KeepForCopies(~0ull);
  EXPECT_EQ(free.spare(), 10 - 24) << "a pool that can't grow any more";
}

TEST(FreeChunksTest, WhatAFlushHasTakenIsNotKeptForItAnyMore) {
  FreeChunks free;
  Fill(&free, 40);
  for (int i = 0; i < 10; ++i) free.AddWriteAhead();
  const int64_t spare = free.spare();
  const uint64_t taken = free.taken();
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(free.Take(1, 0, kFlush).has_value());
    EXPECT_EQ(free.spare(), spare) << "writes have what they had";
  }
  EXPECT_EQ(free.taken(), taken);
  EXPECT_EQ(free.reserve(), 24u - 8u);
  EXPECT_EQ(free.reserve_at_rest(), 24u);
  TakeAll(&free, kWrite);
  EXPECT_EQ(free.free(), 16u) << "the rest of its copies finds room";
  free.EndCopies(0);
  EXPECT_EQ(free.spare(), -8) << "it gives them back, and will take as many again";
  free.EndCopies(10);
  EXPECT_EQ(free.spare(), 12) << "the log was copied, though it is not free yet";
  for (int i = 0; i < 5; ++i) free.AddWriteAhead();
  EXPECT_EQ(free.spare(), 2) << "for the next log as much is kept as for any";
  for (int i = 0; i < 10; ++i) free.RemoveWriteAhead();
  EXPECT_EQ(free.spare(), 2) << "what was copied leaves";
  for (int i = 0; i < 5; ++i) free.RemoveWriteAhead();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(free.Take(1, 0, kFlush).has_value());
  EXPECT_EQ(free.reserve(), 4u) << "never less than what deletes and merges need";
}

TEST(FreeChunksTest, TwiceAsMuchIsKeptWhereLevelsAreRewritten) {
  FreeChunks free;
  Fill(&free, 320);
  free.KeepForRewrites(1000);
  EXPECT_EQ(free.spare(), 319 - 20);
  TakeAll(&free, kWrite);
  EXPECT_EQ(free.free(), 20u);
  TakeAll(&free, AllocationClass::kDelete);
  EXPECT_EQ(free.free(), 10u);
}

TEST(FreeChunksTest, DeletesLeaveRoomForAListWhereThereCanBeFew) {
  FreeChunks free;
  Fill(&free, 320);
  free.KeepForRewrites(40);
  TakeAll(&free, kWrite);
  EXPECT_EQ(free.free(), 32u);
  TakeAll(&free, AllocationClass::kDelete);
  EXPECT_EQ(free.free(), 16u) << "of 20 lists";
}

TEST(FreeChunksTest, TheReserveGrowsWithThePool) {
  FreeChunks free;
  Fill(&free, 320);
  EXPECT_EQ(free.spare(), 319 - 10);
  free.Announce(100000, 99000);
  EXPECT_EQ(free.spare(), 319 - 64) << "but not without end";
}

TEST(FreeChunksTest, WhatIsAnnouncedIsNeitherFreeNorUsed) {
  FreeChunks free;
  Fill(&free, 40);
  free.Take(1, 0, kBackground);
  const std::vector<uint64_t> fresh = {43, 42, 41};
  free.Reserve(0, 44);
  free.Announce(4, fresh.size());
  EXPECT_EQ(free.free(), 38u);
  EXPECT_EQ(free.used(), 3u) << "the headers of the segment count";
  free.List(0, fresh);
  EXPECT_EQ(free.free(), 41u);
  EXPECT_EQ(free.used(), 3u);
  const std::vector<uint64_t> taken = TakeAll(&free, kBackground);
  ASSERT_EQ(taken.size(), 41u);
  EXPECT_EQ(taken[37], 39u) << "those that were free before go first";
  EXPECT_EQ(taken[38], 41u);
}

TEST(FreeChunksTest, TheShortestRunThatWillDoIsTaken) {
  FreeChunks free;
  free.Add(0, 40, {30, 29, 28, 27, 26, 20, 19, 18, 10, 9});
  EXPECT_EQ(free.Take(3, 0, kBackground), 18u);
  EXPECT_EQ(free.Take(3, 0, kBackground), 26u) << "the lowest of a longer one";
  EXPECT_EQ(free.Take(3, 0, kBackground), std::nullopt);
  EXPECT_EQ(free.Take(2, 0, kBackground), 9u);
}

TEST(FreeChunksTest, ARegionHasAListOfItsOwn) {
  FreeChunks free;
  free.Add(0, 10, {9, 8});
  free.Add(1, 10, {19, 18, 17});
  EXPECT_EQ(free.free_of(0), 2u);
  EXPECT_EQ(free.free_of(1), 3u);
  EXPECT_EQ(free.Take(1, 1, kBackground), 17u);
  EXPECT_EQ(free.Take(3, 1, kBackground), std::nullopt);
  EXPECT_EQ(TakeAll(&free, kBackground), (std::vector<uint64_t>{8, 9}));
  EXPECT_EQ(free.ListOf(1), (std::vector<uint64_t>{19, 18}));
  free.Reserve(0, 10);
  free.GiveBack(9, 0);
  EXPECT_EQ(free.ListOf(0), (std::vector<uint64_t>{9}));
}

TEST(FreeChunksTest, AKeptRunBlocksNoOtherRegion) {
  FreeChunks free;
  free.Add(0, 10, {9, 8});
  free.Add(1, 10, {18, 17});
  free.KeepRun(8, 3, 0);
  EXPECT_EQ(free.Take(1, 0, kBackground), std::nullopt);
  EXPECT_EQ(free.Take(1, 1, kBackground), 17u);
  EXPECT_EQ(free.Take(1, 1, kBackground), 18u);
  free.LetRunGo();
  EXPECT_EQ(free.Take(1, 0, kBackground), 8u);
}

TEST(FreeChunksTest, AKeptRunIsForOneWriteThatNeedsIt) {
  FreeChunks free;
  free.Add(0, 40, {30, 28, 26, 24, 22, 12, 11});
  free.Reserve(0, 40);
  free.KeepRun(10, 3, 0);
  EXPECT_FALSE(free.HasRun(3));
  free.GiveBack(10, 0);
  EXPECT_TRUE(free.HasRun(3));
  EXPECT_EQ(free.Take(3, 0, kBackground), std::nullopt);
  EXPECT_EQ(free.Take(3, 0, kWrite), 10u);
  for (const uint64_t chunk : {10, 11, 12}) free.GiveBack(chunk, 0);
  EXPECT_EQ(free.Take(3, 0, kBackground), 10u) << "it has served";
}

/// Holes of other regions are room as well: a writer who finds that there is some, and gets none,
/// would ask forever.
TEST(FreeChunksTest, WhatIsLeftToOthersMayBeInAnyRegion) {
  for (const uint64_t count : {1u, 3u}) {
    FreeChunks free;
    free.Add(0, 10, {3, 2, 1}, true);
    free.Reserve(0, 10);
    free.Add(1, 10, {16, 15, 14, 13, 12, 11}, true);
    free.Reserve(1, 10);
    ASSERT_TRUE(free.HasRun(count));
    for (int times = 0; !free.Take(count, 0, kWrite); ++times) {
      ASSERT_LT(times, 9);
      const FreeChunks::Missing missing = free.SetMissingAside(count, 0, kWrite);
      ASSERT_FALSE(missing.chunks.empty());
      free.PutBack(missing.chunks, missing.region, false);
    }
    EXPECT_EQ(free.free(), 9 - count);
  }
}

}  // namespace
}  // namespace braid::pool
