// Tests what the manifest does about a copy of it that a crash has torn.

#include "level/manifest.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

#include "support/test_pool.h"
#include "support/version1.h"

namespace braid::level {
namespace {

using format::ManifestRecord;

class ManifestTest : public ::testing::Test {
 protected:
  ManifestRecord* Copy(int which) {
    return pool_->As<ManifestRecord>(format::kManifestOffset[which]);
  }

  test::TestPool pool_{[](pool::PmemPool* fresh) { return Manifest(fresh).Create(); }};
};

TEST_F(ManifestTest, ATornCopyCannotBeCompletedByTheCommitsOfALaterSession) {
  Manifest before(pool_.get());
  ASSERT_TRUE(before.Load().ok());
  const uint64_t old_count = before.record().commit_count;
  constexpr uint64_t kId = 7;
  before.AddTable({kId, 0, 0, 1, 3, 3});
  const ManifestRecord old = *Copy(0);
  ASSERT_TRUE(before.Commit().ok());
  const ManifestRecord lost = *Copy(0);
  // The crash: of the first copy all is durable but the line with L1's record, the other is old.
  constexpr size_t kLine = offsetof(ManifestRecord, tables[1]) / 64 * 64;
  ManifestRecord torn = lost;
  std::memcpy(reinterpret_cast<char*>(&torn) + kLine, reinterpret_cast<const char*>(&old) + kLine,
              64);
  ASSERT_NE(std::memcmp(&torn, &lost, sizeof lost), 0);
  *Copy(0) = torn;
  *Copy(1) = old;
  Copy(1)->check = format::ManifestCheck(*Copy(1), format::kManifestOffset[1]);

  Manifest after(pool_.get());
  ASSERT_TRUE(after.Load().ok());
  EXPECT_EQ(after.record().commit_count, old_count);
  EXPECT_EQ(after.FindTable(kId), nullptr);
  // The next commit happens to have the same line there, and this is all of it that arrives.
  std::memcpy(reinterpret_cast<char*>(Copy(0)) + kLine,
              reinterpret_cast<const char*>(&lost) + kLine, 64);
  Manifest again(pool_.get());
  ASSERT_TRUE(again.Load().ok());
  EXPECT_EQ(again.FindTable(kId), nullptr) << "the lost commit is back";
}

TEST_F(ManifestTest, ACommitSurvivesTheLossOfEitherCopy) {
  for (const int lost : {0, 1}) {
    const uint64_t id = 7 + static_cast<uint64_t>(lost);
    Manifest before(pool_.get());
    ASSERT_TRUE(before.Load().ok());
    before.AddTable({id, 0, 0, 1 + static_cast<uint32_t>(lost), 3, 3});
    before.record().next_table_id = id + 1;
    ASSERT_TRUE(before.Commit().ok());
    Copy(lost)->last_sequence ^= 1;
    Manifest after(pool_.get());
    ASSERT_TRUE(after.Load().ok());
    EXPECT_NE(after.FindTable(id), nullptr) << "without copy " << lost;
  }
}

TEST_F(ManifestTest, WhatIsLeftBehindIsSaidBesideTheMerges) {
  constexpr format::LeftBehind kWhole{0x1234567890ABCull, 0xFEDCBA987654ull};
  {
    Manifest before(pool_.get());
    ASSERT_TRUE(before.Load().ok());
    EXPECT_EQ(before.record().left_behind.table_id, 0u);
    EXPECT_EQ(before.record().left_behind.collected_id, 0u);
    before.record().left_behind = kWhole;
    ASSERT_TRUE(before.BeginMerge(10, Manifest::kL1Id).ok());
    ASSERT_TRUE(before.Commit().ok());
    before.EndMerge(10);
    ASSERT_TRUE(before.Commit().ok());
  }
  Manifest after(pool_.get());
  ASSERT_TRUE(after.Load().ok());
  EXPECT_EQ(after.record().left_behind.table_id, kWhole.table_id);
  EXPECT_EQ(after.record().left_behind.collected_id, kWhole.collected_id);
  for (const format::MergeRecord& merge : after.record().merges) EXPECT_EQ(merge.floor, 0u);
  using format::ChunkKind;
  const format::LeftBehind small{5, 7};
  EXPECT_TRUE(small.Has(ChunkKind::kCopied, 5) && small.Has(ChunkKind::kCollected, 7));
  EXPECT_FALSE(small.Has(ChunkKind::kCopied, 6) || small.Has(ChunkKind::kCollected, 8));
  EXPECT_FALSE(small.Has(ChunkKind::kLog, 1) || small.Has(ChunkKind::kWriteAhead, 1));
}

TEST_F(ManifestTest, ItHasRoomForMoreTablesThanItsPages) {
  Manifest manifest(pool_.get());
  ASSERT_TRUE(manifest.Load().ok());
  const uint64_t used = pool_->used_chunks();
  std::set<uint64_t> heads{pool_->HeadOffset(0)};
  uint64_t id = manifest.record().next_table_id;
  Result<uint32_t> head = manifest.TakeHead();
  for (; head.ok(); head = manifest.TakeHead()) {
    EXPECT_TRUE(heads.insert(pool_->HeadOffset(*head)).second) << "two tables have one head";
    EXPECT_TRUE(pool_->IsHead(pool_->HeadOffset(*head)));
    manifest.AddTable({id++, 0, 0, *head, id, id});
    manifest.record().next_table_id = id;
  }
  EXPECT_TRUE(head.status().IsOutOfSpace()) << head.status().ToString();
  const size_t tables = manifest.record().tables.size();
  EXPECT_EQ(tables, format::kTableHeads + format::ExtensionHeads(pool_->chunk_bytes(), 1));
  EXPECT_EQ(pool_->used_chunks(), used + 1);
  ASSERT_TRUE(manifest.Commit().ok());
  for (int lost = 0; lost < 2; ++lost) {
    const ManifestRecord copy = *Copy(lost);
    Copy(lost)->last_sequence ^= 1;
    Manifest after(pool_.get());
    ASSERT_TRUE(after.Load().ok());
    ASSERT_EQ(after.record().tables.size(), tables) << "without copy " << lost;
    EXPECT_EQ(std::memcmp(after.record().tables.data(), manifest.record().tables.data(),
                          tables * sizeof(format::TableRecord)),
              0);
    EXPECT_EQ(std::memcmp(Copy(lost), &copy, format::ManifestBytes(copy)), 0) << "is repaired";
  }
  manifest.RemoveTable(id - 1);
  EXPECT_TRUE(manifest.TakeHead().ok()) << "a head is free again";
}

TEST_F(ManifestTest, IdsThatLeaveNoneToHandOutAreNotBelieved) {
  Manifest manifest(pool_.get());
  ASSERT_TRUE(manifest.Load().ok());
  manifest.record().next_table_id = format::kMaxId - 1;
  ASSERT_TRUE(manifest.Commit().ok());
  Manifest after(pool_.get());
  EXPECT_TRUE(after.Load().IsCorruption());
}

TEST_F(ManifestTest, IdsThatWouldBeHandedOutAgainAreNotBelieved) {
  const auto loads = [this](const std::function<void(format::ManifestState*)>& change) {
    Manifest manifest(pool_.get());
    EXPECT_TRUE(manifest.Create(2).ok());
    manifest.AddTable({7, 0, 0, 1, 3, 3});
    manifest.record().next_table_id = 8;
    manifest.record().next_merge_id = 5;
    EXPECT_TRUE(manifest.BeginMerge(7, Manifest::kL1Id).ok());
    change(&manifest.record());
    EXPECT_TRUE(manifest.Commit().ok());
    return Manifest(pool_.get()).Load();
  };
  EXPECT_TRUE(loads([](auto*) {}).ok());
  EXPECT_TRUE(loads([](auto* state) { state->next_table_id = 7; }).IsCorruption());
  EXPECT_TRUE(loads([](auto* state) { state->next_merge_id = 5; }).IsCorruption());
  EXPECT_TRUE(loads([](auto* state) { state->next_merge_id = 0; }).IsCorruption());
}

TEST_F(ManifestTest, APoolMayHaveMoreLevelsThanTwo) {
  Manifest manifest(pool_.get());
  ASSERT_TRUE(manifest.Create(4).ok());
  manifest.AddTable({manifest.record().next_table_id++, 0, 0, 9, 3, 3});
  ASSERT_TRUE(manifest.Commit().ok());
  Manifest after(pool_.get());
  EXPECT_TRUE(after.Load().IsInvalidArgument()) << "of who knows two levels only";
  const Status loaded = after.Load(4);
  ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  EXPECT_EQ(after.record().level_count, 4u);
  ASSERT_EQ(after.record().tables.size(), 4u);
  for (uint16_t level = 1; level < 4; ++level) {
    const format::TableRecord* list = after.FindTable(Manifest::kL1Id + level - 1);
    ASSERT_NE(list, nullptr);
    EXPECT_EQ(list->level, level);
    EXPECT_TRUE(format::EntryPtr{*pool_->As<uint64_t>(pool_->HeadOffset(list->head))}.IsEnd());
  }
}

TEST_F(ManifestTest, EachOpenMergeHasAPlaceOfItsOwnForItsRecords) {
  Manifest manifest(pool_.get());
  ASSERT_TRUE(manifest.Load().ok());
  std::set<uint64_t> chunks;
  for (uint64_t source = 10; source < 10 + format::kMaxMerges; ++source) {
    ASSERT_TRUE(manifest.HasRoomForMerge());
    const Result<format::MergeRecord*> merge = manifest.BeginMerge(source, Manifest::kL1Id);
    ASSERT_TRUE(merge.ok()) << merge.status().ToString();
    for (const uint64_t chunk : (*merge)->redo_chunks) {
      EXPECT_TRUE(chunks.insert(chunk).second);
      EXPECT_EQ(pool_->StateOf(chunk).kind(), format::ChunkKind::kRedo);
    }
  }
  EXPECT_FALSE(manifest.HasRoomForMerge());
  EXPECT_EQ(manifest.record().redo_chunks(), chunks.size());
  const uint64_t id = manifest.record().MergeOf(11)->id;
  manifest.EndMerge(11);
  EXPECT_EQ(manifest.record().MergeOf(11), nullptr);
  EXPECT_NE(manifest.record().MergeOf(12), nullptr);
  const Result<format::MergeRecord*> next = manifest.BeginMerge(30, Manifest::kL1Id);
  ASSERT_TRUE(next.ok());
  EXPECT_GT((*next)->id, id) << "records of the merge before must not count";
  EXPECT_TRUE(chunks.contains((*next)->redo_chunks[0])) << "its place is used again";
}

TEST_F(ManifestTest, OpenMergesAreThoseOfTheOldestTables) {
  const struct {
    std::vector<uint64_t> sources;  // of tables 10, 11 and 12
    uint32_t flags;                 // of the first merge
    bool is_sound;
  } rows[] = {
      {{10}, 0, true},
      {{10, 11}, 0, true},
      {{11, 10}, 0, true},
      {{12, 10, 11}, 0, true},
      {{11}, 0, false},
      {{10, 12}, 0, false},
      {{10, 13}, 0, false},
      {{10}, format::kMergeByPointers, true},
      {{10, 11}, format::kMergeByPointers, false},
  };
  for (const auto& row : rows) {
    const test::TestPool fresh{[](pool::PmemPool* made) { return Manifest(made).Create(); }};
    Manifest manifest(fresh.get());
    ASSERT_TRUE(manifest.Load().ok());
    for (uint32_t head = 1; head < 4; ++head) manifest.AddTable({9 + head, 0, 0, head, 3, 3});
    manifest.record().next_table_id = 20;
    for (const uint64_t source : row.sources) {
      ASSERT_TRUE(manifest.BeginMerge(source, Manifest::kL1Id).ok());
    }
    manifest.record().MergeOf(row.sources[0])->flags = row.flags;
    ASSERT_TRUE(manifest.Commit().ok());
    EXPECT_EQ(Manifest(fresh.get()).Load().ok(), row.is_sound)
        << row.sources.size() << " merges, the first of " << row.sources[0];
  }
}

TEST_F(ManifestTest, ALevelIsARunOrOneList) {
  constexpr uint16_t kRun = format::kTableOfRun;
  constexpr uint16_t kOriginals = format::kTableOfOriginals | kRun;
  const struct {
    std::vector<format::TableRecord> tables;  // the first level has a list of old
    bool is_sound;
  } rows[] = {
      {{{10, 2, kRun, 5, 3, 3}, {11, 2, kRun, 6, 3, 3}}, true},
      {{{10, 2, kRun, 5, 3, 3}, {11, 2, kOriginals, 6, 0, 3}, {12, 2, kOriginals, 7, 0, 3}}, true},
      {{{10, 2, 0, 5, 3, 3}, {11, 2, kRun, 6, 3, 3}}, false},
      {{{10, 2, 0, 5, 3, 3}, {11, 2, 0, 6, 3, 3}}, false},
      {{{11, 2, kOriginals, 6, 0, 3}}, false},
      {{{10, 2, kRun, 5, 3, 3}, {11, 0, kRun, 6, 3, 3}}, false},
      {{{10, 2, kRun, 5, 3, 3}, {11, 0, format::kTableIsBegun, 6, 3, 3}}, true},
      {{{10, 2, kRun | format::kTableIsBegun, 5, 3, 3}}, false},
      {{{10, 2, kRun | format::kTableKeepsVersions, 5, 3, 3}}, true},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    const test::TestPool fresh{[](pool::PmemPool* made) { return Manifest(made).Create(3); }};
    Manifest manifest(fresh.get());
    ASSERT_TRUE(manifest.Load(3).ok());
    std::erase_if(manifest.record().tables, [](const auto& table) { return table.level == 2; });
    for (const format::TableRecord& table : rows[i].tables) manifest.AddTable(table);
    manifest.record().next_table_id = 20;
    ASSERT_TRUE(manifest.Commit().ok());
    EXPECT_EQ(Manifest(fresh.get()).Load(3).ok(), rows[i].is_sound) << "row " << i;
  }
}

TEST_F(ManifestTest, APoolOfVersion1IsConverted) {
  Manifest before(pool_.get());
  ASSERT_TRUE(before.Load().ok());
  before.AddTable({7, 0, 0, 1, 3, 3});
  before.record().next_table_id = 8;
  ASSERT_TRUE(before.BeginMerge(7, Manifest::kL1Id).ok());
  test::MakeVersion1(pool_->At(0), before.record());
  Manifest converted(pool_.get());
  const Status loaded = converted.Load();
  ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  for (const int copy : {0, 1}) EXPECT_EQ(Copy(copy)->magic, format::kManifestMagic);
  Manifest after(pool_.get());
  ASSERT_TRUE(after.Load().ok());
  ASSERT_EQ(after.record().tables.size(), 2u);
  EXPECT_EQ(after.record().tables[0].id, 7u);
  EXPECT_EQ(after.record().next_table_id, 8u);
  ASSERT_NE(after.record().MergeOf(7), nullptr);
  EXPECT_EQ(after.record().MergeOf(7)->id, before.record().MergeOf(7)->id);
  EXPECT_EQ(after.record().redo_chunks(), 2u);
}

}  // namespace
}  // namespace braid::level
