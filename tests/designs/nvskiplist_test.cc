// Tests the engine of leaves: what it writes back, when space is used anew, and what it promises on
// page-cache media: a crash of the process harms nothing, and neither does a restart of the machine
// after an orderly close; after one that was not announced the pool is refused, unchanged, and a
// repair finds what is intact.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <vector>

#include "base/epoch.h"
#include "braid/db.h"
#include "design/design.h"
#include "format/layout.h"
#include "format/leaf.h"
#include "media/file_media.h"

namespace braid {
namespace {

class NvSkipListTest : public ::testing::Test {
 protected:
  NvSkipListTest() {
    const char* base = std::getenv("BRAID_TMP");
    folder_ = std::string(base != nullptr ? base : "/tmp") + "/braid-leaves-XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/pool";
    options_.design = "nvskiplist";
    options_.pool.force_media_class = MediaClass::kPage;
    options_.pool.initial_bytes = 1 << 20;
    options_.pool.chunk_bytes = 16 << 10;
    options_.background_threads = false;
    options_.leaf.ranges = 16;
    options_.leaf.divide_ranges = true;
  }
  ~NvSkipListTest() override { std::filesystem::remove_all(folder_); }

  /// An engine that is dropped without Close, as a crash leaves the pool.
  Result<std::shared_ptr<engine::Engine>> Open() {
    auto media = media::OpenFileMedia(path_, options_.pool, true);
    if (!media.ok()) return media.status();
    return design::kNvSkipList.Make(options_, std::move(media).value());
  }
  std::shared_ptr<engine::Engine> OpenEngine() {
    auto engine = Open();
    EXPECT_TRUE(engine.ok()) << engine.status().ToString();
    return engine.ok() ? std::move(engine).value() : nullptr;
  }

  void Fill(engine::Engine* engine) {
    for (int i = 0; i < 2000; ++i) {
      const std::string key = "key" + std::to_string(i * 7919 % 900);
      model_[key] = "value" + std::to_string(i);
      ASSERT_TRUE(engine->Put({}, key, model_[key]).ok());
    }
    for (int i = 0; i < 900; i += 5) {
      const std::string key = "key" + std::to_string(i);
      ASSERT_TRUE(engine->Delete({}, key).ok());
      model_.erase(key);
    }
  }

  template <typename Store>
  void ExpectContent(Store* store) {
    const auto it = store->NewIterator(ReadOptions{});
    auto want = model_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++want) {
      ASSERT_NE(want, model_.end()) << "came back: " << it->key();
      ASSERT_EQ(it->key(), want->first);
      ASSERT_EQ(it->value(), want->second);
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    EXPECT_EQ(want, model_.end());
  }

  std::vector<char> Bytes() const {
    std::vector<char> bytes(std::filesystem::file_size(File()));
    std::ifstream(File(), std::ios::binary).read(bytes.data(), static_cast<long>(bytes.size()));
    return bytes;
  }

  /// The machine was restarted: both copies of the header name another boot.
  void Restart() {
    std::vector<char> bytes = Bytes();
    for (const uint64_t place : format::kPoolHeaderOffset) {
      auto* header = reinterpret_cast<format::PoolHeader*>(bytes.data() + place);
      header->boot_id[0] = header->boot_id[0] == 'x' ? 'y' : 'x';
      header->check = format::StructCheck(*header, place);
    }
    std::ofstream(File(), std::ios::binary | std::ios::in)
        .write(bytes.data(), static_cast<long>(bytes.size()));
  }

  std::string File() const { return path_ + "/segment-000000"; }

  std::string folder_;
  std::string path_;
  Options options_;
  std::map<std::string, std::string> model_;
};

TEST_F(NvSkipListTest, AnOpenPoolIsRefusedAfterARestartAndCanBeRepaired) {
  { Fill(OpenEngine().get()); }
  Restart();
  const std::vector<char> before = Bytes();
  for (int i = 0; i < 2; ++i) {  // it stays so
    const auto engine = Open();
    ASSERT_FALSE(engine.ok());
    EXPECT_TRUE(engine.status().IsCorruption()) << engine.status().ToString();
    for (const char* part : {"not closed before the system went down", "braid repair"}) {
      EXPECT_NE(engine.status().ToString().find(part), std::string::npos)
          << engine.status().ToString();
    }
    EXPECT_TRUE(Bytes() == before) << "the pool was changed";
  }
  RepairReport report;
  const std::string target = folder_ + "/repaired";
  const Status repaired = DB::Repair(options_, path_, target, &report);
  ASSERT_TRUE(repaired.ok()) << repaired.ToString();
  auto db = DB::Open(options_, target);
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  ExpectContent(db->get());  // here no page was lost
}

TEST_F(NvSkipListTest, AClassThatIsForcedLaterDoesNotMakeOldPagesNew) {
  { Fill(OpenEngine().get()); }
  Restart();
  options_.pool.force_media_class = MediaClass::kCacheLine;
  EXPECT_TRUE(Open().status().IsCorruption());
}

TEST_F(NvSkipListTest, ACrashOfTheProcessHarmsNothing) {
  { Fill(OpenEngine().get()); }
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  ExpectContent(engine.get());
  VerifyReport report;
  const Status verified = engine->Verify(&report, {});
  EXPECT_TRUE(verified.ok()) << verified.ToString();
}

TEST_F(NvSkipListTest, ARestartAfterACleanCloseHarmsNothing) {
  {
    auto engine = OpenEngine();
    Fill(engine.get());
    ASSERT_TRUE(engine->Close().ok());
  }
  Restart();
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  ExpectContent(engine.get());
  EXPECT_EQ(engine->GetStatistics().clean_open, 1u);
}

TEST_F(NvSkipListTest, OnOtherMediaARestartHarmsNothing) {
  options_.pool.force_media_class = MediaClass::kCacheLine;
  WriteOptions sync;
  sync.sync = true;
  {
    auto engine = OpenEngine();
    Fill(engine.get());
    ASSERT_TRUE(engine->Put(sync, "synced", "s").ok());
    model_["synced"] = "s";
  }
  Restart();
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  ExpectContent(engine.get());
}

TEST_F(NvSkipListTest, SequenceNumbersGrowOverACrash) {
  uint64_t drawn = 0;
  {
    auto engine = OpenEngine();
    ASSERT_TRUE(engine->Put({}, "deleted", "1").ok());
    ASSERT_TRUE(engine->Put({}, "deleted", "2").ok());
    ASSERT_TRUE(engine->Delete({}, "deleted").ok());  // so that no leaf names the last one
    drawn = engine->GetStatistics().last_sequence;
    ASSERT_GE(drawn, 2u);
  }
  EXPECT_GE(OpenEngine()->GetStatistics().last_sequence, drawn);
}

TEST_F(NvSkipListTest, SpaceIsUsedAnewOnlyAfterReadersHaveLeft) {
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  Fill(engine.get());
  for (const auto& [key, value] : model_) ASSERT_TRUE(engine->Delete({}, key).ok());
  const uint64_t freed = engine->GetStatistics().collected_chunks;
  std::future<Status> compacted;
  {
    const base::EpochGuard reader;
    compacted = std::async(std::launch::async, [&] { return engine->Compact(); });
    EXPECT_EQ(compacted.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout)
        << "it did not wait for who may still read what was deleted";
    EXPECT_EQ(engine->GetStatistics().collected_chunks, freed);
  }
  EXPECT_TRUE(compacted.get().ok());
  EXPECT_GT(engine->GetStatistics().collected_chunks, freed);
}

// Chunks are looked at one by one; a put between two of them would wait for ever otherwise.
TEST_F(NvSkipListTest, PutsGoOnWhileVerifyLooksAtChunks) {
  options_.pool.chunk_bytes = 4 << 10;
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  const auto put = [&](const std::string& key, const std::string& value) {
    model_[key] = value;
    ASSERT_TRUE(engine->Put({}, key, value).ok());
  };
  for (int i = 0; i < 2'000; ++i) put("key" + std::to_string(i), std::string(500, 'v'));
  put("large", std::string(10'000, 'l'));
  ::alarm(60);
  int puts = 0;
  VerifyReport report;
  const Status verified = engine->Verify(&report, [&](double progress) {
    if (progress <= 0.9 || progress >= 1) return;
    // New ones, and others in the place of what was looked at, or is to be.
    put("new" + std::to_string(++puts), "value");
    put("key" + std::to_string(puts * 97 % 2'000), std::string(400, 'w'));
    put("large", std::string(10'000 + static_cast<size_t>(puts), 'm'));
  });
  ::alarm(0);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  EXPECT_GE(puts, 3);
  ExpectContent(engine.get());
  EXPECT_TRUE(engine->Verify(&report, {}).ok());
}

// The copies are as sparse as the originals: without an end, they would be copied for ever.
TEST_F(NvSkipListTest, CollectionEndsWhenLargeEntriesLeaveEveryChunkSparse) {
  options_.pool.chunk_bytes = 4 << 10;
  options_.compaction.gc_live_ratio = 0.9;
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  for (int i = 0; i < 40; ++i) {  // two fit a chunk, and fill two thirds of it
    model_["key" + std::to_string(i)] = std::string(1400, 'v');
    ASSERT_TRUE(engine->Put({}, "key" + std::to_string(i), std::string(1400, 'v')).ok());
  }
  ::alarm(60);
  ASSERT_TRUE(engine->Compact().ok());
  // What has died since is a reason to collect again.
  for (int i = 0; i < 40; i += 2) {
    model_.erase("key" + std::to_string(i));
    ASSERT_TRUE(engine->Delete({}, "key" + std::to_string(i)).ok());
  }
  const uint64_t used = engine->GetStatistics().pool_used_bytes;
  ASSERT_TRUE(engine->Compact().ok());
  ::alarm(0);
  EXPECT_LT(engine->GetStatistics().pool_used_bytes, used);
  ExpectContent(engine.get());
}

// A stale image in its place would be believed; without any, the next open would read all leaves.
TEST_F(NvSkipListTest, CloseWritesTheImageOfTheIndexBack) {
  constexpr uint64_t kKeys = 60'000;
  options_.pool.force_media_class = MediaClass::kCacheLine;
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(engine->Put({}, "key" + std::to_string(i), "value").ok());
  }
  const uint64_t before = engine->GetStatistics().lines_flushed;
  ASSERT_TRUE(engine->Close().ok());
  // Of each leaf its place and the length of a key at least.
  constexpr uint64_t kImageBytes = kKeys / format::kLeafSlots * 16;
  EXPECT_GE(engine->GetStatistics().lines_flushed - before, kImageBytes / 64);
}

TEST_F(NvSkipListTest, WritesWithSyncAreRefused) {
  auto engine = OpenEngine();
  WriteOptions sync;
  sync.sync = true;
  EXPECT_TRUE(engine->Put(sync, "a", "1").IsNotSupported());
  EXPECT_TRUE(engine->Delete(sync, "a").IsNotSupported());
  EXPECT_TRUE(engine->Write(sync, WriteBatch()).IsNotSupported());
  EXPECT_TRUE(engine->CompareAndSwap(sync, "a", std::nullopt, "1").status().IsNotSupported());
  ExpectContent(engine.get());
}

}  // namespace
}  // namespace braid
