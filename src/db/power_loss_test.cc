// Tests the rebuild after a power loss on page-cache media: the pool's boot id is made another one
// and its links and heads are destroyed, as pages that reached the medium in any order leave them.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "braid/db.h"
#include "design/design.h"
#include "format/layout.h"
#include "pmem/file_media.h"

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
    options_.background_threads = false;
  }
  ~PowerLossTest() override { std::filesystem::remove_all(path_); }

  /// An engine that is dropped without Close, as a crash leaves the pool.
  std::shared_ptr<engine::Engine> OpenEngine() {
    auto media = pmem::OpenFileMedia(path_, options_.pool, true);
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
    auto media = pmem::OpenFileMediaToRead(path_, options_.pool);
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
