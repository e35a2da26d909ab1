// Stores with lists below L0, one or several a level: lists go down when they have grown, readers
// of earlier states go on in them, and a pool keeps the number of its levels.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "braid/db.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

/// Linked within one group of all levels, and copied at each level; 0: several lists a level.
class ListsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  ListsTest() {
    options_.design = GetParam() == 0 ? "tlsm" : "zipperdb";
    if (GetParam() == 0) options_.levels.list_bytes = 1 << 10;
    options_.background_threads = false;  // merges run inside the writes
    options_.pool.chunk_bytes = 4 << 10;
    options_.pool.initial_bytes = 256 << 10;
    options_.log.shards = 1;
    options_.memtable.bytes = 2 << 10;
    options_.levels.l1_bytes = 4 << 10;
    options_.levels.growth = 2;
    options_.levels.per_group = GetParam();
    ::alarm(60);
    Reopen();
  }
  ~ListsTest() override { ::alarm(0); }
  void Reopen() { Reopen(path_); }
  void Reopen(const std::string& path) {
    db_.reset();
    Result<std::unique_ptr<DB>> db = DB::Open(options_, path);
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    db_ = std::move(db).value();
  }
  static std::string Key(uint64_t i) { return "key" + std::to_string(10'000 + i * 7919 % 10'000); }
  void Put(uint64_t from, uint64_t to, const std::string& value) {
    for (uint64_t i = from; i < to; ++i) {
      ASSERT_TRUE(db_->Put(Key(i), value).ok());
      model_[Key(i)] = value;
    }
  }
  static void ExpectShows(Iterator* iterator, const std::map<std::string, std::string>& content) {
    iterator->SeekToFirst();
    for (const auto& [key, value] : content) {
      ASSERT_TRUE(iterator->Valid()) << key << ": " << iterator->status().ToString();
      ASSERT_EQ(iterator->key(), key);
      ASSERT_EQ(iterator->value(), value);
      iterator->Next();
    }
    EXPECT_FALSE(iterator->Valid());
  }
  void ExpectContent() {
    for (const auto& [key, value] : model_) {
      std::string found;
      ASSERT_TRUE(db_->Get(key, &found).ok()) << key;
      ASSERT_EQ(found, value) << key;
    }
    const std::unique_ptr<Iterator> all = db_->NewIterator({});
    ExpectShows(all.get(), model_);
    VerifyReport report;
    const Status verified = db_->Verify(&report);
    EXPECT_TRUE(verified.ok()) << verified.ToString();
  }

  test::TempFolder folder_;
  const std::string path_ = folder_.Sub("pool");
  Options options_;
  std::unique_ptr<DB> db_;
  std::map<std::string, std::string> model_;
};
INSTANTIATE_TEST_SUITE_P(Groups, ListsTest, ::testing::Values(0, 1, 2, 8));

TEST_P(ListsTest, ListsGoDownAsTheyGrow) {
  Put(0, 2'000, "first");
  const Statistics grown = db_->GetStatistics();
  EXPECT_GT(grown.merged_entries, 2 * 2'000u) << "each entry went down several levels";
  Put(500, 1'500, "second");
  ExpectContent();
  Reopen();
  ExpectContent();
  ASSERT_TRUE(db_->Compact().ok());
  EXPECT_EQ(db_->GetStatistics().l1_entries, model_.size()) << "one version of each key is left";
  ExpectContent();
}

TEST_P(ListsTest, ADeleteHidesWhatIsLevelsBelow) {
  Put(0, 1'500, "there");
  ASSERT_TRUE(db_->Compact().ok());
  for (uint64_t i = 0; i < 1'500; i += 3) {
    ASSERT_TRUE(db_->Delete(Key(i)).ok());
    model_.erase(Key(i));
  }
  ExpectContent();
  Put(1'500, 2'500, "later");
  ExpectContent();
  ASSERT_TRUE(db_->Compact().ok());
  EXPECT_EQ(db_->GetStatistics().l1_entries, model_.size());
  ExpectContent();
}

// Each seek begins at the heads of its lists, long after these have gone down. What was in one is
// soon in lists that its other ones do not lead to.
TEST_P(ListsTest, AnIteratorGoesOnInListsThatHaveLeftTheirLevels) {
  std::vector<std::unique_ptr<Iterator>> iterators;
  std::vector<std::map<std::string, std::string>> contents;
  for (uint64_t round = 0; round < 60; ++round) {
    Put(round * 20, round * 20 + 25, "value " + std::to_string(round));
    if (round % 4 == 0) {
      iterators.push_back(db_->NewIterator({}));
      contents.push_back(model_);
    }
    for (size_t i = 0; i < iterators.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(ExpectShows(iterators[i].get(), contents[i])) << "round " << round;
    }
  }
  ExpectContent();
}

// A list that waits to go down, below one that does: an iterator that begins now looks at both, and
// then the upper one comes into a list that the iterator does not know. Its head is all that leads
// there, whatever tables have come since.
TEST_P(ListsTest, TheHeadOfAListIsKeptForThoseWhoBeganThere) {
  for (uint64_t more = 4; more < 60; more += 8) {
    const auto reopen = [&](uint32_t growth) {
      ASSERT_TRUE(db_->Close().ok());
      options_.levels.l1_bytes = 1 << 10;
      options_.levels.growth = growth;
      Reopen(folder_.Sub("pool" + std::to_string(more)));
    };
    model_.clear();
    ASSERT_NO_FATAL_FAILURE(reopen(100));
    Put(0, 300, "into L2");
    ASSERT_NO_FATAL_FAILURE(reopen(8));
    Put(300, 330, "L2 into L3");
    ASSERT_NO_FATAL_FAILURE(reopen(100));
    Put(330, 330 + more, "into L2");
    ASSERT_NO_FATAL_FAILURE(reopen(2));
    const std::map<std::string, std::string> content = model_;
    const std::unique_ptr<Iterator> all = db_->NewIterator({});
    for (uint64_t i = 400; i < 500; ++i) {
      Put(i, i + 1, "later");
      ASSERT_NO_FATAL_FAILURE(ExpectShows(all.get(), content)) << more << ", " << i;
    }
  }
}

TEST_P(ListsTest, APoolKeepsTheNumberOfItsLevels) {
  Put(0, 1'000, "value");
  ASSERT_TRUE(db_->Close().ok());
  options_.levels.count = 3;
  const Status other = DB::Open(options_, path_).status();
  EXPECT_TRUE(other.IsInvalidArgument()) << other.ToString();
  EXPECT_NE(other.message().find("levels.count=5"), std::string::npos) << other.ToString();
  options_.levels.count = 5;
  Reopen();
  ExpectContent();
}

TEST(ListOptionsTest, BelongToDesignsWithSeveralLists) {
  test::TempFolder folder;
  Options options;
  options.levels.growth = 4;
  const Status refused = DB::Open(options, folder.Sub("pool")).status();
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_NE(refused.message().find("options.levels"), std::string::npos) << refused.ToString();
  options.design = "zipperdb";
  options.levels.count = 2;
  EXPECT_TRUE(DB::Open(options, folder.Sub("pool")).status().IsInvalidArgument());
  options.levels.count = 3;
  EXPECT_TRUE(DB::Open(options, folder.Sub("pool")).ok());
}

TEST(ListOptionsTest, WhatTakesTheLastLevelForOneListIsRefusedWithSeveral) {
  test::TempFolder folder;
  const auto refused = [&](const std::string& option, const std::string& value) {
    Options options;
    options.design = "tlsm";
    EXPECT_TRUE(options.Set(option, value).ok());
    const Status s = DB::Open(options, folder.Sub("pool")).status();
    EXPECT_TRUE(s.IsInvalidArgument()) << option << ": " << s.ToString();
    EXPECT_NE(s.message().find(option), std::string::npos) << s.ToString();
  };
  refused("cache.index", "true");
  refused("cache.lookup_bytes", "1M");
  refused("cache.second_chance_bytes", "1M");
  refused("compaction.recluster_share", "0.25");
  for (const auto& [option, value] :
       {std::pair("compaction.kind", "rewrite"), std::pair("levels.list_bytes", "64K")}) {
    Options options;
    EXPECT_TRUE(options.Set(option, value).ok());
    EXPECT_TRUE(DB::Open(options, folder.Sub("pool")).status().IsInvalidArgument()) << option;
  }
}

TEST(ListOptionsTest, OtherDesignsRefuseAPoolOfSeveralListsALevel) {
  test::TempFolder folder;
  Options options;
  options.design = "tlsm";
  {
    Result<std::unique_ptr<DB>> db = DB::Open(options, folder.Sub("pool"));
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    ASSERT_TRUE((*db)->Put("key", "value").ok());
    ASSERT_TRUE((*db)->Compact().ok());
    ASSERT_TRUE((*db)->Close().ok());
  }
  options.compaction.kind = MergeKind::kZipper;
  options.compaction.persistence = MergePersistence::kRedoLog;
  const Status refused = DB::Open(options, folder.Sub("pool")).status();
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_NE(refused.message().find("compaction.kind=rewrite"), std::string::npos)
      << refused.ToString();
}

}  // namespace
}  // namespace braid
