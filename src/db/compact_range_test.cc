// Tests of which tables a compaction of a range merges.
#include <gtest/gtest.h>

#include <string>

#include "braid/db.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

class CompactRangeTest : public ::testing::TestWithParam<bool> {
 protected:
  CompactRangeTest() {
    Options options;
    options.pool.chunk_bytes = 16 << 10;
    options.pool.initial_bytes = 4 << 20;
    options.compaction.l0_trigger = 16;  // none is merged by itself
    options.background_threads = GetParam();
    auto db = DB::Open(options, folder_.Sub("pool"));
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    if (db.ok()) db_ = std::move(db).value();
  }
  /// A table of this key alone.
  void AddTable(const std::string& key) {
    ASSERT_TRUE(db_->Put(key, "value").ok());
    ASSERT_TRUE(db_->Flush().ok());
  }
  /// Tables of L0 after the compaction.
  uint64_t Compact(std::optional<Slice> begin, std::optional<Slice> end) {
    const Status s = db_->CompactRange({}, begin, end);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return db_->GetStatistics().l0_tables;
  }

  test::TempFolder folder_;
  std::unique_ptr<DB> db_;
};
INSTANTIATE_TEST_SUITE_P(Threads, CompactRangeTest, ::testing::Bool());

TEST_P(CompactRangeTest, TheNewestTableWithAKeyOfTheRangeTakesOlderOnesAlong) {
  for (const char* key : {"a", "c", "b", "d"}) ASSERT_NO_FATAL_FAILURE(AddTable(key));
  ASSERT_TRUE(db_->Put("m", "in the memtable").ok());
  EXPECT_EQ(Compact("x", std::nullopt), 4u);
  EXPECT_EQ(Compact(std::nullopt, "a"), 4u);
  EXPECT_EQ(Compact("a", "b"), 3u);
  EXPECT_EQ(Compact("b", "c"), 1u) << "the table of c is older than that of b";
  EXPECT_EQ(db_->GetStatistics().memtable_entries, 1u);
  EXPECT_EQ(Compact("m", "n"), 0u);
  EXPECT_EQ(db_->GetStatistics().memtable_entries, 0u);
  EXPECT_EQ(db_->GetStatistics().l1_entries, 5u);
}

TEST_P(CompactRangeTest, ADeleteIsAKeyOfTheRangeToo) {
  ASSERT_NO_FATAL_FAILURE(AddTable("a"));
  ASSERT_TRUE(db_->Delete("a").ok());
  ASSERT_TRUE(db_->Flush().ok());
  EXPECT_EQ(Compact("a", "b"), 0u);
  EXPECT_EQ(db_->GetStatistics().l1_entries, 0u);
}

}  // namespace
}  // namespace braid
