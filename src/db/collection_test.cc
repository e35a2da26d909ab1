// Tests of collection and of giving chunks back.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "braid/db.h"
#include "support/environment.h"

namespace braid {
namespace {

class CollectionTest : public ::testing::Test {
 protected:
  CollectionTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-collection-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    Options options;
    options.background_threads = false;
    options.pool.chunk_bytes = 4 << 10;
    options.pool.initial_bytes = 256 << 10;
    options.log.shards = 1;
    options.compaction.gc_live_ratio = 0.9;
    Result<std::unique_ptr<DB>> db = DB::Open(options, path_);
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    if (db.ok()) db_ = std::move(db).value();
    ::alarm(60);
  }
  ~CollectionTest() override {
    ::alarm(0);
    db_.reset();
    std::filesystem::remove_all(path_);
  }
  void Fill(const std::string& prefix, int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(db_->Put(prefix + std::to_string(i), std::string(bytes, 'v')).ok());
    }
  }

  std::string path_;
  std::unique_ptr<DB> db_;
};

TEST_F(CollectionTest, EndsWhenLargeEntriesLeaveEveryChunkSparse) {
  Fill("key", 20, 1400);  // two fit a chunk, and fill two thirds of it
  ASSERT_TRUE(db_->Compact().ok());
  VerifyReport report;
  EXPECT_TRUE(db_->Verify(&report).ok());
  EXPECT_EQ(report.live_entries, 20u);
}

// A chunk that waits for two iterators is seen empty by two merges. Given back for each, it would
// be taken from its next owner the second time.
TEST_F(CollectionTest, AChunkThatIsSeenEmptyTwiceIsGivenBackOnce) {
  std::unique_ptr<Iterator> first = db_->NewIterator({});  // sees nothing, pins all garbage
  Fill("key", 20, 600);
  ASSERT_TRUE(db_->Flush().ok());
  Fill("key", 20, 600);
  ASSERT_TRUE(db_->Compact().ok());
  std::unique_ptr<Iterator> second = db_->NewIterator({});
  Fill("other", 1, 10);
  ASSERT_TRUE(db_->Compact().ok());
  first.reset();
  ASSERT_TRUE(db_->Compact().ok());
  Fill("new", 60, 600);  // in the chunks that were given back
  second.reset();
  ASSERT_TRUE(db_->Compact().ok());
  VerifyReport report;
  EXPECT_TRUE(db_->Verify(&report).ok());
  for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  EXPECT_EQ(report.live_entries, 81u);
  std::string value;
  for (int i = 0; i < 60; ++i) {
    const Status found = db_->Get("new" + std::to_string(i), &value);
    EXPECT_TRUE(found.ok()) << found.ToString();
  }
}

/// Small, and with the share of live bytes that users get.
class SpaceTest : public ::testing::TestWithParam<size_t> {
 protected:
  SpaceTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-space-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    Options options;
    options.background_threads = false;
    options.pool.chunk_bytes = 16 << 10;
    options.pool.initial_bytes = 64 << 20;  // most of it stays free
    options.log.shards = 1;
    options.memtable.bytes = 256 << 10;
    Result<std::unique_ptr<DB>> db = DB::Open(options, path_);
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    if (db.ok()) db_ = std::move(db).value();
    ::alarm(120);
  }
  ~SpaceTest() override {
    ::alarm(0);
    db_.reset();
    std::filesystem::remove_all(path_);
  }

  std::string path_;
  std::unique_ptr<DB> db_;
};

INSTANTIATE_TEST_SUITE_P(ValueBytes, SpaceTest, ::testing::Values(100, 1024));

// Nobody asks for a compaction here: what is left is what the policy leaves.
TEST_P(SpaceTest, OverwritingEverythingFiveTimesTakesOneAndAHalfTimesWhatLives) {
  if (test::kSanitizer) GTEST_SKIP() << "takes a minute, for what is counted";
  constexpr uint64_t kKeys = 25'000;
  const std::string value(GetParam(), 'v');
  uint64_t random = 1;
  const auto key_of = [](uint64_t i) {
    std::string key = std::to_string(i);
    return std::string(16 - key.size(), '0') + key;
  };
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(db_->Put(key_of(i), value).ok());
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      ASSERT_TRUE(db_->Put(key_of((random >> 33) % kKeys), value).ok());
    }
  }
  ASSERT_TRUE(db_->Flush().ok());
  const Statistics s = db_->GetStatistics();
  EXPECT_EQ(s.l1_entries + s.l0_entries, kKeys);
  const uint64_t header_and_links = 24 + 11;
  const uint64_t live = kKeys * (16 + GetParam() + header_and_links);
  EXPECT_LE(static_cast<double>(s.pool_used_bytes), 1.5 * static_cast<double>(live));
  VerifyReport report;
  EXPECT_TRUE(db_->Verify(&report).ok());
  for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  EXPECT_EQ(report.live_entries, kKeys);
}

// What a seek passes is what the tables hold: a merge leaves no delete behind.
TEST_P(SpaceTest, DeletesInARowAreGoneWithTheirMerge) {
  constexpr uint64_t kKeys = 4000;
  const auto key_of = [](uint64_t i) { return "key" + std::to_string(100'000 + i); };
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(db_->Put(key_of(i), std::string(GetParam(), 'v')).ok());
  }
  ASSERT_TRUE(db_->Compact().ok());
  for (uint64_t i = 0; i < kKeys / 2; ++i) ASSERT_TRUE(db_->Delete(key_of(i)).ok());
  const auto expect_first = [&] {
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    it->SeekToFirst();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), key_of(kKeys / 2));
  };
  expect_first();
  ASSERT_TRUE(db_->Flush().ok());
  expect_first();
  ASSERT_TRUE(db_->Compact().ok());
  expect_first();
  const Statistics s = db_->GetStatistics();
  EXPECT_EQ(s.l0_entries, 0u);
  EXPECT_EQ(s.l1_entries, kKeys / 2) << "deletes, or what they deleted, are still linked";
  EXPECT_EQ(s.index_entries, kKeys / 2);
  VerifyReport report;
  EXPECT_TRUE(db_->Verify(&report).ok());
  EXPECT_EQ(report.entries, kKeys / 2);
}

}  // namespace
}  // namespace braid
