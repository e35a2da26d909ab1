// Tests that damage inside a log is an error, while what a crash leaves at its end is not: the log
// of a pool that was not closed is harmed in a chosen place.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "braid/db.h"
#include "design/design.h"
#include "media/file_media.h"
#include "repair/salvage.h"

namespace braid {
namespace {

constexpr size_t kValueBytes = 500;

class LogDamageTest : public ::testing::Test {
 protected:
  LogDamageTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-log-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    options_.pool.initial_bytes = 256 << 10;
    options_.pool.chunk_bytes = 4 << 10;
    options_.log.shards = 1;
    options_.background_threads = false;
  }
  ~LogDamageTest() override { std::filesystem::remove_all(path_); }

  Result<std::shared_ptr<engine::Engine>> Open() {
    auto media = media::OpenFileMedia(path_, options_.pool, true);
    if (!media.ok()) return media.status();
    return design::kBraid.Make(options_, std::move(media).value());
  }
  static std::string ValueOf(int i) { return std::string(kValueBytes, static_cast<char>('a' + i)); }
  /// Writes `count` values, one entry each, and leaves the pool as a crash would. A chunk holds
  /// seven.
  void Write(int count) {
    auto engine = Open();
    ASSERT_TRUE(engine.ok()) << engine.status().ToString();
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE((*engine)->Put({}, "key" + std::to_string(i), ValueOf(i)).ok());
    }
  }
  /// Overwrites the value, and the header before it if `header` too, in the file.
  void Harm(int number, bool header) {
    const std::string file = path_ + "/segment-000000";
    std::vector<char> bytes(std::filesystem::file_size(file));
    std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<long>(bytes.size()));
    const std::string value = ValueOf(number);
    const auto at = std::search(bytes.begin(), bytes.end(), value.begin(), value.end());
    ASSERT_NE(at, bytes.end());
    std::fill(header ? at - 36 : at, at + kValueBytes, '\0');
    std::ofstream(file, std::ios::binary | std::ios::in)
        .write(bytes.data(), static_cast<long>(bytes.size()));
  }

  std::string path_;
  Options options_;
};

TEST_F(LogDamageTest, ATornLastWriteIsDropped) {
  Write(4);
  Harm(3, false);
  auto engine = Open();
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  std::string value;
  EXPECT_TRUE((*engine)->Get({}, "key2", &value).ok());
  EXPECT_EQ(value, ValueOf(2));
  EXPECT_TRUE((*engine)->Get({}, "key3", &value).IsNotFound());
}

// The chunk of a write-ahead log that holds nothing but a torn write is given back by the commit of
// the next table. While that table waits for its group, the chunk is no problem.
TEST_F(LogDamageTest, ATornWriteAheadLogIsGivenBackWithTheCommitOfTheNextTable) {
  options_.log.kind = LogKind::kWriteAhead;
  Write(1);
  Harm(0, false);
  options_.log.kind = LogKind::kIndexUnified;
  options_.flush.group_tables = 3;
  options_.compaction.l0_trigger = 5;
  options_.memtable.bytes = 1024;
  auto engine = Open();
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  for (int i = 0; (*engine)->GetStatistics().waiting_tables == 0; ++i) {
    ASSERT_LT(i, 100);
    ASSERT_TRUE((*engine)->Put({}, "new" + std::to_string(i), ValueOf(i % 26)).ok());
  }
  VerifyReport report;
  EXPECT_TRUE((*engine)->Verify(&report, {}).ok());
  for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  const uint64_t freed = (*engine)->GetStatistics().collected_chunks;
  ASSERT_TRUE((*engine)->Compact().ok());
  EXPECT_GT((*engine)->GetStatistics().collected_chunks, freed);
}

// Its chunks are taken before anything is written to them.
TEST_F(LogDamageTest, ASalvageFindsNoGapWhereABatchOfSeveralChunksWasTorn) {
  constexpr int kEntries = 10;
  {
    auto engine = Open();
    ASSERT_TRUE(engine.ok()) << engine.status().ToString();
    ASSERT_TRUE((*engine)->Put({}, "key0", ValueOf(0)).ok());
    WriteBatch batch;
    for (int i = 1; i < kEntries; ++i) batch.Put("key" + std::to_string(i), ValueOf(i));
    ASSERT_TRUE((*engine)->Write({}, batch).ok());
  }
  for (int i = 1; i < kEntries; ++i) Harm(i, true);
  const auto salvage = repair::Salvage::Read(path_, {});
  ASSERT_TRUE(salvage.ok()) << salvage.status().ToString();
  const RepairReport report = (*salvage)->TakeReport();
  EXPECT_EQ(report.losses(), 0u);
  EXPECT_FALSE(report.findings.empty());
  for (const RepairFinding& finding : report.findings) {
    EXPECT_TRUE(finding.problem.starts_with("the log ends here")) << finding.problem;
  }
}

TEST_F(LogDamageTest, DamageBeforeAnIntactWriteIsAnError) {
  Write(4);
  Harm(1, false);
  EXPECT_TRUE(Open().status().IsCorruption());
}

TEST_F(LogDamageTest, DamageInAChunkThatWasLeftIsAnErrorThoughNothingIntactFollows) {
  Write(8);
  Harm(6, true);  // the last of its chunk
  Harm(7, true);  // the first of the next: it was under way
  EXPECT_TRUE(Open().status().IsCorruption());
}

TEST_F(LogDamageTest, TheNumberOfATornWriteStaysUsedWhenItsLogIsFlushed) {
  Write(4);
  Harm(3, false);
  for (int session = 0; session < 3; ++session) {
    auto engine = Open();
    ASSERT_TRUE(engine.ok()) << engine.status().ToString();
    EXPECT_EQ((*engine)->GetStatistics().last_sequence, 4u) << "session " << session;
    ASSERT_TRUE((*engine)->Flush().ok());
  }
}

}  // namespace
}  // namespace braid
