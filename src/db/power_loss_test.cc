// Tests the rebuild after a power loss on page-cache media: the pool's boot id is made another one
// and its links and heads are destroyed, as pages that reached the medium in any order leave them.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "braid/db.h"
#include "compaction/garbage_collection.h"
#include "design/design.h"
#include "format/entry.h"
#include "format/layout.h"
#include "media/file_media.h"
#include "repair/salvage.h"
#include "support/store_parts.h"

namespace braid {
namespace {

class PowerLossTest : public ::testing::Test {
 protected:
  PowerLossTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-rebuild-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    options_.pool.force_media_class = MediaClass::kPage;
    options_.pool.initial_bytes = 1 << 20;
    options_.pool.chunk_bytes = 16 << 10;
    options_.memtable.bytes = 32 << 10;
    options_.log.kind = LogKind::kIndexUnified;  // entries stay where they were written
    options_.background_threads = false;
  }
  ~PowerLossTest() override { std::filesystem::remove_all(path_); }

  /// An engine that is dropped without Close, as a crash leaves the pool.
  std::shared_ptr<engine::Engine> OpenEngine() {
    auto media = media::OpenFileMedia(path_, options_.pool, true);
    EXPECT_TRUE(media.ok()) << media.status().ToString();
    auto engine = design::kBraid.Make(options_, std::move(media).value());
    EXPECT_TRUE(engine.ok()) << engine.status().ToString();
    return std::move(engine).value();
  }

  void Edit(const std::function<void(std::vector<char>*)>& edit) {
    const std::string file = path_ + "/segment-000000";
    std::vector<char> bytes(std::filesystem::file_size(file));
    std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<long>(bytes.size()));
    edit(&bytes);
    std::ofstream(file, std::ios::binary | std::ios::in)
        .write(bytes.data(), static_cast<long>(bytes.size()));
  }

  /// The machine was restarted: both copies of the header name another boot.
  void LosePower() {
    Edit([](std::vector<char>* bytes) {
      for (const uint64_t place : format::kPoolHeaderOffset) {
        auto* header = reinterpret_cast<format::PoolHeader*>(bytes->data() + place);
        header->boot_id[0] = header->boot_id[0] == 'x' ? 'y' : 'x';
        header->check = format::StructCheck(*header, place);
      }
      // No head of a table reached the medium.
      std::memset(bytes->data() + format::kTableHeadsOffset, 0, 2 * format::kPageBytes);
    });
  }

  /// By a machine that was restarted. It must miss nothing.
  std::vector<std::string> SalvagedKeys() {
    Result<std::unique_ptr<media::PoolImage>> image = media::PoolImage::Open(path_);
    EXPECT_TRUE(image.ok()) << image.status().ToString();
    const auto salvage = repair::Salvage::Read(std::move(image).value(), {}, "another boot");
    EXPECT_TRUE(salvage.ok()) << salvage.status().ToString();
    std::vector<std::string> keys;
    const Status taken = (*salvage)->ForEachRecord([&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return Status::OK();
    });
    EXPECT_TRUE(taken.ok()) << taken.ToString();
    const RepairReport report = (*salvage)->TakeReport();
    EXPECT_EQ(report.losses(), 0u) << report.findings.front().ToString();
    return keys;
  }

  void ExpectContent(engine::Engine* engine) {
    const auto it = engine->NewIterator({});
    auto want = model_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++want) {
      ASSERT_NE(want, model_.end()) << "came back: " << it->key();
      ASSERT_EQ(it->key(), want->first);
      ASSERT_EQ(it->value(), want->second);
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    EXPECT_EQ(want, model_.end()) << "lost: " << want->first;
  }

  void Put(engine::Engine* engine, const std::string& key, const std::string& value) {
    ASSERT_TRUE(engine->Put({}, key, value).ok());
    model_[key] = value;
  }

  std::string path_;
  Options options_;
  std::map<std::string, std::string> model_;
};

TEST_F(PowerLossTest, EverythingWrittenIsFoundFromItsEntriesAlone) {
  {
    auto engine = OpenEngine();
    for (int i = 0; i < 3000; ++i) {
      Put(engine.get(), "key" + std::to_string(i * 7919 % 1500), "value" + std::to_string(i));
    }
    Put(engine.get(), "large", std::string(60000, 'L'));
    for (int i = 0; i < 1500; i += 3) {
      ASSERT_TRUE(engine->Delete({}, "key" + std::to_string(i)).ok());
      model_.erase("key" + std::to_string(i));
    }
    WriteBatch batch;
    for (int i = 0; i < 20; ++i) {
      batch.Put("batch" + std::to_string(i), "b");
      model_["batch" + std::to_string(i)] = "b";
    }
    WriteOptions sync;
    sync.sync = true;
    ASSERT_TRUE(engine->Write(sync, batch).ok());
  }
  LosePower();
  {
    auto engine = OpenEngine();
    ExpectContent(engine.get());
    VerifyReport report;
    const Status verified = engine->Verify(&report, {});
    EXPECT_TRUE(verified.ok()) << verified.ToString();
    Put(engine.get(), "after", "the rebuild");
    ASSERT_TRUE(engine->Close().ok());
  }
  auto engine = OpenEngine();
  ExpectContent(engine.get());
}

TEST_F(PowerLossTest, AReaderRebuildsInMemoryWithinItsBudgetAndLeavesThePoolAsItIs) {
  {
    auto engine = OpenEngine();
    for (int i = 0; i < 6000; ++i) {
      Put(engine.get(), "key" + std::to_string(i), std::string(300, 'v'));
    }
    Put(engine.get(), "large", std::string(60000, 'L'));
  }
  LosePower();
  std::vector<char> before;
  Edit([&](std::vector<char>* bytes) { before = *bytes; });
  const auto open_to_read = [&]() -> Result<std::shared_ptr<engine::Engine>> {
    auto media = media::OpenFileMediaToRead(path_, options_.pool);
    if (!media.ok()) return media.status();
    return design::kBraid.Make(options_, std::move(media).value());
  };
  options_.read_only = true;
  for (int time = 0; time < 2; ++time) {
    auto reader = open_to_read();
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    ExpectContent(reader->get());
    VerifyReport report;
    const Status verified = (*reader)->Verify(&report, {});
    EXPECT_TRUE(verified.ok()) << verified.ToString();
    // The pages that were copied count.
    EXPECT_GT((*reader)->GetStatistics().memory_bytes, 6000u * 300);
    EXPECT_TRUE((*reader)->Close().ok());
  }
  options_.memory_budget_bytes = 1 << 20;
  const Status too_large = open_to_read().status();
  EXPECT_TRUE(too_large.IsNotSupported()) << too_large.ToString();
  EXPECT_NE(too_large.message().find("memory_budget_bytes"), std::string::npos);
  Edit([&](std::vector<char>* bytes) { EXPECT_TRUE(*bytes == before); });
  options_.read_only = false;
  auto engine = OpenEngine();
  ExpectContent(engine.get());
}

TEST_F(PowerLossTest, ASyncedBatchThatSpansChunksIsWhole) {
  options_.memtable.bytes = 1 << 20;  // so that it is in the log when the power goes
  {
    auto engine = OpenEngine();
    Put(engine.get(), "before", "b");
    WriteBatch batch;
    for (int i = 0; i < 100; ++i) {
      const std::string key = "batch" + std::to_string(i);
      batch.Put(key, std::string(500, 'v'));  // 100 of them take three chunks and more
      model_[key] = std::string(500, 'v');
    }
    WriteOptions sync;
    sync.sync = true;
    ASSERT_TRUE(engine->Write(sync, batch).ok());
  }
  LosePower();
  auto engine = OpenEngine();
  ExpectContent(engine.get());
}

TEST_F(PowerLossTest, AnInterruptedRebuildStartsAgain) {
  {
    auto engine = OpenEngine();
    for (int i = 0; i < 1000; ++i) Put(engine.get(), "k" + std::to_string(i), std::to_string(i));
  }
  LosePower();
  { auto engine = OpenEngine(); }
  LosePower();
  auto engine = OpenEngine();
  ExpectContent(engine.get());
}

TEST_F(PowerLossTest, AFlushedValueThatIsDamagedIsNotPassedOver) {
  {
    auto engine = OpenEngine();
    ASSERT_TRUE(engine->Put({}, "key", "the value").ok());
    ASSERT_TRUE(engine->Flush().ok());
  }
  LosePower();
  Edit([](std::vector<char>* bytes) {
    const std::string value = "the value";
    const auto found = std::search(bytes->begin(), bytes->end(), value.begin(), value.end());
    ASSERT_NE(found, bytes->end());
    *found = 'T';
  });
  auto media = media::OpenFileMedia(path_, options_.pool, true);
  ASSERT_TRUE(media.ok());
  const auto engine = design::kBraid.Make(options_, std::move(media).value());
  ASSERT_EQ(engine.status().code(), Status::Code::kCorruption);
  EXPECT_NE(engine.status().message().find("braid repair"), std::string::npos);
}

/// The entry of `key`, which no other text in the pool begins with; by the nth place of it.
format::EntryHeader* FindEntry(std::vector<char>* bytes, const std::string& key, int nth) {
  auto from = bytes->begin();
  for (;;) {
    const auto at = std::search(from, bytes->end(), key.begin(), key.end());
    if (at == bytes->end()) return nullptr;
    for (uint32_t height = 1; height <= format::kMaxHeight; ++height) {
      const size_t before = sizeof(format::EntryHeader) + height * sizeof(uint64_t);
      auto* entry = reinterpret_cast<format::EntryHeader*>(&*at - before);
      if (entry->height() == height && entry->key() == key && nth-- == 0) return entry;
    }
    from = at + 1;
  }
}

TEST_F(PowerLossTest, RepairBelievesAObsoleteDeleteOfABatch) {
  options_.compaction.gc_live_ratio = 0;  // obsolete entries stay where they are
  {
    auto engine = OpenEngine();
    ASSERT_TRUE(engine->Put({}, "the deleted key", "value").ok());
    ASSERT_TRUE(engine->Put({}, "its neighbour", "value").ok());
    ASSERT_TRUE(engine->Flush().ok());
    WriteBatch batch;
    batch.Put("another", "value");
    batch.Delete("the deleted key");
    ASSERT_TRUE(engine->Write({}, batch).ok());
    ASSERT_TRUE(engine->Compact().ok());
  }
  LosePower();
  // Of two obsolete marks the delete's has reached the medium, its links have not.
  Edit([](std::vector<char>* bytes) {
    for (int nth = 0; nth < 2; ++nth) {
      format::EntryHeader* entry = FindEntry(bytes, "the deleted key", nth);
      ASSERT_NE(entry, nullptr);
      ASSERT_EQ(entry->state(), format::kStateObsolete);
      if (entry->op() == format::EntryOp::kDelete) {
        std::memset(entry->links(), 0, entry->height() * sizeof(uint64_t));
      } else {
        *entry->state_byte() = format::kStateLive;
      }
    }
  });
  EXPECT_EQ(SalvagedKeys(), (std::vector<std::string>{"another", "its neighbour"}));
}

TEST_F(PowerLossTest, RepairMissesNothingWhereARebuildHasRevivedADelete) {
  options_.compaction.gc_live_ratio = 0;  // obsolete entries stay where they are
  {
    auto engine = OpenEngine();
    ASSERT_TRUE(engine->Delete({}, "the deleted key").ok());
    ASSERT_TRUE(engine->Put({}, "the deleted key", "value").ok());
    ASSERT_TRUE(engine->Put({}, "its neighbour", "value").ok());
    ASSERT_TRUE(engine->Flush().ok());
    ASSERT_TRUE(engine->Delete({}, "the deleted key").ok());
    ASSERT_TRUE(engine->Compact().ok());  // gives the last delete's chunk back
  }
  LosePower();
  Edit([](std::vector<char>* bytes) {
    format::EntryHeader* const entry = FindEntry(bytes, "the deleted key", 0);
    ASSERT_NE(entry, nullptr);
    ASSERT_EQ(entry->op(), format::EntryOp::kDelete);
    *entry->state_byte() = format::kStateLive;
  });
  EXPECT_EQ(SalvagedKeys(), std::vector<std::string>{"its neighbour"});
}

TEST_F(PowerLossTest, RepairTakesTheCopyThatAnInterruptedRebuildHasLeft) {
  const test::StoreParts::Change on_pages = [](Options* options) {
    options->pool.force_media_class = MediaClass::kPage;
  };
  test::StoreParts parts(on_pages);
  parts.Put("key", "value");
  parts.Flush();
  parts.Merge();
  pool::PmemPool* const pool = parts.pool.get();
  ASSERT_TRUE(pool->MarkDirty().ok());
  index::Damage damage;
  const auto* const original =
      parts.state().version->levels.back().back()->AsList()->list().First(&damage);
  ASSERT_NE(original, nullptr);
  compaction::Merger::CopySlot slot;
  ASSERT_TRUE(parts.merger.TakeSlot(&slot));
  const Result<bool> copied = parts.merger.CommitCopies(
      slot, compaction::MoveEntries(pool, &parts.usage, {pool->OffsetOf(original)}, slot.table_id,
                                    slot.head));
  ASSERT_TRUE(copied.ok() && *copied) << copied.status().ToString();
  const auto* const copy =
      index::SkipList(pool, pool->As<uint64_t>(pool->HeadOffset(slot.head))).First(&damage);
  ASSERT_NE(copy, nullptr);
  format::MergeRecord merge;
  {
    const level::VersionSet::Locked versions = parts.versions.Lock();
    merge = *versions.record().MergeOf(slot.table_id);
  }
  // The merge says that it drops the original, and is cut off; so is the rebuild, which has dropped
  // the copy.
  const uint64_t mark = pool->OffsetOf(original) | format::kRedoMarkObsolete;
  ASSERT_TRUE(merge::RedoLog(pool, merge).Commit({{mark, 0}}, {.batch = 1}).ok());
  const auto state_of = [](const format::EntryHeader* entry) {
    return const_cast<format::EntryHeader*>(entry)->state_byte();
  };
  ASSERT_EQ(*state_of(original), format::kStateObsolete);
  *state_of(original) = format::kStateLive;
  *state_of(copy) = format::kStateObsolete;
  std::filesystem::copy(parts.path(), path_);  // the pool itself is open
  EXPECT_EQ(SalvagedKeys(), std::vector<std::string>{"key"});
}

TEST_F(PowerLossTest, ARestartAfterACleanCloseRebuildsNothing) {
  {
    auto engine = OpenEngine();
    Put(engine.get(), "a", "1");
    ASSERT_TRUE(engine->Close().ok());
  }
  Edit([](std::vector<char>* bytes) {
    for (const uint64_t place : format::kPoolHeaderOffset) {
      auto* header = reinterpret_cast<format::PoolHeader*>(bytes->data() + place);
      header->boot_id[0] = 'x';
      header->check = format::StructCheck(*header, place);
    }
  });
  auto engine = OpenEngine();
  ExpectContent(engine.get());
  EXPECT_EQ(engine->GetStatistics().clean_open, 1u);
}

}  // namespace
}  // namespace braid
