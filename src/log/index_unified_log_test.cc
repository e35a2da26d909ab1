// Tests of the log of a memtable: the room of entries, chunks and extents, what lies in them, and
// what a failure leaves.
#include "log/index_unified_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::log {
namespace {

using format::EntryHeader;
using pool::AllocationClass;
using test::PendingOf;

class IndexUnifiedLogTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kTableId = 7;
  static constexpr uint64_t kChunkBytes = 16u << 10;
  static constexpr uint64_t kRoom = kChunkBytes - sizeof(format::LogChunkHeader);

  static Options Limited() {
    Options options = test::PoolOfSmallChunks();
    options.pool.max_bytes = options.pool.initial_bytes;
    return options;
  }
  Status Reserve(std::vector<PendingEntry>* entries, uint32_t shard = 0,
                 AllocationClass allocation = AllocationClass::kWrite) {
    return log_.Reserve(shard, entries->data(), entries->size(), 42, allocation);
  }
  PendingEntry Reserved(const PendingEntry& pending, uint32_t shard = 0) {
    std::vector<PendingEntry> one{pending};
    const Status s = Reserve(&one, shard);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return one[0];
  }
  PendingEntry Low(std::string_view key, std::string_view value) {
    PendingEntry pending = PendingOf(key, value);
    pending.wanted_height = 1;
    return pending;
  }
  static uint64_t BytesOf(const PendingEntry& entry) {
    return EntryHeader::EntryBytes(entry.key.size(), entry.stored_value().size(), entry.height);
  }
  EntryHeader* EntryOf(const PendingEntry& entry) { return pool_->EntryAt(entry.offset); }
  /// All chunks that there are to be had.
  void FillPool() {
    while (pool_->AllocateLogChunk({}, format::ChunkKind::kLog, AllocationClass::kBackground).ok())
      continue;
  }

  test::TestPool pool_{[](pool::PmemPool*) { return Status::OK(); }, Limited()};
  test::LogEntries entries_{pool_.get(), kTableId};
  IndexUnifiedLog& log_ = entries_.log();
};

TEST_F(IndexUnifiedLogTest, EntriesLieOneBehindTheOther) {
  EXPECT_EQ(log_.room(0), 0u) << "it has no chunk yet";
  const PendingEntry a = Reserved(Low("a", "value"));
  log_.Commit(0);
  EXPECT_EQ(a.offset, pool_->ChunkOffset(log_.chunks().at(0)) + sizeof(format::LogChunkHeader));
  EXPECT_EQ(log_.room(0), kRoom - BytesOf(a));
  const PendingEntry b = Reserved(Low("b", "value"));
  EXPECT_EQ(b.offset, a.offset + BytesOf(a));
}

TEST_F(IndexUnifiedLogTest, TheFirstEntryTellsHowItIsKept) {
  using Kind = format::ChunkKind;
  const auto kind_after = [&](std::vector<size_t> value_bytes) {
    IndexUnifiedLog log(pool_.get(), kTableId + 1, 2, IndexUnifiedLog::ByFirstEntry{1000});
    EXPECT_EQ(log.kind(), std::nullopt) << "it has no entry yet";
    for (uint32_t shard = 0; shard < 2; ++shard) {
      const std::string value(value_bytes.at(shard), 'v');
      PendingEntry pending = Low("key", value);
      EXPECT_TRUE(log.Reserve(shard, &pending, 1, 42, AllocationClass::kWrite).ok());
      EXPECT_EQ(pool_->StateOf(pool_->ChunkOf(pending.offset)).kind(), log.kind());
      log.Commit(shard);
    }
    return log.kind();
  };
  EXPECT_EQ(kind_after({10, 10}), Kind::kWriteAhead);
  EXPECT_EQ(kind_after({10, 2000}), Kind::kWriteAhead) << "of all chunks of a log";
  EXPECT_EQ(kind_after({2000, 10}), Kind::kLog);
}

TEST_F(IndexUnifiedLogTest, RoomThatIsNotCommittedIsUsedByTheNextEntry) {
  const PendingEntry first = Reserved(Low("first", "1"));
  log_.Commit(0);
  const PendingEntry given_up = Reserved(Low("given up", "2"));
  EXPECT_EQ(Reserved(Low("next", "3")).offset, given_up.offset);
  EXPECT_NE(given_up.offset, first.offset);
}

TEST_F(IndexUnifiedLogTest, RollbackGivesBackChunksAndRoom) {
  const PendingEntry first = Reserved(Low("first", "1"));
  log_.Commit(0);
  const uint64_t free = pool_->free_chunks();
  const std::string value(kChunkBytes / 2, 'v');
  std::vector<PendingEntry> batch(6, Low("key", value));
  ASSERT_TRUE(Reserve(&batch).ok());
  EXPECT_EQ(pool_->free_chunks(), free - 5);
  log_.Rollback(0, batch.data(), batch.size());
  EXPECT_EQ(pool_->free_chunks(), free);
  EXPECT_EQ(log_.chunks().size(), 1u);
  EXPECT_EQ(Reserved(Low("next", "2")).offset, first.offset + BytesOf(first));
}

TEST_F(IndexUnifiedLogTest, ChunksThatAreGivenBackLeaveNoGapInTheOrdinals) {
  const std::string value(kChunkBytes / 2, 'v');
  entries_.Put("a", value);
  std::vector<PendingEntry> batch(3, Low("key", value));
  ASSERT_TRUE(Reserve(&batch).ok());
  log_.Rollback(0, batch.data(), batch.size());
  entries_.Put("b", value);
  const std::vector<LogChunk> chunks = entries_.Chunks();
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[1].ordinal, 1u);
}

TEST_F(IndexUnifiedLogTest, AChunkRecordsHowMuchOfTheOneBeforeIsUsed) {
  const std::string value(kChunkBytes / 3, 'v');
  const PendingEntry a = Reserved(Low("a", value));
  log_.Commit(0);
  const PendingEntry b = Reserved(Low("b", value));
  log_.Commit(0);
  Reserved(Low("c", value));
  log_.Commit(0);
  const std::vector<LogChunk> chunks = entries_.Chunks();
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].table_id, kTableId);
  EXPECT_EQ(chunks[0].ordinal, 0u);
  EXPECT_EQ(chunks[0].previous_used, 0u);
  EXPECT_EQ(chunks[1].ordinal, 1u);
  EXPECT_EQ(chunks[1].previous_used, sizeof(format::LogChunkHeader) + BytesOf(a) + BytesOf(b));
}

TEST_F(IndexUnifiedLogTest, AChunkTellsWhetherItWasTakenWithinAWrite) {
  const std::string value(kChunkBytes / 2, 'v');
  entries_.Append({Low("a", value)});
  entries_.Append({Low("b", value)});                     // begins a chunk, and a write
  entries_.Append({Low("c", "small"), Low("d", value)});  // begins in a chunk that is there
  const std::vector<LogChunk> chunks = entries_.Chunks();
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_FALSE(chunks[0].within_unit);
  EXPECT_FALSE(chunks[1].within_unit);
  EXPECT_TRUE(chunks[2].within_unit);
}

TEST_F(IndexUnifiedLogTest, ShardsShareNothing) {
  const PendingEntry left = Reserved(Low("left", "1"), 0);
  log_.Commit(0);
  const PendingEntry right = Reserved(Low("right", "2"), 1);
  EXPECT_NE(pool_->ChunkOf(left.offset), pool_->ChunkOf(right.offset));
  EXPECT_EQ(log_.room(1), 0u) << "nothing is committed there";
  std::vector<PendingEntry> given_up{right};
  log_.Rollback(1, given_up.data(), 1);
  EXPECT_EQ(log_.chunks().size(), 1u);
  EXPECT_EQ(Reserved(Low("next", "3"), 0).offset, left.offset + BytesOf(left));
  log_.Commit(0);
  entries_.Put("right", "4", 1);
  EXPECT_EQ(entries_.Chunks(0).size(), 1u);
  ASSERT_EQ(entries_.Chunks(1).size(), 1u);
  EXPECT_EQ(entries_.Chunks(1)[0].ordinal, 0u);
}

TEST_F(IndexUnifiedLogTest, WhatIsPublishedIsThereWithAllThatWasSaid) {
  PendingEntry entry = Reserved(PendingOf("key", "value", format::EntryOp::kDelete));
  log_.WritePayload(&entry);
  log_.Publish(entry, 99, format::kFirstOfUnit, 0);
  const EntryHeader* written = EntryOf(entry);
  ASSERT_NE(written, nullptr);
  EXPECT_EQ(written->key(), "key");
  EXPECT_EQ(written->value(), "value");
  EXPECT_EQ(written->op(), format::EntryOp::kDelete);
  EXPECT_EQ(written->sequence(), 99u);
  EXPECT_EQ(written->flags(), format::kFirstOfUnit);
  EXPECT_EQ(written->height(), entry.height);
  EXPECT_EQ(written->state(), format::kStateLive);
  EXPECT_TRUE(EntryVerifies(*pool_, entry.offset));
}

TEST_F(IndexUnifiedLogTest, OnlyWhatIsPublishedVerifies) {
  PendingEntry entry = Reserved(Low("key", "value"));
  EXPECT_FALSE(EntryVerifies(*pool_, entry.offset));
  log_.WritePayload(&entry);
  EXPECT_FALSE(EntryVerifies(*pool_, entry.offset));
  log_.Publish(entry, 1, format::kFirstOfUnit, 0);
  EXPECT_TRUE(EntryVerifies(*pool_, entry.offset));
}

TEST_F(IndexUnifiedLogTest, EntriesOfAWriteAreChained) {
  const std::vector<uint64_t> batch =
      entries_.Append({PendingOf("a", "1"), PendingOf("b", "2"), PendingOf("c", "3")});
  std::vector<uint8_t> flags;
  for (const uint64_t offset : batch) flags.push_back(pool_->EntryAt(offset)->flags());
  EXPECT_EQ(flags, (std::vector<uint8_t>{format::kFirstOfUnit | format::kMoreOfUnit,
                                         format::kMoreOfUnit, 0}));
}

TEST_F(IndexUnifiedLogTest, AVersionLeadsToTheOneItReplaces) {
  const uint64_t older = entries_.Put("key", "1");
  PendingEntry newer = Reserved(Low("key", "2"));
  log_.WritePayload(&newer);
  log_.Publish(newer, 2, format::kFirstOfUnit, older);
  EXPECT_EQ(EntryOf(newer)->links()[0], pool_->LinkTo(older).raw);
}

TEST_F(IndexUnifiedLogTest, UpperLinksLeadToTheNextOlderVersionThatIsTallEnough) {
  uint64_t older = 0;
  std::vector<uint64_t> versions;
  for (const uint32_t height : {3, 1, 2, 3}) {
    PendingEntry version = PendingOf("key", "value");
    version.wanted_height = height;
    version = Reserved(version);
    log_.WritePayload(&version);
    log_.Publish(version, versions.size() + 1, format::kFirstOfUnit, older);
    log_.Commit(0);
    versions.push_back(older = version.offset);
  }
  const uint64_t* links = pool_->EntryAt(versions[3])->links();
  EXPECT_EQ(links[0], pool_->LinkTo(versions[2]).raw);
  EXPECT_EQ(links[1], pool_->LinkTo(versions[2]).raw);
  EXPECT_EQ(links[2], pool_->LinkTo(versions[0]).raw);
}

TEST_F(IndexUnifiedLogTest, WithoutAnOlderVersionNoLinkOfAnEarlierLifeRemains) {
  PendingEntry entry = PendingOf("key", "value");
  entry.wanted_height = format::kMaxHeight;
  entry = Reserved(entry);
  std::memset(pool_->At(entry.offset), 0xAB, BytesOf(entry));
  log_.WritePayload(&entry);
  log_.Publish(entry, 1, format::kFirstOfUnit, 0);
  for (uint32_t layer = 0; layer < format::kMaxHeight; ++layer) {
    EXPECT_EQ(EntryOf(entry)->links()[layer], 0u) << layer;
  }
}

TEST_F(IndexUnifiedLogTest, OneInFourReachesTheNextLayer) {
  constexpr int kDraws = 20'000;
  entries_.Put("first", "has a chunk");
  std::vector<int> reach(format::kMaxHeight + 1);
  PendingEntry one = PendingOf("k", "v");
  for (uint64_t random = 0; random < kDraws; ++random) {
    ASSERT_TRUE(log_.Reserve(0, &one, 1, random, AllocationClass::kWrite).ok());
    ASSERT_GE(one.height, 1u);
    ASSERT_LE(one.height, format::kMaxHeight);
    for (uint32_t height = 1; height <= one.height; ++height) ++reach[height];
  }
  EXPECT_NEAR(reach[2], kDraws / 4, kDraws / 40);
  EXPECT_NEAR(reach[3], kDraws / 16, kDraws / 100);
}

TEST_F(IndexUnifiedLogTest, EntriesOfOneReserveDrawHeightsOfTheirOwn) {
  std::vector<PendingEntry> batch(200, PendingOf("k", "v"));
  ASSERT_TRUE(Reserve(&batch).ok());
  int tall = 0;
  for (const PendingEntry& entry : batch) tall += entry.height > 1 ? 1 : 0;
  EXPECT_GT(tall, 20);
  EXPECT_LT(tall, 100);
}

TEST_F(IndexUnifiedLogTest, ATowerGivesWayToAKeyThatNearlyFillsAChunk) {
  const std::string key(kRoom - sizeof(EntryHeader) - 3 * 8, 'k');
  PendingEntry entry = PendingOf(key, "");
  entry.wanted_height = 10;
  entry = Reserved(entry);
  EXPECT_EQ(entry.height, 3u);
  log_.WritePayload(&entry);
  log_.Publish(entry, 1, format::kFirstOfUnit, 0);
  EXPECT_TRUE(EntryVerifies(*pool_, entry.offset));
}

TEST_F(IndexUnifiedLogTest, AKeyThatFitsNoChunkIsRefused) {
  const uint64_t free = pool_->free_chunks();
  const std::string key(kRoom - sizeof(EntryHeader) - 8 + 1, 'k');
  std::vector<PendingEntry> batch{PendingOf("small", "1"), PendingOf(key, "2")};
  EXPECT_TRUE(Reserve(&batch).IsInvalidArgument());
  EXPECT_EQ(pool_->free_chunks(), free) << "the chunk of the first one, too";
  const std::string fits(key.size() - 1, 'k');
  batch = {PendingOf(fits, "")};
  EXPECT_TRUE(Reserve(&batch).ok());
}

TEST_F(IndexUnifiedLogTest, AFullPoolRefusesAWriteAndHoldsNothingOfIt) {
  const PendingEntry first = Reserved(Low("first", "1"));
  log_.Commit(0);
  const uint64_t free = pool_->free_chunks();
  const std::string value(kChunkBytes / 2, 'v');
  const std::string large(kChunkBytes, 'l');
  std::vector<PendingEntry> batch(100, Low("key", value));
  batch[0].value = large;
  const Status s = Reserve(&batch);
  EXPECT_TRUE(s.IsOutOfSpace()) << s.ToString();
  EXPECT_EQ(pool_->free_chunks(), free) << "neither chunks nor the extent";
  EXPECT_EQ(batch[0].extent, 0u);
  EXPECT_EQ(log_.chunks().size(), 1u);
  EXPECT_EQ(Reserved(Low("fits", "2")).offset, first.offset + BytesOf(first));
}

TEST_F(IndexUnifiedLogTest, DeletesFindRoomWhereWritesDoNot) {
  while (pool_->AllocateLogChunk({}, format::ChunkKind::kLog, AllocationClass::kWrite).ok())
    continue;
  std::vector<PendingEntry> one{PendingOf("key", "", format::EntryOp::kDelete)};
  EXPECT_TRUE(Reserve(&one, 0, AllocationClass::kWrite).IsOutOfSpace());
  EXPECT_TRUE(Reserve(&one, 0, AllocationClass::kDelete).ok());
}

TEST_F(IndexUnifiedLogTest, ALargeValueLiesInAnExtentOfItsOwn) {
  const std::string inline_value(LargestInlineValue(*pool_), 'i');
  PendingEntry small = Reserved(PendingOf("small", inline_value));
  EXPECT_EQ(small.extent, 0u) << "not yet large";
  log_.Commit(0);
  const std::string value(inline_value.size() + 1, 'x');
  PendingEntry large = Reserved(PendingOf("large", value));
  log_.WritePayload(&large);
  log_.Publish(large, 1, format::kFirstOfUnit, 0);
  ASSERT_NE(large.extent, 0u);
  EXPECT_TRUE(EntryOf(large)->has(format::kValueInExtent));
  EXPECT_TRUE(EntryVerifies(*pool_, large.offset));
  EXPECT_EQ(pool_->ExtentOf(large.offset), large.extent);
  const format::ExtentHeader* extent = pool_->ExtentAt(large.extent);
  ASSERT_NE(extent, nullptr);
  EXPECT_EQ(extent->owner, large.offset);
  EXPECT_EQ(std::string_view(pool_->At(large.extent) + sizeof *extent, extent->value_bytes), value);
}

TEST_F(IndexUnifiedLogTest, RollbackGivesBackExtents) {
  entries_.Put("first", "1");
  const uint64_t free = pool_->free_chunks();
  const std::string value(3 * kChunkBytes, 'x');
  std::vector<PendingEntry> batch{PendingOf("a", value), PendingOf("b", value)};
  ASSERT_TRUE(Reserve(&batch).ok());
  EXPECT_EQ(pool_->free_chunks(), free - 8);
  log_.Rollback(0, batch.data(), batch.size());
  EXPECT_EQ(pool_->free_chunks(), free);
  EXPECT_EQ(batch[1].extent, 0u);
}

TEST_F(IndexUnifiedLogTest, AReservedExtentBecomesTheEntrys) {
  const std::string value(2 * kChunkBytes, 'x');
  const Result<uint64_t> extent = pool_->ReserveExtent(value.size(), 0, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  WriteToExtent(pool_.get(), *extent, value);
  PendingEntry entry = PendingOf("key", value);
  entry.reserved = *extent;
  entry.extent_ref = {*extent, value.size(), base::Hash64(value)};
  const uint64_t free = pool_->free_chunks();
  entry = Reserved(entry);
  EXPECT_EQ(entry.extent, *extent);
  EXPECT_EQ(pool_->free_chunks(), free - 1) << "that of the entry; none for the value";
  const std::string another(value.size(), 'y');
  entry.value = another;  // the value is there already, and not copied again
  log_.WritePayload(&entry);
  log_.Publish(entry, 1, format::kFirstOfUnit, 0);
  EXPECT_EQ(pool_->ExtentOf(entry.offset), *extent);
  EXPECT_TRUE(EntryVerifies(*pool_, entry.offset));
}

TEST_F(IndexUnifiedLogTest, RollbackGivesBackAReservedExtentOnce) {
  const std::string value(2 * kChunkBytes, 'x');
  entries_.Put("first", "1");
  const uint64_t free = pool_->free_chunks();
  const Result<uint64_t> extent = pool_->ReserveExtent(value.size(), 0, AllocationClass::kWrite);
  ASSERT_TRUE(extent.ok()) << extent.status().ToString();
  std::vector<PendingEntry> one{PendingOf("key", value)};
  one[0].reserved = *extent;
  one[0].extent_ref = {*extent, value.size(), base::Hash64(value)};
  ASSERT_TRUE(Reserve(&one).ok());
  log_.Rollback(0, one.data(), 1);
  EXPECT_EQ(pool_->free_chunks(), free);
  EXPECT_EQ(one[0].reserved, 0u) << "another attempt must not bind it";
}

TEST_F(IndexUnifiedLogTest, AnExtentThatFindsNoRoomIsAFullPool) {
  entries_.Put("first", "1");
  FillPool();
  const std::string value(kChunkBytes, 'x');
  std::vector<PendingEntry> one{PendingOf("key", value)};
  EXPECT_TRUE(Reserve(&one).IsOutOfSpace());
  EXPECT_EQ(one[0].extent, 0u);
  one = {PendingOf("key", "small")};
  EXPECT_TRUE(Reserve(&one).ok()) << "there is room in the chunk";
}

#if !defined(NDEBUG) || defined(BRAID_CRASHSIM)

TEST(IndexUnifiedLogDeathTest, AChunkThatWasTakenIsNotForgottenByTheNextReserve) {
  // A child that is forked does not have the pool.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const test::TestPool pool;
  IndexUnifiedLog log(pool.get(), 1, 1);
  PendingEntry first = PendingOf("first", "1");
  PendingEntry next = PendingOf("next", "2");
  const AllocationClass allocation = AllocationClass::kWrite;
  ASSERT_TRUE(log.Reserve(0, &first, 1, 42, allocation).ok());
  EXPECT_DEATH((void)log.Reserve(0, &next, 1, 42, allocation), "new_chunks");
  log.Rollback(0, &first, 1);
  ASSERT_TRUE(log.Reserve(0, &next, 1, 42, allocation).ok());
  log.Commit(0);
}

#endif

}  // namespace
}  // namespace braid::log
