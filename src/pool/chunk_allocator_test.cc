// Tests of the allocator of a pool's chunks: states and generations, reserves, and extents. Runs
// that are kept are in kept_run_test.cc, growth ahead of writes in pool_growth_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::pool {
namespace {

using format::ChunkKind;

/// Every new pool has them.
constexpr uint64_t kFirstRedoChunks = 2;

class ChunkAllocatorTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kChunkBytes = 16u << 10;
  static constexpr uint64_t kHeader = sizeof(format::ExtentHeader);
  static constexpr uint64_t kReserve = 4;  // of a pool as small as this one

  static Options Limited() {
    Options options = test::PoolOfSmallChunks();
    options.pool.max_bytes = options.pool.initial_bytes;
    return options;
  }
  void TearDown() override {
    if (pool_.get() != nullptr) ExpectSound();
  }
  void ExpectSound(uint64_t redo_chunks = kFirstRedoChunks) {
    EXPECT_EQ(pool_->free_chunks() + pool_->used_chunks(), pool_->chunks());
    EXPECT_EQ(pool_->CheckAllocator(redo_chunks), std::vector<std::string>{});
  }
  Result<uint64_t> Try(AllocationClass allocation, ChunkKind kind = ChunkKind::kLog) {
    return pool_->AllocateLogChunk({}, kind, allocation);
  }
  uint64_t Allocate(ChunkKind kind = ChunkKind::kLog) {
    const Result<uint64_t> chunk = Try(AllocationClass::kBackground, kind);
    EXPECT_TRUE(chunk.ok()) << chunk.status().ToString();
    return chunk.ok() ? *chunk : 0;
  }
  /// All that this class may have.
  std::vector<uint64_t> AllocateAll(AllocationClass allocation) {
    std::vector<uint64_t> taken;
    for (;;) {
      const Result<uint64_t> chunk = Try(allocation);
      if (!chunk.ok()) {
        EXPECT_TRUE(chunk.status().IsOutOfSpace()) << chunk.status().ToString();
        return taken;
      }
      taken.push_back(*chunk);
    }
  }
  /// Of a value that takes `chunks`.
  static uint64_t BytesOf(uint64_t chunks) { return chunks * kChunkBytes - kHeader; }
  Result<uint64_t> TryExtent(uint64_t chunks, AllocationClass allocation) {
    return pool_->AllocateExtent(BytesOf(chunks), 0, allocation);
  }
  uint64_t Extent(uint64_t chunks) {
    const Result<uint64_t> extent = TryExtent(chunks, AllocationClass::kBackground);
    EXPECT_TRUE(extent.ok()) << extent.status().ToString();
    return extent.ok() ? *extent : 0;
  }
  ChunkKind KindOf(uint64_t chunk) const { return pool_->StateOf(chunk).kind(); }
  uint32_t GenerationOf(uint64_t chunk) const { return pool_->StateOf(chunk).generation(); }

  test::TestPool pool_{[](PmemPool*) { return Status::OK(); }, Limited()};
};

TEST_F(ChunkAllocatorTest, AChunkIsOfItsKindUntilItIsFreed) {
  for (const ChunkKind kind :
       {ChunkKind::kLog, ChunkKind::kCollected, ChunkKind::kWriteAhead, ChunkKind::kCopied}) {
    const uint64_t chunk = Allocate(kind);
    EXPECT_EQ(KindOf(chunk), kind);
    EXPECT_TRUE(pool_->StateOf(chunk).IsValid(chunk));
    pool_->FreeChunk(chunk);
    EXPECT_EQ(KindOf(chunk), ChunkKind::kFree);
    EXPECT_TRUE(pool_->StateOf(chunk).IsValid(chunk));
  }
}

TEST_F(ChunkAllocatorTest, EachLifeHasAHigherGeneration) {
  const uint64_t chunk = Allocate();
  uint32_t last = GenerationOf(chunk);
  EXPECT_GT(last, 0u);
  for (int life = 0; life < 5; ++life) {
    pool_->FreeChunk(chunk);
    EXPECT_EQ(GenerationOf(chunk), last) << "until the next one begins";
    ASSERT_EQ(Allocate(), chunk) << "what was freed last is warm, and taken first";
    EXPECT_EQ(GenerationOf(chunk), last + 1);
    last = GenerationOf(chunk);
  }
}

TEST_F(ChunkAllocatorTest, LivesBeginAboveTheFloor) {
  const uint64_t chunk = Allocate();
  pool_->FreeChunk(chunk);
  ASSERT_TRUE(pool_->RaiseGenerations().ok());
  const uint64_t floor = pool_->header().generation_floor;
  EXPECT_GT(floor, GenerationOf(chunk));
  ASSERT_EQ(Allocate(), chunk);
  EXPECT_EQ(GenerationOf(chunk), floor);
  const uint64_t extent = pool_->ChunkOf(Extent(2));
  EXPECT_EQ(GenerationOf(extent), floor);
  EXPECT_EQ(GenerationOf(extent + 1), floor);
}

TEST_F(ChunkAllocatorTest, AHeaderIsSealedForTheLifeItBegins) {
  const uint64_t earlier = Allocate();
  pool_->FreeChunk(earlier);
  format::LogChunkHeader header{};
  header.table_id = 7;
  header.shard = 3;
  header.ordinal = 5;
  header.previous_used = 1234;
  header.within_unit = 1;
  const Result<uint64_t> chunk =
      pool_->AllocateLogChunk(header, ChunkKind::kLog, AllocationClass::kWrite);
  ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
  ASSERT_EQ(*chunk, earlier);
  const Result<log::LogChunk> read = log::ReadLogChunk(*pool_, *chunk);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->table_id, 7u);
  EXPECT_EQ(read->shard, 3u);
  EXPECT_EQ(read->ordinal, 5u);
  EXPECT_EQ(read->previous_used, 1234u);
  EXPECT_TRUE(read->within_unit);
}

TEST_F(ChunkAllocatorTest, NoChunkIsGivenOutTwice) {
  const uint64_t free = pool_->free_chunks();
  const std::vector<uint64_t> taken = AllocateAll(AllocationClass::kBackground);
  EXPECT_EQ(taken.size(), free);
  EXPECT_EQ(std::set<uint64_t>(taken.begin(), taken.end()).size(), free);
  EXPECT_EQ(pool_->free_chunks(), 0u);
  EXPECT_EQ(pool_->used_chunks(), pool_->chunks());
}

TEST_F(ChunkAllocatorTest, WhatIsFreeCanBeUsedAgain) {
  const std::vector<uint64_t> taken = AllocateAll(AllocationClass::kBackground);
  pool_->FreeChunk(taken[3]);
  pool_->FreeChunk(taken[17]);
  EXPECT_EQ(pool_->free_chunks(), 2u);
  EXPECT_EQ((std::set<uint64_t>{Allocate(), Allocate()}),
            (std::set<uint64_t>{taken[3], taken[17]}));
  EXPECT_TRUE(Try(AllocationClass::kBackground).status().IsOutOfSpace());
}

TEST_F(ChunkAllocatorTest, FreeingWhatIsFreeOrAHeaderChangesNothing) {
  const uint64_t chunk = Allocate();
  pool_->FreeChunk(chunk);
  const uint64_t free = pool_->free_chunks();
  pool_->FreeChunk(chunk);
  pool_->FreeChunk(0);
  EXPECT_EQ(KindOf(0), ChunkKind::kMeta);
  EXPECT_EQ(pool_->free_chunks(), free);
}

TEST_F(ChunkAllocatorTest, PlainChunksAreFreedAsSuchAlone) {
  const uint64_t free = pool_->free_chunks();
  const Result<uint64_t> redo = pool_->AllocatePlainChunk(ChunkKind::kRedo);
  const Result<uint64_t> extension = pool_->AllocatePlainChunk(ChunkKind::kManifest);
  ASSERT_TRUE(redo.ok() && extension.ok());
  ExpectSound(kFirstRedoChunks + 1);
  for (const uint64_t chunk : {*redo, *extension}) {
    const ChunkKind kind = KindOf(chunk);
    pool_->FreeChunk(chunk);
    EXPECT_EQ(KindOf(chunk), kind);
    pool_->FreePlainChunk(chunk);
    EXPECT_EQ(KindOf(chunk), ChunkKind::kFree);
  }
  const uint64_t log = Allocate();
  pool_->FreePlainChunk(log);
  EXPECT_EQ(KindOf(log), ChunkKind::kLog);
  EXPECT_EQ(pool_->free_chunks(), free - 1);
}

TEST_F(ChunkAllocatorTest, TheLastChunksAreForDeletesAndThenForTheBackground) {
  AllocateAll(AllocationClass::kWrite);
  EXPECT_EQ(pool_->free_chunks(), kReserve);
  EXPECT_EQ(pool_->spare_chunks(), 0);
  AllocateAll(AllocationClass::kDelete);
  EXPECT_EQ(pool_->free_chunks(), kReserve / 2);
  EXPECT_EQ(pool_->spare_chunks(), -static_cast<int64_t>(kReserve / 2));
  AllocateAll(AllocationClass::kBackground);
  EXPECT_EQ(pool_->free_chunks(), 0u);
}

TEST_F(ChunkAllocatorTest, ValuesLeaveTheReservesAloneToo) {
  const std::vector<uint64_t> all = AllocateAll(AllocationClass::kBackground);
  const uint64_t lowest = *std::min_element(all.begin(), all.end());
  constexpr uint64_t kFree = 10;  // in a row
  for (uint64_t i = 0; i < kFree; ++i) pool_->FreeChunk(lowest + i);
  ASSERT_EQ(pool_->free_chunks(), kFree);
  EXPECT_TRUE(TryExtent(kFree - kReserve + 1, AllocationClass::kWrite).status().IsOutOfSpace());
  EXPECT_TRUE(TryExtent(kFree - kReserve, AllocationClass::kWrite).ok());
}

TEST_F(ChunkAllocatorTest, AWriteAheadLogKeepsRoomForItsCopies) {
  constexpr uint64_t kLogs = 3;
  std::vector<uint64_t> logs;
  for (uint64_t i = 0; i < kLogs; ++i) logs.push_back(Allocate(ChunkKind::kWriteAhead));
  EXPECT_EQ(pool_->write_ahead_chunks(), kLogs);
  AllocateAll(AllocationClass::kWrite);
  EXPECT_EQ(pool_->free_chunks(), kReserve + 2 * kLogs);
  AllocateAll(AllocationClass::kDelete);
  EXPECT_EQ(pool_->free_chunks(), kReserve / 2 + 2 * kLogs);
  pool_->FreeChunk(logs[0]);
  pool_->KeepWriteAhead(logs[1]);
  EXPECT_EQ(KindOf(logs[1]), ChunkKind::kLog);
  EXPECT_EQ(pool_->write_ahead_chunks(), 1u);
  AllocateAll(AllocationClass::kWrite);
  EXPECT_EQ(pool_->free_chunks(), kReserve + 2);
}

TEST_F(ChunkAllocatorTest, AWriteAheadChunkThatIsKeptStaysInItsLife) {
  const uint64_t ahead = Allocate(ChunkKind::kWriteAhead);
  const uint32_t generation = GenerationOf(ahead);
  pool_->KeepWriteAhead(ahead);
  EXPECT_EQ(GenerationOf(ahead), generation) << "or its entries would not verify";
  pool_->KeepWriteAhead(ahead);
  EXPECT_EQ(pool_->write_ahead_chunks(), 0u) << "once is enough";
  const uint64_t copied = Allocate(ChunkKind::kCopied);
  pool_->KeepWriteAhead(copied);
  EXPECT_EQ(KindOf(copied), ChunkKind::kCopied);
}

TEST_F(ChunkAllocatorTest, AFullPoolSaysHowLargeItMayBe) {
  AllocateAll(AllocationClass::kBackground);
  const Status full = Try(AllocationClass::kBackground).status();
  EXPECT_NE(full.message().find("pool.max_bytes is " + std::to_string(pool_->max_bytes())),
            std::string_view::npos)
      << full.ToString();
}

TEST_F(ChunkAllocatorTest, AnExtentTakesNeighboursThatItsHeadNames) {
  const uint64_t free = pool_->free_chunks();
  const uint64_t owner = pool_->ChunkOffset(9) + 64;
  const Result<uint64_t> extent = pool_->AllocateExtent(BytesOf(3), owner, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  EXPECT_EQ(pool_->free_chunks(), free - 3);
  const uint64_t first = pool_->ChunkOf(*extent);
  EXPECT_EQ(*extent, pool_->ChunkOffset(first));
  EXPECT_EQ(KindOf(first), ChunkKind::kExtentHead);
  EXPECT_EQ(KindOf(first + 1), ChunkKind::kExtentBody);
  EXPECT_EQ(KindOf(first + 2), ChunkKind::kExtentBody);
  const format::ExtentHeader* header = pool_->ExtentAt(*extent);
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->chunks, 3u);
  EXPECT_EQ(header->value_bytes, BytesOf(3));
  EXPECT_EQ(header->owner, owner);
  EXPECT_EQ(header->generation, GenerationOf(first));
  pool_->FreeExtent(*extent);
  EXPECT_EQ(pool_->free_chunks(), free);
  EXPECT_EQ(pool_->ExtentAt(*extent), nullptr);
}

TEST_F(ChunkAllocatorTest, AValueTakesAChunkMoreOnlyWhereItMust) {
  EXPECT_EQ(pool_->ExtentChunks(1), 1u);
  EXPECT_EQ(pool_->ExtentChunks(kChunkBytes - kHeader), 1u);
  EXPECT_EQ(pool_->ExtentChunks(kChunkBytes - kHeader + 1), 2u);
  EXPECT_EQ(pool_->ExtentChunks(5 * kChunkBytes - kHeader), 5u);
}

TEST_F(ChunkAllocatorTest, ChunksOfAnExtentHaveGenerationsOfTheirOwn) {
  const uint64_t one = Extent(3);
  const uint64_t first = pool_->ChunkOf(one);
  pool_->FreeExtent(one);
  for (int life = 0; life < 3; ++life) {
    const uint64_t chunk = Allocate();
    pool_->FreeChunk(chunk);
  }
  std::vector<uint32_t> before;
  for (uint64_t i = 0; i < 3; ++i) before.push_back(GenerationOf(first + i));
  ASSERT_EQ(Extent(3), one);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(GenerationOf(first + i), before[i] + 1) << i;
}

TEST_F(ChunkAllocatorTest, WhatIsReservedIsNoExtentUntilItIsBound) {
  const uint64_t free = pool_->free_chunks();
  const Result<uint64_t> extent = pool_->ReserveExtent(BytesOf(2), 0, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  const uint64_t first = pool_->ChunkOf(*extent);
  EXPECT_EQ(KindOf(first), ChunkKind::kExtentBody);
  EXPECT_EQ(KindOf(first + 1), ChunkKind::kExtentBody);
  pool_->FreeExtent(*extent);
  EXPECT_EQ(pool_->free_chunks(), free - 2) << "it is none";
  pool_->BindExtent(*extent, BytesOf(2), 4711);
  ASSERT_NE(pool_->ExtentAt(*extent), nullptr);
  EXPECT_EQ(pool_->ExtentAt(*extent)->owner, 4711u);
}

TEST_F(ChunkAllocatorTest, WhatIsReservedCanBeGivenBack) {
  const uint64_t free = pool_->free_chunks();
  const Result<uint64_t> extent = pool_->ReserveExtent(BytesOf(3), 0, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  pool_->CancelExtent(*extent, BytesOf(3));
  EXPECT_EQ(pool_->free_chunks(), free);
}

TEST_F(ChunkAllocatorTest, AnExtentIsThereOnlyAsAWhole) {
  const uint64_t extent = Extent(3);
  EXPECT_EQ(pool_->ExtentAt(extent + 64), nullptr) << "its begin, or nothing";
  EXPECT_EQ(pool_->ExtentAt(extent + kChunkBytes), nullptr) << "a body is no head";
  EXPECT_EQ(pool_->ExtentAt(pool_->ChunkOffset(pool_->chunks())), nullptr);
  for (uint64_t byte = 0; byte < kHeader; ++byte) {
    *pool_->At(extent + byte) ^= 1;
    EXPECT_EQ(pool_->ExtentAt(extent), nullptr) << byte;
    *pool_->At(extent + byte) ^= 1;
  }
  EXPECT_NE(pool_->ExtentAt(extent), nullptr);
  pool_->FreeChunk(pool_->ChunkOf(extent) + 2);
  EXPECT_EQ(pool_->ExtentAt(extent), nullptr) << "its last chunk is another's by now";
}

TEST_F(ChunkAllocatorTest, AnExtentThatClaimsMoreOrLessThanItsValueIsNone) {
  const uint64_t extent = Extent(2);
  auto* header = pool_->As<format::ExtentHeader>(extent);
  const format::ExtentHeader sound = *header;
  for (const uint64_t bytes : {BytesOf(1), BytesOf(2) + 1, ~uint64_t{0}}) {
    header->value_bytes = bytes;
    header->check = format::StructCheck(*header, extent);
    EXPECT_EQ(pool_->ExtentAt(extent), nullptr) << bytes;
  }
  *header = sound;
  EXPECT_NE(pool_->ExtentAt(extent), nullptr);
}

TEST_F(ChunkAllocatorTest, TheShortestRunThatWillDoIsTaken) {
  const std::vector<uint64_t> all = AllocateAll(AllocationClass::kBackground);
  const std::set<uint64_t> sorted(all.begin(), all.end());
  const uint64_t low = *sorted.begin();
  ASSERT_TRUE(sorted.contains(low + 30));
  const auto free_run = [&](uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) pool_->FreeChunk(first + i);
  };
  free_run(low + 1, 6);
  free_run(low + 10, 3);
  free_run(low + 20, 2);
  free_run(low + 25, 5);
  EXPECT_EQ(pool_->ChunkOf(Extent(3)), low + 10);
  EXPECT_EQ(pool_->ChunkOf(Extent(3)), low + 25) << "its lowest chunks";
  EXPECT_EQ(pool_->ChunkOf(Extent(6)), low + 1);
  EXPECT_EQ(pool_->ChunkOf(Extent(2)), low + 20);
  EXPECT_EQ(pool_->ChunkOf(Extent(2)), low + 28);
  EXPECT_EQ(pool_->free_chunks(), 0u);
}

TEST_F(ChunkAllocatorTest, ChunksThatLieApartAreNoRun) {
  const std::vector<uint64_t> all = AllocateAll(AllocationClass::kBackground);
  const std::set<uint64_t> sorted(all.begin(), all.end());
  for (uint64_t chunk = *sorted.begin() + 1; sorted.contains(chunk); chunk += 2) {
    pool_->FreeChunk(chunk);
  }
  ASSERT_GT(pool_->free_chunks(), 20u);
  EXPECT_TRUE(TryExtent(2, AllocationClass::kBackground).status().IsOutOfSpace());
  EXPECT_FALSE(pool_->HasRun(2));
  EXPECT_TRUE(pool_->HasRun(1));
  EXPECT_TRUE(TryExtent(1, AllocationClass::kBackground).ok());
}

TEST_F(ChunkAllocatorTest, AnEntryHasTheExtentThatNamesItInTurn) {
  test::LogEntries entries(pool_.get(), 7);
  const std::string value(2 * kChunkBytes, 'x');
  const uint64_t large = entries.Put("large", value);
  const uint64_t small = entries.Put("small", "value");
  const uint64_t extent = pool_->ExtentOf(large);
  ASSERT_NE(extent, 0u);
  EXPECT_EQ(pool_->ExtentOf(small), 0u);
  auto* header = pool_->As<format::ExtentHeader>(extent);
  header->owner = small;
  header->check = format::StructCheck(*header, extent);
  EXPECT_EQ(pool_->ExtentOf(large), 0u);
  EXPECT_EQ(pool_->ExtentOf(small), 0u);
}

TEST_F(ChunkAllocatorTest, EntriesAreFoundOnlyInChunksThatHoldThem) {
  test::LogEntries entries(pool_.get(), 7);
  const uint64_t entry = entries.Put("key", "value");
  ASSERT_NE(pool_->EntryAt(entry), nullptr);
  EXPECT_EQ(pool_->EntryAt(entry + 4), nullptr) << "not aligned";
  EXPECT_EQ(pool_->EntryAt(pool_->ChunkOffset(pool_->ChunkOf(entry))), nullptr) << "the header";
  EXPECT_EQ(pool_->EntryAt(pool_->ChunkOffset(pool_->chunks()) + 64), nullptr);
  EXPECT_TRUE(pool_->IsEntryRoom(entry, kChunkBytes - (entry & (kChunkBytes - 1))));
  EXPECT_FALSE(pool_->IsEntryRoom(entry, kChunkBytes - (entry & (kChunkBytes - 1)) + 1));
  pool_->FreeChunk(pool_->ChunkOf(entry));
  EXPECT_EQ(pool_->EntryAt(entry), nullptr);
  EXPECT_FALSE(pool_->IsEntryRoom(entry, 8));
}

TEST_F(ChunkAllocatorTest, AnOpenFindsWhatWasAllocated) {
  const uint64_t log = Allocate();
  const uint64_t freed = Allocate();
  pool_->FreeChunk(freed);
  const uint64_t ahead = Allocate(ChunkKind::kWriteAhead);
  const uint64_t extent = Extent(3);
  const uint64_t free = pool_->free_chunks();
  std::vector<uint64_t> states;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    states.push_back(pool_->StateOf(chunk).raw);
  }
  pool_.TakePool().reset();
  Result<std::unique_ptr<media::Media>> media =
      media::OpenFileMedia(pool_.path(), Limited().pool, false);
  ASSERT_TRUE(media.ok()) << media.status().ToString();
  Result<std::unique_ptr<PmemPool>> again = PmemPool::Open(std::move(media).value(), Limited(), {});
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  PmemPool& pool = **again;
  ASSERT_EQ(pool.chunks(), states.size());
  for (uint64_t chunk = 0; chunk < pool.chunks(); ++chunk) {
    EXPECT_EQ(pool.StateOf(chunk).raw, states[chunk]) << chunk;
  }
  EXPECT_EQ(pool.free_chunks(), free);
  EXPECT_EQ(pool.write_ahead_chunks(), 1u);
  EXPECT_EQ(pool.StateOf(log).kind(), ChunkKind::kLog);
  EXPECT_EQ(pool.StateOf(ahead).kind(), ChunkKind::kWriteAhead);
  EXPECT_NE(pool.ExtentAt(extent), nullptr);
  EXPECT_EQ(pool.CheckAllocator(kFirstRedoChunks), std::vector<std::string>{});
}

TEST(GrowingAllocatorTest, APoolWithoutALimitGrowsForAChunkAndForARun) {
  test::TestPool pool;
  const uint64_t before = pool->chunks();
  while (pool->free_chunks() > 0) {
    ASSERT_TRUE(pool->AllocateLogChunk({}, ChunkKind::kLog, AllocationClass::kBackground).ok());
  }
  const Result<uint64_t> chunk =
      pool->AllocateLogChunk({}, ChunkKind::kLog, AllocationClass::kBackground);
  ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
  EXPECT_GE(*chunk, before);
  EXPECT_GT(pool->chunks(), before);
  const uint64_t many = pool->chunks();
  const Result<uint64_t> extent =
      pool->AllocateExtent(many * pool->chunk_bytes(), 0, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  EXPECT_NE(pool->ExtentAt(*extent), nullptr);
  EXPECT_EQ(pool->free_chunks() + pool->used_chunks(), pool->chunks());
  EXPECT_EQ(pool->CheckAllocator(kFirstRedoChunks), std::vector<std::string>{});
}

TEST(AllocatorOfRegionsTest, AChunkComesFromTheRegionOfItsShardUntilThatIsFull) {
  Options options = test::PoolOfSmallChunks(128);
  options.pool.regions = 2;
  options.pool.max_bytes = options.pool.initial_bytes;
  test::TestPool pool([](PmemPool*) { return Status::OK(); }, options);
  format::LogChunkHeader header{};
  header.shard = 5;
  while (pool->free_chunks_of(1) > 0) {
    const Result<uint64_t> chunk =
        pool->AllocateLogChunk(header, ChunkKind::kLog, AllocationClass::kBackground);
    ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
    ASSERT_EQ(pool->RegionOfChunk(*chunk), 1u);
  }
  EXPECT_EQ(pool->region_fallbacks(), 0u);
  const Result<uint64_t> far =
      pool->AllocateLogChunk(header, ChunkKind::kLog, AllocationClass::kBackground);
  ASSERT_TRUE(far.ok()) << far.status().ToString();
  EXPECT_EQ(pool->RegionOfChunk(*far), 0u);
  EXPECT_EQ(pool->region_fallbacks(), 1u);
  pool->FreeChunk(*far);
  EXPECT_EQ(pool->CheckAllocator(kFirstRedoChunks), std::vector<std::string>{});
}

}  // namespace
}  // namespace braid::pool
