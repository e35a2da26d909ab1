// Tests of collection and of giving chunks back.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "braid/db.h"

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
  std::unique_ptr<Iterator> first = db_->NewIterator({});  // sees nothing, holds all that dies
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

}  // namespace
}  // namespace braid
