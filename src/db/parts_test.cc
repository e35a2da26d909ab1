// Tests of parts that the default design does not pick: what they promise beside what every store
// does (tests/conformance), and that pools go from one kind to another.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "design/design.h"
#include "media/file_media.h"

namespace braid {
namespace {

class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-parts-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    options_.pool.initial_bytes = 1 << 20;
    options_.pool.chunk_bytes = 4 << 10;
    options_.log.shards = 1;
    options_.background_threads = false;
  }
  ~PartsTest() override { std::filesystem::remove_all(path_); }

  using EnginePtr = std::shared_ptr<engine::Engine>;

  /// A fresh pool, whose L0 is full after a few puts.
  EnginePtr OpenWithoutMerges(bool threads) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
    options_.background_threads = threads;
    options_.compaction.kind = MergeKind::kNone;
    options_.memtable.bytes = 1024;
    return Open();
  }
  EnginePtr Open() {
    auto media = media::OpenFileMedia(path_, options_.pool, true);
    EXPECT_TRUE(media.ok());
    auto engine = design::kBraid.Make(options_, std::move(media).value());
    EXPECT_TRUE(engine.ok()) << engine.status().ToString();
    return engine.ok() ? *engine : nullptr;
  }
  static std::string Key(int i) { return "key" + std::to_string(1000 + i); }
  static void Put(const EnginePtr& engine, int begin, int end, const std::string& value) {
    for (int i = begin; i < end; ++i) {
      const Status s = engine->Put({}, Key(i), value + std::to_string(i));
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
  }
  static void Expect(const EnginePtr& engine, int begin, int end, const std::string& value) {
    for (int i = begin; i < end; ++i) {
      std::string found;
      const Status s = engine->Get({}, Key(i), &found);
      ASSERT_TRUE(s.ok()) << Key(i) << ": " << s.ToString();
      ASSERT_EQ(found, value + std::to_string(i));
    }
  }
  static void ExpectSound(const EnginePtr& engine) {
    VerifyReport report;
    const Status s = engine->Verify(&report, {});
    EXPECT_TRUE(s.ok()) << s.ToString();
  }

  std::string path_;
  Options options_;
};

TEST_F(PartsTest, TablesWaitForTheirGroupAndAreReplayedAfterACrash) {
  options_.flush.group_tables = 4;
  options_.compaction.l0_trigger = 8;
  options_.compaction.l0_slowdown = 16;
  options_.memtable.bytes = 4096;
  uint64_t waiting = 0;
  int written = 0;
  {
    const EnginePtr engine = Open();
    while (waiting != 3) {
      Put(engine, written, written + 1, "v");
      ++written;
      waiting = engine->GetStatistics().waiting_tables;
      ASSERT_LT(written, 1000);
    }
    EXPECT_EQ(engine->GetStatistics().l0_tables, 3u);
    Expect(engine, 0, written, "v");
    ExpectSound(engine);
  }  // as a crash leaves it
  const EnginePtr engine = Open();
  EXPECT_EQ(engine->GetStatistics().recovered_entries, static_cast<uint64_t>(written));
  Expect(engine, 0, written, "v");
  ASSERT_TRUE(engine->Flush().ok());
  EXPECT_EQ(engine->GetStatistics().waiting_tables, 0u) << "Flush() makes tables durable";
  ExpectSound(engine);
}

TEST_F(PartsTest, AGroupTakesOneCommit) {
  options_.log.kind = LogKind::kIndexUnified;
  options_.memtable.bytes = 4096;
  options_.compaction.l0_trigger = 16;
  options_.pool.force_media_class = MediaClass::kCacheLine;
  options_.pool.chunk_bytes = 64 << 10;  // one a memtable
  options_.pool.initial_bytes = 4 << 20;
  uint64_t fences[2];
  for (const uint32_t group : {1u, 8u}) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
    options_.flush.group_tables = group;
    const EnginePtr engine = Open();
    for (int i = 0; engine->GetStatistics().flushes < 8; ++i) Put(engine, i, i + 1, "v");
    EXPECT_EQ(engine->GetStatistics().waiting_tables, 0u);
    // A put has one; how many fill a memtable depends on their towers.
    fences[group / 8] = engine->GetStatistics().fences - engine->GetStatistics().puts;
  }
  // Of each table but the group's last one: the fence of the links, and two of the manifest.
  EXPECT_EQ(fences[0] - fences[1], 7u * 3);
}

TEST_F(PartsTest, APoolGoesFromOneKindOfLogToTheOther) {
  int written = 0;
  for (const LogKind kind : {LogKind::kIndexUnified, LogKind::kWriteAhead, LogKind::kWriteAhead,
                             LogKind::kIndexUnified, LogKind::kWriteAhead}) {
    options_.log.kind = kind;
    options_.memtable.kind =
        kind == LogKind::kWriteAhead ? MemTableKind::kSkipList : MemTableKind::kBTree;
    options_.memtable.bytes = written % 2 == 0 ? 1 << 20 : 2048;
    const EnginePtr engine = Open();  // on what a crash left
    Expect(engine, 0, written, "v");
    Put(engine, written, written + 51, "v");
    written += 51;
    Put(engine, 0, 10, "v");
    ASSERT_TRUE(engine->Put({}, "large", std::string(10'000, 'l')).ok());
    ExpectSound(engine);
  }
  options_.log.kind = LogKind::kIndexUnified;
  const EnginePtr engine = Open();
  Expect(engine, 0, written, "v");
  std::string large;
  ASSERT_TRUE(engine->Get({}, "large", &large).ok());
  EXPECT_EQ(large, std::string(10'000, 'l'));
  ASSERT_TRUE(engine->Compact().ok());
  Expect(engine, 0, written, "v");
  ExpectSound(engine);
}

TEST_F(PartsTest, AFlushGivesTheWriteAheadLogBack) {
  options_.log.kind = LogKind::kWriteAhead;
  const EnginePtr engine = Open();
  const uint64_t empty = engine->GetStatistics().pool_used_bytes;
  for (int round = 0; round < 20; ++round) {
    Put(engine, 0, 50, "round");
    ASSERT_TRUE(engine->Compact().ok());
  }
  // The copies of fifty small entries, and a chunk or two that collection has not emptied.
  EXPECT_LE(engine->GetStatistics().pool_used_bytes, empty + 5 * options_.pool.chunk_bytes);
  Expect(engine, 0, 50, "round");
}

TEST_F(PartsTest, AMergeThatCopiesKeepsEverythingAndGivesTheOriginalsBack) {
  options_.compaction.kind = MergeKind::kCopy;
  EnginePtr engine = Open();
  const uint64_t empty = engine->GetStatistics().pool_used_bytes;
  for (int round = 0; round < 10; ++round) {
    Put(engine, 0, 100, "round");
    // A table with a large value is linked as it is.
    if (round == 5) {
      ASSERT_TRUE(engine->Put({}, "large", std::string(10'000, 'l')).ok());
    }
    ASSERT_TRUE(engine->Compact().ok());
    ExpectSound(engine);
  }
  EXPECT_EQ(engine->GetStatistics().merges, 10u);
  EXPECT_LE(engine->GetStatistics().pool_used_bytes, empty + 10 * options_.pool.chunk_bytes);
  ASSERT_TRUE(engine->Close().ok());
  options_.compaction.kind = MergeKind::kZipper;
  engine = Open();
  Expect(engine, 0, 100, "round");
  std::string large;
  ASSERT_TRUE(engine->Get({}, "large", &large).ok());
  ExpectSound(engine);
}

TEST_F(PartsTest, WithoutMergesAFullL0EndsWritesWithTheReasonAndReadsGoOn) {
  for (const bool threads : {false, true}) {
    SCOPED_TRACE(threads ? "threads" : "inline");
    EnginePtr engine = OpenWithoutMerges(threads);
    Status s;
    int written = 0;
    for (; s.ok() && written < 10'000; ++written) s = engine->Put({}, Key(written), "v");
    ASSERT_TRUE(s.IsOutOfSpace()) << s.ToString() << " after " << written;
    EXPECT_NE(s.ToString().find("compaction.kind=none"), std::string::npos) << s.ToString();
    EXPECT_GE(engine->GetStatistics().l0_tables, 56u);
    std::string value;
    EXPECT_TRUE(engine->Get({}, Key(written - 2), &value).ok());
    EXPECT_TRUE(engine->Flush().IsOutOfSpace());
    engine.reset();
    options_.compaction.kind = MergeKind::kZipper;
    engine = Open();
    ASSERT_TRUE(engine->Compact().ok());
    EXPECT_EQ(engine->GetStatistics().l0_tables, 0u);
    EXPECT_TRUE(engine->Get({}, Key(written - 2), &value).ok());
    EXPECT_TRUE(engine->Put({}, "more", "v").ok());
    ExpectSound(engine);
    ASSERT_TRUE(engine->Close().ok());
  }
}

TEST_F(PartsTest, ACloseThatFindsL0FullMergesFirst) {
  for (const bool threads : {false, true}) {
    SCOPED_TRACE(threads ? "threads" : "inline");
    EnginePtr engine = OpenWithoutMerges(threads);
    int written = 0;
    while (engine->Put({}, Key(written), "v").ok()) ASSERT_LT(++written, 10'000);
    engine.reset();
    options_.compaction.kind = MergeKind::kZipper;
    engine = Open();
    ASSERT_TRUE(engine->Close().ok());
    engine.reset();
    engine = Open();
    EXPECT_EQ(engine->GetStatistics().recovered_entries, 0u);
    std::string value;
    EXPECT_TRUE(engine->Get({}, Key(written - 1), &value).ok());
    ExpectSound(engine);
  }
}

}  // namespace
}  // namespace braid
