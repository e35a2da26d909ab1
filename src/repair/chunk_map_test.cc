// What lies in each chunk, as far as states, headers and the manifest still tell.
#include "repair/chunk_map.h"

#include <gtest/gtest.h>

#include "support/pool_of_bytes.h"

namespace braid::repair {
namespace {

using format::ChunkKind;
using test::PoolOfBytes;
using Numbers = std::vector<uint64_t>;
using Texts = std::vector<std::string>;

constexpr uint64_t kChunk = PoolOfBytes::kFirstChunk;

class ChunkMapTest : public ::testing::Test {
 protected:
  void Classify(const std::string& boot_id = PoolOfBytes::kBoot) {
    pool_ = bytes_.Open(boot_id);
    findings_ = std::make_unique<Findings>(pool_->image(), std::vector<RepairFinding>{});
    pool_->ReadManifest(findings_.get());
    (void)findings_->TakeSorted();
    map_ = std::make_unique<ChunkMap>(*pool_, findings_.get());
    map_->Classify();
    chunks_ = map_->TakeEntryChunks();
    found_ = test::Describe(findings_->TakeSorted());
  }
  void SetManifest(uint64_t flushed, uint64_t collected = 0) {
    format::ManifestState state;
    state.flushed_table_id = flushed;
    state.collected_table_id = collected;
    state.last_sequence = 100;
    bytes_.SetManifest(state);
  }
  void SetLog(uint64_t chunk, ChunkKind kind, uint64_t table_id) {
    bytes_.SetState(chunk, kind);
    bytes_.SetLogHeader(chunk, table_id);
  }
  Numbers EntryChunks() const {
    Numbers numbers;
    for (const EntryChunk& chunk : chunks_) numbers.push_back(chunk.chunk);
    return numbers;
  }
  static uint64_t FirstEntryOf(uint64_t chunk) {
    return PoolOfBytes::OffsetOf(chunk) + sizeof(format::LogChunkHeader);
  }

  PoolOfBytes bytes_;
  std::unique_ptr<DamagedPool> pool_;
  std::unique_ptr<Findings> findings_;
  std::unique_ptr<ChunkMap> map_;
  std::vector<EntryChunk> chunks_;
  Texts found_;
};

TEST_F(ChunkMapTest, LogsOfTablesAndOpenLogsAreToldApartByTheManifest) {
  SetManifest(2, 5);
  SetLog(kChunk, ChunkKind::kLog, 2);
  SetLog(kChunk + 1, ChunkKind::kLog, 3);
  SetLog(kChunk + 2, ChunkKind::kCollected, 5);
  bytes_.SetState(kChunk + 3, ChunkKind::kFree);
  bytes_.SetState(kChunk + 4, ChunkKind::kRedo);
  Classify();
  ASSERT_EQ(EntryChunks(), (Numbers{kChunk, kChunk + 1, kChunk + 2}));
  EXPECT_TRUE(map_->IsFlushed(chunks_[0]));
  EXPECT_TRUE(map_->LinksAreOfTable(chunks_[0]));
  EXPECT_FALSE(map_->IsOpenLog(chunks_[0]));
  EXPECT_TRUE(map_->IsOpenLog(chunks_[1]));
  EXPECT_FALSE(map_->LinksAreOfTable(chunks_[1]));
  EXPECT_TRUE(map_->IsFlushed(chunks_[2]));
  EXPECT_TRUE(map_->IsIdle(kChunk + 3));
  EXPECT_FALSE(map_->IsIdle(kChunk));
  EXPECT_EQ(map_->redo_chunks(), Numbers{PoolOfBytes::OffsetOf(kChunk + 4)});
  EXPECT_TRUE(found_.empty());
}

TEST_F(ChunkMapTest, CopiesNotCommittedAndLogsThatWereCopiedAreLeftOut) {
  SetManifest(2, 5);
  SetLog(kChunk, ChunkKind::kWriteAhead, 2);
  SetLog(kChunk + 1, ChunkKind::kWriteAhead, 3);
  SetLog(kChunk + 2, ChunkKind::kCopied, 2);
  SetLog(kChunk + 3, ChunkKind::kCopied, 3);
  SetLog(kChunk + 4, ChunkKind::kCollected, 6);
  Classify();
  EXPECT_EQ(EntryChunks(), (Numbers{kChunk + 1, kChunk + 2}));
  for (const uint64_t chunk : {kChunk, kChunk + 3, kChunk + 4}) EXPECT_TRUE(map_->IsIdle(chunk));
}

TEST_F(ChunkMapTest, WithADamagedStateTheHeaderCounts) {
  SetLog(kChunk, ChunkKind::kLog, 1);
  bytes_.SetLogHeader(kChunk + 1, 1, 6);
  *bytes_.As<char>(PoolOfBytes::OffsetOf(kChunk + 2) + 5000) = 1;
  for (uint64_t i = 0; i < 3; ++i) *bytes_.As<uint64_t>(PoolOfBytes::StateWord(kChunk + i)) = 1;
  Classify();
  EXPECT_EQ(EntryChunks(), (Numbers{kChunk, kChunk + 1}));
  EXPECT_EQ(chunks_[1].generation, 6u);
  // Of which nothing tells what it is, it may hold redo records.
  EXPECT_EQ(map_->unknown_chunks(), Numbers{PoolOfBytes::OffsetOf(kChunk + 2)});
  EXPECT_EQ(map_->redo_chunks(), map_->unknown_chunks());
  const std::string problem = ": its check does not match; the chunk's own header was used";
  EXPECT_EQ(found_, (Texts{"chunk state 3" + problem, "chunk state 4" + problem}));
}

TEST_F(ChunkMapTest, WithADamagedStateTheHeaderTellsLogsFromCopies) {
  SetManifest(2, 5);
  const auto set = [this](uint64_t chunk, ChunkKind kind, uint64_t table_id) {
    bytes_.SetLogHeader(chunk, table_id, 1, kind);
    *bytes_.As<uint64_t>(PoolOfBytes::StateWord(chunk)) = 1;
  };
  set(kChunk, ChunkKind::kCollected, 5);
  set(kChunk + 1, ChunkKind::kLog, 5);
  set(kChunk + 2, ChunkKind::kWriteAhead, 2);
  set(kChunk + 3, ChunkKind::kCollected, 6);
  Classify();
  ASSERT_EQ(EntryChunks(), (Numbers{kChunk, kChunk + 1, kChunk + 2}));
  EXPECT_TRUE(map_->IsFlushed(chunks_[0]));
  EXPECT_TRUE(map_->IsOpenLog(chunks_[1]));
  EXPECT_TRUE(map_->IsFlushed(chunks_[2])) << "a flush may have made it a chunk of the table";
  EXPECT_TRUE(map_->IsIdle(kChunk + 3)) << "copies that were not committed";
}

TEST_F(ChunkMapTest, WithADamagedHeaderTheStateCounts) {
  SetManifest(2);
  SetLog(kChunk, ChunkKind::kLog, 3);
  bytes_.As<format::LogChunkHeader>(PoolOfBytes::OffsetOf(kChunk))->table_id = 1;
  Classify();
  ASSERT_EQ(EntryChunks(), Numbers{kChunk});
  EXPECT_FALSE(chunks_[0].has_header);
  EXPECT_FALSE(map_->IsFlushed(chunks_[0]));
  EXPECT_FALSE(map_->LostHeaderWithPower(chunks_[0]));
  EXPECT_EQ(found_, Texts{"log chunk header: its check does not match"});

  bytes_.LeaveOpen();
  Classify("another boot");
  EXPECT_TRUE(map_->LostHeaderWithPower(chunks_[0]));
}

TEST_F(ChunkMapTest, ALifeThatItsStateDoesNotKnowIsProvedByAnEntry) {
  bytes_.SetState(kChunk, ChunkKind::kFree, 1);
  bytes_.SetLogHeader(kChunk, 9, 2);
  Classify();
  EXPECT_TRUE(EntryChunks().empty()) << "it is between the two stores of an allocation";
  EXPECT_TRUE(map_->IsIdle(kChunk));

  bytes_.SetEntry(FirstEntryOf(kChunk), "key", "value", 1, 2);
  Classify();
  ASSERT_EQ(EntryChunks(), Numbers{kChunk});
  EXPECT_EQ(chunks_[0].generation, 2u);
  EXPECT_EQ(found_, Texts{"chunk state 3: it is from an earlier use of the chunk"});

  bytes_.LeaveOpen();
  Classify("another boot");
  EXPECT_TRUE(EntryChunks().empty()) << "nothing of that life had been synced";
  EXPECT_TRUE(map_->IsIdle(kChunk));
}

TEST_F(ChunkMapTest, CopiesNumberedBehindTheManifestAreOfNoTableWhenThePowerTookTheirHeader) {
  SetManifest(2, 5);
  bytes_.SetState(kChunk, ChunkKind::kCollected);
  const format::EntryHeader* of_table = bytes_.SetEntry(FirstEntryOf(kChunk), "key", "", 100);
  const format::EntryHeader* later = bytes_.SetEntry(FirstEntryOf(kChunk) + 400, "key", "", 101);
  Classify();
  EXPECT_FALSE(map_->IsOfNoTable(chunks_.at(0), *later));
  bytes_.LeaveOpen();
  Classify("another boot");
  EXPECT_TRUE(map_->IsOfNoTable(chunks_.at(0), *later));
  EXPECT_FALSE(map_->IsOfNoTable(chunks_.at(0), *of_table));
}

TEST_F(ChunkMapTest, LeavesAreKnownByTheHeaderOrByTheirChunks) {
  Classify();
  EXPECT_FALSE(map_->has_leaves());
  bytes_.SetState(kChunk, ChunkKind::kLeaf);
  Classify();
  EXPECT_TRUE(map_->has_leaves());
  EXPECT_TRUE(map_->WasClosed());
  bytes_.LeaveOpen();
  Classify();
  EXPECT_FALSE(map_->WasClosed());
  for (const uint64_t place : format::kPoolHeaderOffset) *bytes_.As<uint64_t>(place) = 0;
  Classify();
  EXPECT_FALSE(map_->WasClosed());
  bytes_.SetState(kChunk + 1, ChunkKind::kLeafIndex);
  Classify();
  EXPECT_TRUE(map_->WasClosed()) << "the image of the index is written by a close";
}

}  // namespace
}  // namespace braid::repair
