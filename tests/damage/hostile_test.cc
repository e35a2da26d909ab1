// Pools made by hand, with valid checks: links in circles, sizes that lead out, records that
// contradict each other. Each opens with an error or answers as far as it can; none ends the
// process, hangs it, or takes memory that its size does not explain. Most were found by fuzz_pool.
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "cache/dram_index.h"
#include "fuzz/fuzz_common.h"
#include "fuzz/pool_surgery.h"
#include "lsm/lsm_engine.h"
#include "repair/salvage.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

using engine::Engine;
using format::EntryHeader;
using fuzz::PoolBytes;
using fuzz::PoolSurgery;
using lsm::LsmEngine;

constexpr unsigned kWalkSeconds = 20;

enum Answer : int { kNoError = 0, kCorruption = 10, kOtherError = 11 };

/// Uses a pool as an application does, and notes the first error.
class Use {
 public:
  explicit Use(Engine* engine) : engine_(engine) {}

  Status Run() {
    VerifyReport report;
    Note(engine_->Verify(&report, {}));
    Scan(true);
    Scan(false);
    for (int i = 0; i < 40; ++i) Get(Key(i));
    for (int i = 0; i < 40; i += 3) Note(engine_->Delete({}, Key(i)));
    for (int i = 0; i < 40; i += 2) Note(engine_->Put({}, Key(i), "new"));
    Note(engine_->Flush());
    Note(engine_->Compact());
    Scan(true);
    Note(engine_->Close());
    return first_;
  }

  static std::string Key(int i) { return "key" + std::to_string(100 + i); }

 private:
  void Note(const Status& status) {
    if (!status.ok() && first_.ok()) first_ = status;
  }
  void Get(const std::string& key) {
    std::string value;
    const Status status = engine_->Get({}, key, &value);
    if (!status.IsNotFound()) Note(status);
  }
  void Scan(bool forward) {
    const auto it = engine_->NewIterator({});
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
    }
    Note(it->status());
  }

  Engine* engine_;
  Status first_;
};

/// Parts that pools of lists are made of, and used with.
struct Parts {
  const char* name;
  uint8_t how;
  const design::Design* design = &design::kBraid;
};

class HostilePoolTest : public ::testing::TestWithParam<Parts> {
 protected:
  using Fill = std::function<void(Engine*)>;
  using Change = std::function<void(PoolSurgery*)>;

  /// A pool of ours, closed.
  void Build(const Fill& fill, bool close = true) {
    fuzz::PoolMemory memory;
    memory.set_limit(fuzz::kMaxFuzzPool);
    Options options = fuzz::FuzzOptions(GetParam().how, *GetParam().design);
    options.compaction.l0_trigger = 8;  // tables stay until Compact
    // The lists that are altered are one a level.
    if (options.levels.list_bytes != 0) options.levels.list_bytes = 64u << 10;
    auto engine = GetParam().design->open(options, fuzz::MediaFor(&memory, 0));
    ASSERT_TRUE(IsOk(engine.status()));
    fill(engine->get());
    if (close) {
      ASSERT_TRUE(IsOk((*engine)->Close()));
    }
    pool_ = memory.Save();
  }
  static void PutKeys(Engine* engine, int first, int count, size_t size = 3) {
    for (int i = first; i < first + count; ++i) {
      ASSERT_TRUE(IsOk(engine->Put({}, Use::Key(i), std::string(size, 'v'))));
    }
  }
  void BuildMerged() {
    Build([](Engine* engine) {
      PutKeys(engine, 0, 30);
      ASSERT_TRUE(IsOk(engine->Compact()));
    });
  }

  void Alter(const Change& change) {
    PoolSurgery surgery(&pool_.bytes, pool_.segments);
    change(&surgery);
  }

  /// A repair reads it too, and ends.
  static void Salvage(const fuzz::PoolMemory& memory) {
    auto salvage = repair::Salvage::Read(
        media::PoolImage::OfMemory(memory.base(), memory.segments()), {}, fuzz::kFuzzBoot);
    if (!salvage.ok()) return;
    uint64_t bytes = 0;
    (void)(*salvage)->ForEachRecord([&](std::string_view key, std::string_view value) {
      bytes += key.size() + value.size();
      return Status::OK();
    });
    // Not more than there is, whatever entries name.
    if (bytes > 2 * memory.mapped()) std::abort();
  }

  /// Opens and uses the pool twice, with and without the check at open.
  int UseTwice(const PoolBytes& pool, int fd) {
    Status first;
    for (const uint8_t how : {uint8_t{0}, fuzz::kVerifyFull, fuzz::kNoChecksums}) {
      fuzz::PoolMemory memory;
      memory.Load(pool);
      Salvage(memory);
      memory.set_limit(pool.bytes.size() + (128u << 10));
      auto engine = GetParam().design->open(
          fuzz::FuzzOptions(static_cast<uint8_t>(how | GetParam().how), *GetParam().design),
          fuzz::MediaFor(&memory, how));
      const Status status = engine.ok() ? Use(engine->get()).Run() : engine.status();
      if (how == 0) first = status;
    }
    SayTo(fd, first.ToString());
    return first.ok() ? kNoError : first.IsCorruption() ? kCorruption : kOtherError;
  }
  void ExpectCorruption() {
    const ChildOutcome outcome =
        RunInChild(kWalkSeconds, [&](int fd) { return UseTwice(pool_, fd); });
    EXPECT_EQ(outcome.exit_code, kCorruption) << outcome.ToString();
  }
  void ExpectNoError() {
    const ChildOutcome outcome =
        RunInChild(kWalkSeconds, [&](int fd) { return UseTwice(pool_, fd); });
    EXPECT_EQ(outcome.exit_code, kNoError) << outcome.ToString();
  }
  void ExpectNoHarm() {
    const ChildOutcome outcome =
        RunInChild(kWalkSeconds, [&](int fd) { return UseTwice(pool_, fd); });
    EXPECT_GE(outcome.exit_code, 0) << outcome.ToString();
  }

  PoolBytes pool_;
};

INSTANTIATE_TEST_SUITE_P(
    Lists, HostilePoolTest,
    ::testing::Values(Parts{"braid", 0}, Parts{"WriteAhead", fuzz::kWriteAheadLog},
                      Parts{"CopyMerge", fuzz::kCopyMerges}, Parts{"pointer", fuzz::kPointerMerges},
                      Parts{"listdb", 0, &design::kListDb},
                      Parts{"zipperdb", 0, &design::kZipperDb},
                      Parts{"novelsm", 0, &design::kNoveLsm}, Parts{"tlsm", 0, &design::kTlsm}),
    [](const auto& param) { return std::string(param.param.name); });

TEST_P(HostilePoolTest, AnUnchangedPoolGivesNoError) {
  BuildMerged();
  Alter([](PoolSurgery* at) {
    // The control: what these tests seal is what the store expects.
    at->SpreadManifest();
    at->SealHeader(0);
    at->SealHeader(1);
    at->SealSegment(0);
    for (const uint64_t entry : at->AllEntries()) at->SealEntry(entry);
  });
  ExpectNoError();
}

TEST_P(HostilePoolTest, ACircleInTheBottomLayerIsCorruption) {
  BuildMerged();
  Alter([](PoolSurgery* at) {
    const std::vector<uint64_t> list = at->Walk(at->Bottom().head, 0);
    ASSERT_EQ(list.size(), 30u);
    at->Entry(list.back())->links()[0] = PoolSurgery::LinkTo(list[2]);
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, AnEntryThatLinksToItselfIsCorruption) {
  BuildMerged();
  Alter([](PoolSurgery* at) {
    const uint64_t entry = at->Walk(at->Bottom().head, 0)[15];
    at->Entry(entry)->links()[0] = PoolSurgery::LinkTo(entry);
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, ACircleInAnUpperLayerIsCorruption) {
  Build([](Engine* engine) {
    PutKeys(engine, 0, 90, 0);
    ASSERT_TRUE(IsOk(engine->Compact()));
  });
  Alter([](PoolSurgery* at) {
    const std::vector<uint64_t> layer = at->Walk(at->Bottom().head, 1);
    ASSERT_GE(layer.size(), 2u) << "no two towers are tall enough";
    at->Entry(layer[1])->links()[1] = PoolSurgery::LinkTo(layer[0]);
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, ACircleInATableThatWaitsForItsMergeIsCorruption) {
  Build([](Engine* engine) { PutKeys(engine, 0, 30); });
  Alter([](PoolSurgery* at) {
    const format::ManifestRecord* manifest = at->Manifest();
    ASSERT_EQ(manifest->tables[0].level, 0);
    const std::vector<uint64_t> list = at->Walk(manifest->tables[0].head, 0);
    ASSERT_GE(list.size(), 2u);
    at->Entry(list.back())->links()[0] = PoolSurgery::LinkTo(list.front());
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, VersionsInACircleAreCorruption) {
  Build([](Engine* engine) {
    std::vector<std::shared_ptr<const Snapshot>> snapshots;
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(IsOk(engine->Put({}, "key110", std::to_string(i))));
      snapshots.push_back(engine->GetSnapshot());
    }
    ASSERT_TRUE(IsOk(engine->Compact()));
  });
  Alter([](PoolSurgery* at) {
    const std::vector<uint64_t> list = at->Walk(at->Bottom().head, 0);
    ASSERT_GE(list.size(), 3u) << "the versions were not kept";
    at->Entry(list.back())->links()[0] = PoolSurgery::LinkTo(list[1]);
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, ALinkInALayerAboveItsEntryIsCorruption) {
  BuildMerged();
  Alter([](PoolSurgery* at) {
    // A low entry at the very end of the pool's last chunk: its links of higher layers would lie
    // behind the pool.
    const uint64_t from = at->Walk(at->Bottom().head, 0)[0];
    const uint64_t chunk = at->chunks() - 1;
    const uint64_t size = EntryHeader::EntryBytes(at->Entry(from)->key_bytes(), 0, 1);
    const uint64_t to = at->ChunkOffset(chunk + 1) - size;
    at->SetState(chunk, format::ChunkKind::kLog, 1);
    *at->LogHeader(chunk) = *at->LogHeader(at->ChunkOf(from));
    at->LogHeader(chunk)->generation = 1;
    at->SealLogChunk(chunk);
    const std::string key(at->Entry(from)->key());
    *at->Entry(to) = *at->Entry(from);
    at->Entry(to)->key_and_height =
        EntryHeader::PackKeyAndHeight(static_cast<uint32_t>(key.size()), 1);
    at->Entry(to)->value_bytes = 0;
    at->Entry(to)->links()[0] = at->Entry(from)->links()[0];
    std::memcpy(at->As<char>(to + sizeof(EntryHeader) + 8), key.data(), key.size());
    at->SealEntry(to);
    for (uint64_t& link : at->Head(at->Bottom().head)->links) link = PoolSurgery::LinkTo(to);
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, ALinkedEntryThatIsMarkedObsoleteIsCorruptionForAGet) {
  BuildMerged();
  Alter([](PoolSurgery* at) {
    for (const uint64_t entry : at->Walk(at->Bottom().head, 0)) {
      *at->Entry(entry)->state_byte() = format::kStateObsolete;
    }
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, LiveMarksOutsideOfTablesDoNotKeepCollectionBusyForEver) {
  Build([](Engine* engine) {
    for (int round = 0; round < 4; ++round) {
      PutKeys(engine, 0, 40, 60);
      ASSERT_TRUE(IsOk(engine->Compact()));
    }
  });
  Alter([](PoolSurgery* at) {
    for (uint64_t& link : at->Head(at->Bottom().head)->links) link = PoolSurgery::LinkTo(0);
    at->Manifest()->tables[0].entries = 0;
    at->SpreadManifest();
    // A few live entries in each chunk, so that all are worth collecting.
    for (const uint64_t chunk : at->ChunksOf(format::ChunkKind::kLog)) {
      int left = 3;
      for (const uint64_t entry : at->EntriesOf(chunk)) {
        *at->Entry(entry)->state_byte() = left-- > 0 ? format::kStateLive : format::kStateObsolete;
      }
    }
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, AnExtentThatLeadsOutOfThePoolIsCorruption) {
  Build([](Engine* engine) {
    ASSERT_TRUE(IsOk(engine->Put({}, "key100", std::string(5000, 'L'))));
    ASSERT_TRUE(IsOk(engine->Compact()));
  });
  const PoolBytes sound = pool_;
  const auto alter_extent = [&](const std::function<void(format::ExtentHeader*)>& change) {
    pool_ = sound;
    Alter([&](PoolSurgery* at) {
      const std::vector<uint64_t> heads = at->ChunksOf(format::ChunkKind::kExtentHead);
      ASSERT_EQ(heads.size(), 1u);
      change(at->Extent(heads[0]));
      at->SealExtent(heads[0]);
    });
    ExpectCorruption();
  };
  alter_extent([](format::ExtentHeader* header) { header->chunks = 1ull << 40; });
  alter_extent([](format::ExtentHeader* header) { header->chunks = 1000; });
  alter_extent([](format::ExtentHeader* header) { header->value_bytes = ~0ull - 100; });
  alter_extent([](format::ExtentHeader* header) { header->chunks = 1; });
}

TEST_P(HostilePoolTest, AReferenceToAnExtentThatIsNoneIsNeverFollowedNorFreed) {
  Build([](Engine* engine) {
    ASSERT_TRUE(IsOk(engine->Put({}, "key100", std::string(24, 'r'))));
    ASSERT_TRUE(IsOk(engine->Put({}, "key103", std::string(24, 's'))));
    ASSERT_TRUE(IsOk(engine->Compact()));
  });
  const PoolBytes sound = pool_;
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{4096}, ~uint64_t{0} - 63, uint64_t{1} << 40}) {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{8}, ~uint64_t{0}, uint64_t{1} << 20}) {
      pool_ = sound;
      Alter([&](PoolSurgery* at) {
        for (const uint64_t entry : at->Walk(at->Bottom().head, 0)) {
          const format::ExtentRef ref{offset, bytes, base::Hash64("", 0)};
          at->Entry(entry)->sequence_and_op |= format::kValueInExtent;
          std::memcpy(const_cast<char*>(at->Entry(entry)->value().data()), &ref, sizeof ref);
          at->SealEntry(entry);
        }
      });
      ExpectCorruption();
    }
  }
}

TEST_P(HostilePoolTest, AManifestThatContradictsItselfIsRefused) {
  Build([](Engine* engine) { PutKeys(engine, 0, 10); });
  const PoolBytes sound = pool_;
  const auto alter_manifest = [&](const char* what,
                                  const std::function<void(format::ManifestRecord*)>& change) {
    SCOPED_TRACE(what);
    pool_ = sound;
    Alter([&](PoolSurgery* at) {
      change(at->Manifest());
      at->SpreadManifest();
    });
    ExpectCorruption();
  };
  using Record = format::ManifestRecord;
  alter_manifest("as many tables as fit, on one head", [](Record* record) {
    for (uint32_t i = record->table_count; i < format::kTablesInRecord; ++i) {
      record->tables[i] = record->tables[0];
      record->tables[i].id = 1000 + i;
    }
    record->table_count = format::kTablesInRecord;
  });
  alter_manifest("more tables than fit", [](Record* record) { record->table_count = 1000; });
  alter_manifest("no table", [](Record* record) { record->table_count = 0; });
  alter_manifest("copies in the place of L1", [](Record* record) {
    record->tables[record->table_count - 1].flags = format::kTableOfCopies;
  });
  alter_manifest("a merge of a table that is not next", [](Record* record) {
    record->tables[2] = {50, 0, format::kTableOfCopies, 9, 0, 0};
    record->table_count = 3;
    record->merges[0].id = 5;
    record->merges[0].source_id = record->tables[0].id;
    record->merges[0].target_id = format::kL1Id;
  });
  alter_manifest("a merge into a table that is not there", [](Record* record) {
    record->merges[0].id = 5;
    record->merges[0].source_id = record->tables[0].id;
    record->merges[0].target_id = 77;
  });
  alter_manifest("a merge into itself", [](Record* record) {
    record->merges[0].id = 5;
    record->merges[0].source_id = record->tables[0].id;
    record->merges[0].target_id = record->tables[0].id;
  });
  alter_manifest("a merge whose records would lie in a log", [](Record* record) {
    record->merges[0].redo_chunks[1] = record->merges[0].redo_chunks[0] + 3;
  });
  alter_manifest("two places for redo records in one chunk", [](Record* record) {
    record->merges[1].redo_chunks[0] = record->merges[0].redo_chunks[0];
  });
  alter_manifest("an extension that is none",
                 [](Record* record) { record->extension = record->merges[0].redo_chunks[0]; });
  alter_manifest("an extension beyond the pool",
                 [](Record* record) { record->extension = 1ull << 40; });
  alter_manifest("one level", [](Record* record) { record->level_count = 1; });
  alter_manifest("a level without a list", [](Record* record) { record->level_count = 3; });
  alter_manifest("more levels than there can be", [](Record* record) { record->level_count = 9; });
  alter_manifest("copies without a merge", [](Record* record) {
    record->tables[2] = {50, 0, format::kTableOfCopies, 9, 0, 0};
    record->table_count = 3;
  });
  alter_manifest("two tables of one id",
                 [](Record* record) { record->tables[0].id = record->tables[1].id; });
  alter_manifest("more entries than bytes",
                 [](Record* record) { record->tables[0].entries = ~0ull >> 1; });
  alter_manifest("ids at their end", [](Record* record) { record->next_table_id = ~0ull; });
  alter_manifest("sequence numbers at their end",
                 [](Record* record) { record->last_sequence = ~0ull; });
}

TEST_P(HostilePoolTest, ARedoRecordChangesNothingButLinks) {
  Build([](Engine* engine) { PutKeys(engine, 0, 10); });
  const PoolBytes sound = pool_;
  const auto with_update = [&](format::RedoUpdate update) {
    pool_ = sound;
    Alter([&](PoolSurgery* at) {
      format::ManifestRecord* record = at->Manifest();
      record->merges[0].id = record->next_merge_id++;
      record->merges[0].source_id = record->tables[0].id;
      record->merges[0].target_id = at->Bottom().id;
      at->SpreadManifest();
      const uint64_t chunk = at->ChunksOf(format::ChunkKind::kRedo)[1];
      *at->Redo(chunk) = {};
      at->Redo(chunk)->magic = format::kRedoMagic;
      at->Redo(chunk)->merge_id = record->merges[0].id;
      at->Redo(chunk)->batch = 1;
      at->Redo(chunk)->count = 1;
      *at->RedoUpdates(chunk) = update;
      at->SealRedo(chunk);
    });
    const ChildOutcome outcome = RunInChild(kWalkSeconds, [&](int fd) {
      fuzz::PoolMemory memory;
      memory.Load(pool_);
      auto engine = GetParam().design->open(fuzz::FuzzOptions(GetParam().how, *GetParam().design),
                                            fuzz::MediaFor(&memory, 0));
      SayTo(fd, engine.status().ToString());
      const bool untouched = memory.Save().bytes == pool_.bytes;
      return engine.status().IsCorruption() && untouched ? 0 : 1;
    });
    EXPECT_EQ(outcome.exit_code, 0) << "target " << update.target << ": " << outcome.ToString();
  };
  const uint64_t link = PoolSurgery::LinkTo(0);
  with_update({0, link});                                  // the segment header
  with_update({format::kPoolHeaderOffset[0] + 56, link});  // the pool header
  with_update({format::kManifestOffset[0] + 80, link});    // the manifest
  with_update({format::kFirstStateTableOffset, link});     // a chunk state
  with_update({~0ull >> 16, link});                        // outside
  with_update({format::kTableHeadsOffset, 0x1234});        // a head, but no link
  with_update({format::kTableHeadsOffset | format::kRedoMarkObsolete, 0});
}

TEST_P(HostilePoolTest, ANameWithoutAnEndInThePoolHeaderIsRefused) {
  BuildMerged();
  const PoolBytes sound = pool_;
  for (const int which : {0, 1, 2}) {
    pool_ = sound;
    Alter([&](PoolSurgery* at) {
      for (int copy = 0; copy < 2; ++copy) {
        format::PoolHeader* header = at->Header(copy);
        if (which == 0) std::memset(header->design, 'd', sizeof header->design);
        if (which == 1) std::memset(header->comparator, 'c', sizeof header->comparator);
        if (which == 2) std::memset(header->boot_id, 'b', sizeof header->boot_id);
        at->SealHeader(copy);
      }
    });
    ExpectCorruption();
  }
}

TEST_P(HostilePoolTest, ATableIdAtTheEndOfNumbersIsRefused) {
  Build([](Engine* engine) { PutKeys(engine, 0, 5); }, false);
  Alter([](PoolSurgery* at) {
    for (const format::ChunkKind kind : {format::ChunkKind::kLog, format::ChunkKind::kWriteAhead}) {
      for (const uint64_t chunk : at->ChunksOf(kind)) {
        at->LogHeader(chunk)->table_id = ~0ull;
        at->SealLogChunk(chunk);
      }
    }
  });
  ExpectCorruption();
}

TEST_P(HostilePoolTest, EntriesInTheBytesOfOthersDoNoHarm) {
  // What a merge stores as the link of one entry is the size of another's key.
  for (uint64_t shift = 8; shift <= 96; shift += 8) {
    Build([](Engine* engine) {
      PutKeys(engine, 0, 12, 80);
      ASSERT_TRUE(IsOk(engine->Compact()));
      PutKeys(engine, 5, 12, 80);
    });
    Alter([&](PoolSurgery* at) {
      const std::vector<uint64_t> list = at->Walk(at->Bottom().head, 0);
      const uint64_t to = list[4] + shift;
      std::memmove(at->As<char>(to), at->As<char>(list[4]), at->Entry(list[4])->size());
      at->SealEntry(to);
      at->Entry(list[3])->links()[0] = PoolSurgery::LinkTo(to);
      at->SealEntry(list[5]);
    });
    ExpectNoHarm();
  }
}

TEST(HostileIndexTest, AnIndexIsBuiltOverAKeyWithMoreVersionsThanASlice) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  fuzz::PoolMemory memory;
  auto engine = LsmEngine::Open(fuzz::FuzzOptions(0), fuzz::MediaFor(&memory, 0));
  ASSERT_TRUE(IsOk(engine.status()));
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(IsOk((*engine)->Put({}, "hot", std::to_string(i))));
    snapshots.push_back((*engine)->GetSnapshot());
  }
  ASSERT_TRUE(IsOk((*engine)->Put({}, "later", "")));
  ASSERT_TRUE(IsOk((*engine)->Compact()));
  pool::PmemPool& pool = const_cast<pool::PmemPool&>(*(*engine)->medium());
  const index::SkipList list(&pool, pool.As<uint64_t>(format::kTableHeadsOffset));
  cache::DramIndex index(&pool, 1);
  for (int slice = 0; slice < 20 && !index.complete(); ++slice) {
    ASSERT_TRUE(IsOk(index.BuildSlice(list, 4)));
  }
  EXPECT_TRUE(index.complete());
  EXPECT_EQ(index.tree()->size(), 2u);
}

TEST(HostileIndexTest, AnIndexHoldsWhatTheBottomLayerHasWhateverUpperLayersSay) {
  fuzz::PoolMemory memory;
  auto engine = LsmEngine::Open(fuzz::FuzzOptions(0), fuzz::MediaFor(&memory, 0));
  ASSERT_TRUE(IsOk(engine.status()));
  constexpr int kKeys = 3000;
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(IsOk((*engine)->Put({}, Use::Key(i), "vvvv")));
  }
  ASSERT_TRUE(IsOk((*engine)->Compact()));
  pool::PmemPool& pool = const_cast<pool::PmemPool&>(*(*engine)->medium());
  const index::SkipList list(&pool, pool.As<uint64_t>(format::kTableHeadsOffset));
  std::vector<format::EntryHeader*> towers;
  index::Damage damage;
  for (const format::EntryHeader* at = list.First(&damage); at != nullptr;) {
    if (at->height() > 3) towers.push_back(const_cast<format::EntryHeader*>(at));
    at = list.Next(at, &damage);
  }
  ASSERT_GT(towers.size(), 12u);
  const auto lead = [&](size_t from, size_t to) {
    for (uint32_t layer = 3; layer < towers[from]->height(); ++layer) {
      if (towers[to]->height() > layer) {
        towers[from]->links()[layer] = pool.LinkTo(pool.OffsetOf(towers[to])).raw;
      }
    }
  };
  // Nowhere, far ahead, back, and in a circle.
  towers[1]->links()[3] = 0;
  lead(3, 9);
  lead(5, 2);
  lead(7, 7);
  cache::DramIndex index(&pool, 1);
  // In one go: the next slice would find its beginning along the layers that were damaged.
  ASSERT_TRUE(IsOk(index.BuildSlice(list, ~0ull)));
  EXPECT_TRUE(index.complete());
  EXPECT_EQ(index.tree()->size(), static_cast<size_t>(kKeys));
  EXPECT_EQ(index.counted(), std::optional<uint64_t>(kKeys));
}

TEST(HostileFileTest, InspectionOfASparseFileOfAnySizeEnds) {
  TempFolder folder;
  const std::string path = folder.Sub("pool");
  { OpenOrFail(TinyOptions(), path); }
  std::filesystem::resize_file(path + "/segment-000000", 1ull << 45);
  const ChildOutcome outcome = RunInChild(kWalkSeconds, [&](int) {
    (void)DB::Inspect(path, TinyOptions());
    (void)DB::Open(TinyOptions(), path);
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(RecoveryTimeTest, AKeyWrittenFromManyShardsIsReplayedInAPass) {
  // Each shard's versions used to be looked up one by one among all others.
  TempFolder folder;
  const std::string path = folder.Sub("pool");
  constexpr int kThreads = 4;
  constexpr int kWrites = 80'000;
  Options options;
  options.log.shards = kThreads;
  options.memtable.bytes = 256ull << 20;
  const ChildOutcome outcome = RunInChild(120, [&](int) -> int {
    const std::unique_ptr<DB> db = OpenOrFail(options, path);
    std::vector<std::thread> writers;
    for (int i = 0; i < kThreads; ++i) {
      writers.emplace_back([&] {
        for (int n = 0; n < kWrites; ++n) (void)db->Put("counter", std::to_string(n));
      });
    }
    for (std::thread& writer : writers) writer.join();
    ::_exit(0);  // as a process that dies
  });
  ASSERT_EQ(outcome.exit_code, 0) << outcome.ToString();
  const ChildOutcome reopened = RunInChild(kWalkSeconds, [&](int) {
    const std::unique_ptr<DB> db = OpenOrFail(options, path);
    if (db == nullptr) return 1;
    return db->GetStatistics().recovered_entries == kThreads * kWrites &&
                   GetText(db.get(), "counter") == std::to_string(kWrites - 1)
               ? 0
               : 2;
  });
  EXPECT_EQ(reopened.exit_code, 0) << reopened.ToString();
}

}  // namespace
}  // namespace braid::test
