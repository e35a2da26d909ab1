// Tests of reading logs back: what counts, what is a torn tail, and what is damage.
#include "log/log_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::log {
namespace {

using format::EntryHeader;
using test::PendingOf;
using Offsets = std::vector<uint64_t>;

class LogReaderTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kChunkBytes = 16u << 10;

  /// Of what must be no damage.
  ShardLog Read(uint32_t shard = 0) {
    Result<ShardLog> log = ReadShardLog(*pool_, log_.Chunks(shard));
    EXPECT_TRUE(log.ok()) << log.status().ToString();
    return log.ok() ? std::move(log).value() : ShardLog{};
  }
  bool IsCorrupt() { return ReadShardLog(*pool_, log_.Chunks()).status().IsCorruption(); }
  void FlipAt(uint64_t offset) { *pool_->At(offset) ^= 1; }
  /// The last byte of what an entry holds: its key stays intact.
  void DamageValue(uint64_t entry) {
    const EntryHeader* header = pool_->EntryAt(entry);
    FlipAt(pool_->OffsetOf(header->value().data()) + header->value_bytes - 1);
  }
  void DamageKey(uint64_t entry) { FlipAt(pool_->OffsetOf(pool_->EntryAt(entry)->key_data())); }
  /// Writes until the log has two chunks; the places of all entries.
  Offsets WriteTwoChunks() {
    Offsets places;
    const std::string value(1000, 'v');
    while (log_.Chunks().size() < 2) places.push_back(log_.Put("key", value));
    return places;
  }

  test::TestPool pool_;
  test::LogEntries log_{pool_.get(), 7};
};

TEST_F(LogReaderTest, WholeWritesCountInTheirOrder) {
  Offsets all;
  const std::string value(3000, 'v');
  for (int i = 0; i < 20; ++i) {
    all.push_back(log_.Put("single", "value"));
    for (const uint64_t offset :
         log_.Append({PendingOf("a", value), PendingOf("b", ""), PendingOf("c", value)})) {
      all.push_back(offset);
    }
  }
  log_.Put("of another shard", "value", 1);
  ASSERT_GT(log_.Chunks().size(), 5u);
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, all);
  EXPECT_EQ(read.torn, Offsets{});
  EXPECT_EQ(read.max_sequence, log_.last_sequence() - 1);
}

TEST_F(LogReaderTest, ATornTailDoesNotCount) {
  const Offsets whole{log_.Put("a", "1"), log_.Put("b", "2")};
  DamageKey(log_.Put("c", "3"));
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, whole);
  EXPECT_EQ(read.torn, Offsets{}) << "nobody knows what it was";
  EXPECT_EQ(read.max_sequence, 2u);
}

TEST_F(LogReaderTest, TheNumberOfATornEntryIsKnownByItsKey) {
  const uint64_t whole = log_.Put("a", "1");
  const uint64_t torn = log_.Put("b", "2");
  DamageValue(torn);
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, Offsets{whole});
  EXPECT_EQ(read.torn, Offsets{torn});
  EXPECT_EQ(read.max_sequence, 2u) << "it must not be given out again";
}

TEST_F(LogReaderTest, DamageBeforeAnotherWriteIsNoTornTail) {
  log_.Put("a", "1");
  const uint64_t damaged = log_.Put("b", "2");
  log_.Put("c", "3");
  ASSERT_FALSE(IsCorrupt());
  DamageValue(damaged);
  EXPECT_TRUE(IsCorrupt());
  DamageValue(damaged);
  ASSERT_FALSE(IsCorrupt());
  DamageKey(damaged);
  EXPECT_TRUE(IsCorrupt());
}

TEST_F(LogReaderTest, DamageBeforeAWriteInALaterChunkIsNoTornTail) {
  const Offsets places = WriteTwoChunks();
  ASSERT_FALSE(IsCorrupt());
  DamageKey(places[0]);
  EXPECT_TRUE(IsCorrupt());
}

TEST_F(LogReaderTest, AChunkThatWasLeftForTheNextWriteIsWhole) {
  log_.Put("a", "1");
  const uint64_t last = log_.Put("b", "2");
  const std::string value(kChunkBytes / 2, 'v');
  log_.Append({PendingOf("c", value)});
  const std::string wants_a_chunk(kChunkBytes / 2, 'w');
  log_.Append({PendingOf("d", wants_a_chunk)}, 0, 0);  // of which nothing was written
  ASSERT_EQ(log_.Chunks().size(), 2u);
  ASSERT_FALSE(IsCorrupt());
  DamageValue(last);
  EXPECT_TRUE(IsCorrupt());
}

TEST_F(LogReaderTest, TheLastEntryOfAChunkThatWasLeftMayNotBeTorn) {
  const uint64_t last = log_.Put("b", "2");
  const std::string value(kChunkBytes / 2, 'v');
  const uint64_t in_next = log_.Append({PendingOf("c", value)}).at(0);
  log_.Append({PendingOf("d", value)}, 0, 0);
  ASSERT_EQ(pool_->ChunkOf(last), pool_->ChunkOf(in_next));
  DamageValue(in_next);
  EXPECT_TRUE(IsCorrupt()) << "only the empty chunk behind it tells that it was whole";
}

TEST_F(LogReaderTest, AnIncompleteBatchDoesNotCount) {
  const uint64_t whole = log_.Put("a", "1");
  const Offsets batch =
      log_.Append({PendingOf("b", "2"), PendingOf("c", "3"), PendingOf("d", "4")}, 0, 2);
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, Offsets{whole});
  EXPECT_EQ(read.torn, (Offsets{batch[0], batch[1]}));
  EXPECT_EQ(read.max_sequence, 3u);
}

TEST_F(LogReaderTest, ABatchWithAHoleDoesNotCount) {
  const uint64_t whole = log_.Put("a", "1");
  const Offsets batch =
      log_.Append({PendingOf("b", "2"), PendingOf("c", "3"), PendingOf("d", "4")});
  DamageKey(batch[1]);
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, Offsets{whole});
  EXPECT_EQ(read.torn, (Offsets{batch[2], batch[0]})) << "what is intact of it, on both sides";
  EXPECT_EQ(read.max_sequence, 4u);
}

TEST_F(LogReaderTest, AWriteBehindAnIncompleteBatchIsDamage) {
  log_.Append({PendingOf("b", "2"), PendingOf("c", "3")});
  const Offsets cut = log_.Append({PendingOf("d", "4"), PendingOf("e", "5")}, 0, 1);
  ASSERT_FALSE(IsCorrupt());
  // A write of its own where the second half should be.
  IndexUnifiedLog& log = log_.log();
  log::PendingEntry intruder = PendingOf("f", "6");
  intruder.wanted_height = 1;
  ASSERT_TRUE(log.Reserve(0, &intruder, 1, 1, pool::AllocationClass::kWrite).ok());
  intruder.offset = cut[1];
  log.WritePayload(&intruder);
  log.Publish(intruder, 6, format::kFirstOfUnit, 0);
  EXPECT_TRUE(IsCorrupt());
}

TEST_F(LogReaderTest, AnEntryInTheMiddleOfABatchBeginsNoLog) {
  log_.Append({PendingOf("a", "1"), PendingOf("b", "2")});
  ASSERT_FALSE(IsCorrupt());
  // The first one loses its mark, as in a log whose beginning is another's.
  auto* first =
      pool_->EntryAt(pool_->ChunkOffset(log_.Chunks()[0].chunk) + sizeof(format::LogChunkHeader));
  first->sequence_and_op &= ~uint64_t{format::kFirstOfUnit};
  first->key_check = format::KeyCheck(*first, base::Hash64("a"), pool_->OffsetOf(first),
                                      pool_->GenerationAt(pool_->OffsetOf(first)));
  EXPECT_TRUE(IsCorrupt());
}

TEST_F(LogReaderTest, ABatchThatGoesOnInAnotherChunkMayBeTornInTheFirst) {
  const uint64_t whole = log_.Put("a", "1");
  const std::string value(kChunkBytes / 2, 'v');
  const Offsets batch =
      log_.Append({PendingOf("b", "2"), PendingOf("c", value), PendingOf("d", value)});
  ASSERT_EQ(log_.Chunks().size(), 2u);
  EXPECT_EQ(Read().committed, (Offsets{whole, batch[0], batch[1], batch[2]}));
  DamageValue(batch[1]);
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, Offsets{whole});
  EXPECT_EQ(read.torn.size(), 3u);
  EXPECT_EQ(read.max_sequence, 4u);
}

TEST_F(LogReaderTest, WhatAChunkHeldInAnEarlierLifeDoesNotCount) {
  std::vector<log::PendingEntry> low{PendingOf("a", "1"), PendingOf("b", "2"), PendingOf("c", "3")};
  for (log::PendingEntry& pending : low) pending.wanted_height = 1;
  std::optional<test::LogEntries> earlier(std::in_place, pool_.get(), 6);
  Offsets before;
  for (const log::PendingEntry& pending : low) before.push_back(earlier->Append({pending}).at(0));
  pool_->FreeChunk(earlier->Chunks().at(0).chunk);
  const uint64_t now = log_.Append({low[0]}).at(0);
  ASSERT_EQ(now, before[0]) << "the same chunk, and the others right behind";
  const ShardLog read = Read();
  EXPECT_EQ(read.committed, Offsets{now});
  EXPECT_EQ(read.torn, Offsets{});
  EXPECT_EQ(read.max_sequence, 1u);
  Offsets visited;
  ForEachEntry(*pool_, pool_->ChunkOf(now),
               [&](uint64_t offset, const EntryHeader&) { visited.push_back(offset); });
  EXPECT_EQ(visited, Offsets{now});
}

TEST_F(LogReaderTest, AMissingChunkIsDamage) {
  WriteTwoChunks();
  std::vector<LogChunk> chunks = log_.Chunks();
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_TRUE(ReadShardLog(*pool_, {chunks[1]}).status().IsCorruption());
  EXPECT_TRUE(ReadShardLog(*pool_, {chunks[0], chunks[0]}).status().IsCorruption());
  EXPECT_TRUE(ReadShardLog(*pool_, {chunks[0]}).ok()) << "nobody knows that there was another";
}

TEST_F(LogReaderTest, AnImpossibleLengthOfTheChunkBeforeIsDamage) {
  WriteTwoChunks();
  std::vector<LogChunk> chunks = log_.Chunks();
  ASSERT_EQ(chunks.size(), 2u);
  for (const uint64_t used : {uint64_t{0}, sizeof(format::LogChunkHeader) - 1, kChunkBytes + 1,
                              chunks[1].previous_used - 8}) {
    std::vector<LogChunk> wrong = chunks;
    wrong[1].previous_used = used;
    EXPECT_TRUE(ReadShardLog(*pool_, wrong).status().IsCorruption()) << used;
  }
  EXPECT_TRUE(ReadShardLog(*pool_, chunks).ok());
}

TEST_F(LogReaderTest, EveryBitOfAChunkHeaderCounts) {
  log_.Put("a", "1");
  const uint64_t chunk = log_.Chunks().at(0).chunk;
  for (uint64_t byte = 0; byte < sizeof(format::LogChunkHeader); ++byte) {
    FlipAt(pool_->ChunkOffset(chunk) + byte);
    EXPECT_TRUE(ReadLogChunk(*pool_, chunk).status().IsCorruption()) << byte;
    FlipAt(pool_->ChunkOffset(chunk) + byte);
  }
  EXPECT_TRUE(ReadLogChunk(*pool_, chunk).ok());
}

TEST_F(LogReaderTest, AHeaderOfAnEarlierLifeIsNotBelieved) {
  log_.Put("a", "1");
  const uint64_t chunk = log_.Chunks().at(0).chunk;
  auto* header = pool_->As<format::LogChunkHeader>(pool_->ChunkOffset(chunk));
  --header->generation;
  header->check = format::StructCheck(*header, pool_->ChunkOffset(chunk));
  EXPECT_TRUE(ReadLogChunk(*pool_, chunk).status().IsCorruption());
}

TEST_F(LogReaderTest, AHeaderWithAnImpossibleTableIsNotBelieved) {
  log_.Put("a", "1");
  const uint64_t chunk = log_.Chunks().at(0).chunk;
  auto* header = pool_->As<format::LogChunkHeader>(pool_->ChunkOffset(chunk));
  header->table_id = format::kMaxId / 2;
  header->check = format::StructCheck(*header, pool_->ChunkOffset(chunk));
  EXPECT_TRUE(ReadLogChunk(*pool_, chunk).status().IsCorruption());
}

TEST_F(LogReaderTest, AHeaderInTheWrongChunkIsNotBelieved) {
  log_.Put("a", "1", 0);
  log_.Put("b", "2", 1);
  const uint64_t from = log_.Chunks(0).at(0).chunk;
  const uint64_t to = log_.Chunks(1).at(0).chunk;
  ASSERT_EQ(pool_->StateOf(from).generation(), pool_->StateOf(to).generation());
  std::memcpy(pool_->At(pool_->ChunkOffset(to)), pool_->At(pool_->ChunkOffset(from)),
              sizeof(format::LogChunkHeader));
  EXPECT_TRUE(ReadLogChunk(*pool_, to).status().IsCorruption());
}

TEST_F(LogReaderTest, EveryByteOfAnEntryButLinksAndStateIsChecked) {
  log::PendingEntry pending = PendingOf("a key", "a value");
  pending.wanted_height = 3;
  const uint64_t offset = log_.Append({pending}).at(0);
  const EntryHeader* entry = pool_->EntryAt(offset);
  const uint64_t size =
      sizeof *entry + 3 * sizeof(uint64_t) + entry->key_bytes() + entry->value_bytes;
  for (uint64_t byte = 0; byte < size; ++byte) {
    const bool changes_alone =
        byte == EntryHeader::kStateByteOffset ||
        (byte >= sizeof *entry && byte < sizeof *entry + 3 * sizeof(uint64_t));
    FlipAt(offset + byte);
    EXPECT_EQ(EntryVerifies(*pool_, offset), changes_alone) << byte;
    FlipAt(offset + byte);
  }
  EXPECT_TRUE(EntryVerifies(*pool_, offset));
}

TEST_F(LogReaderTest, AnEntryOfNoKnownKindDoesNotVerify) {
  const uint64_t offset = log_.Put("key", "value");
  auto* entry = pool_->As<EntryHeader>(offset);
  for (const uint64_t op : {0, 3, 15}) {
    entry->sequence_and_op = (entry->sequence_and_op & ~uint64_t{format::kOpMask}) | op;
    entry->key_check =
        format::KeyCheck(*entry, base::Hash64("key"), offset, pool_->GenerationAt(offset));
    EXPECT_FALSE(EntryVerifies(*pool_, offset)) << op;
  }
}

TEST_F(LogReaderTest, AnEntryInAnotherPlaceDoesNotVerify) {
  const uint64_t from = log_.Put("a", "1");
  const uint64_t to = log_.log().room(0) + from;  // any place behind it
  const uint64_t copy = from + ((to - from) / 2 & ~uint64_t{7});
  std::memcpy(pool_->At(copy), pool_->At(from), pool_->EntryAt(from)->size());
  EXPECT_TRUE(EntryVerifies(*pool_, from));
  EXPECT_FALSE(EntryVerifies(*pool_, copy));
}

TEST_F(LogReaderTest, ALargeValueIsCheckedWhereItLies) {
  const std::string value(2 * kChunkBytes, 'x');
  const uint64_t offset = log_.Put("key", value);
  const uint64_t extent = pool_->ExtentOf(offset);
  ASSERT_NE(extent, 0u);
  for (const uint64_t at :
       {uint64_t{0}, sizeof(format::ExtentHeader) - 1, sizeof(format::ExtentHeader),
        sizeof(format::ExtentHeader) + 20'000, sizeof(format::ExtentHeader) + value.size() - 1}) {
    FlipAt(extent + at);
    EXPECT_FALSE(EntryVerifies(*pool_, offset)) << at;
    FlipAt(extent + at);
  }
  EXPECT_TRUE(EntryVerifies(*pool_, offset));
}

TEST_F(LogReaderTest, AnExtentOfAnotherEntryIsNotBelieved) {
  const std::string value(kChunkBytes, 'x');
  const uint64_t offset = log_.Put("key", value);
  const uint64_t extent = pool_->ExtentOf(offset);
  ASSERT_TRUE(EntryVerifies(*pool_, offset));
  auto* header = pool_->As<format::ExtentHeader>(extent);
  header->owner += 64;
  header->check = format::StructCheck(*header, extent);
  ASSERT_NE(pool_->ExtentAt(extent), nullptr) << "it is intact";
  EXPECT_FALSE(EntryVerifies(*pool_, offset));
}

TEST_F(LogReaderTest, BehindADamagedEntryTheNextOneIsFound) {
  const Offsets places{log_.Put("a", "1"), log_.Put("b", "2"), log_.Put("c", "3")};
  *pool_->EntryAt(places[2])->state_byte() = format::kStateObsolete;
  DamageKey(places[1]);
  Offsets visited;
  ForEachEntry(*pool_, log_.Chunks().at(0).chunk,
               [&](uint64_t offset, const EntryHeader&) { visited.push_back(offset); });
  EXPECT_EQ(visited, (Offsets{places[0], places[2]})) << "obsolete ones, too";
}

/// A chunk that is free by its state, with what a life has left that the state does not know of.
class UnknownLifeTest : public LogReaderTest {
 protected:
  void SetUp() override {
    entry_ = log_.Put("key", "value");
    chunk_ = log_.Chunks().at(0).chunk;
    pool_->FreeChunk(chunk_);
    Begin(pool_->StateOf(chunk_).generation() + 1);
  }
  /// The header and the entry are those of a life with this number.
  void Begin(uint32_t generation) {
    auto* header = pool_->As<format::LogChunkHeader>(pool_->ChunkOffset(chunk_));
    header->generation = generation;
    header->check = format::StructCheck(*header, pool_->ChunkOffset(chunk_));
    auto* entry = pool_->As<EntryHeader>(entry_);
    entry->key_check = format::KeyCheck(*entry, base::Hash64("key"), entry_, generation);
  }

  uint64_t chunk_ = 0;
  uint64_t entry_ = 0;
};

TEST_F(UnknownLifeTest, AnIntactEntryOfItGivesItAway) {
  EXPECT_TRUE(HoldsUnknownLife(*pool_, chunk_));
}

TEST_F(UnknownLifeTest, TheLifeThatHasEndedIsKnown) {
  Begin(pool_->StateOf(chunk_).generation());
  EXPECT_FALSE(HoldsUnknownLife(*pool_, chunk_));
}

TEST_F(UnknownLifeTest, AHeaderAloneProvesNothing) {
  FlipAt(pool_->OffsetOf(pool_->As<EntryHeader>(entry_)->key_data()));
  EXPECT_FALSE(HoldsUnknownLife(*pool_, chunk_));
}

TEST_F(UnknownLifeTest, AnEntryBehindADamagedHeaderProvesNothing) {
  FlipAt(pool_->ChunkOffset(chunk_) + offsetof(format::LogChunkHeader, table_id));
  EXPECT_FALSE(HoldsUnknownLife(*pool_, chunk_));
}

TEST_F(UnknownLifeTest, LivesBelowTheFloorWereLostBefore) {
  ASSERT_TRUE(pool_->RaiseGenerations().ok());
  EXPECT_FALSE(HoldsUnknownLife(*pool_, chunk_));
}

}  // namespace
}  // namespace braid::log
