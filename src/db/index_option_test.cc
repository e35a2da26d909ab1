// The DRAM index over L1 can be left out: then gets go through the list.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "braid/db.h"

namespace braid {
namespace {

class IndexOptionTest : public ::testing::Test {
 protected:
  IndexOptionTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-index-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~IndexOptionTest() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<DB> Open(bool index) {
    Options options;
    options.background_threads = false;
    options.cache.index = index;
    options.cache.lookup_bytes = 0;  // it would answer in place of either
    options.lists.count_visits = true;
    Result<std::unique_ptr<DB>> db = DB::Open(options, path_);
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return db.ok() ? std::move(db).value() : nullptr;
  }

  static uint64_t VisitsOfGets(DB* db) {
    std::string value;
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(db->Get("key" + std::to_string(i), &value).ok()) << i;
      EXPECT_EQ(value, "two");
    }
    EXPECT_TRUE(db->Get("none", &value).IsNotFound());
    const Statistics s = db->GetStatistics();
    return s.upper_visits_local + s.upper_visits_remote + s.bottom_visits_local +
           s.bottom_visits_remote;
  }

  std::string path_;
};

class IndexOrNotTest : public IndexOptionTest, public ::testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<DB> Open() { return IndexOptionTest::Open(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(IndexOrNot, IndexOrNotTest, ::testing::Bool());

TEST_P(IndexOrNotTest, GetsAreRightAndGoThroughTheListOnlyWithoutIt) {
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  for (const char* value : {"one", "two"}) {
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(db->Put("key" + std::to_string(i), value).ok());
    ASSERT_TRUE(db->Compact().ok());
  }
  EXPECT_EQ(VisitsOfGets(db.get()) == 0, GetParam());
  EXPECT_EQ(db->GetStatistics().index_entries, GetParam() ? 300u : 0u);
  ASSERT_TRUE(db->Close().ok());
  db = Open();
  ASSERT_NE(db, nullptr);
  ASSERT_TRUE(db->Compact().ok());
  EXPECT_EQ(VisitsOfGets(db.get()) == 0, GetParam());
  EXPECT_EQ(db->GetStatistics().index_complete, GetParam() ? 1u : 0u);
  VerifyReport report;
  EXPECT_TRUE(db->Verify(&report).ok());
}

// As in a server that makes a thread for each request.
TEST_F(IndexOptionTest, WritesOfAThreadEachMakeTowersOfAllHeights) {
  std::unique_ptr<DB> db = Open(false);
  ASSERT_NE(db, nullptr);
  constexpr int kKeys = 2000;
  for (int i = 0; i < kKeys; ++i) {
    Status s;
    std::thread([&] { s = db->Put("key" + std::to_string(i), "two"); }).join();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  ASSERT_TRUE(db->Compact().ok());
  // About 20 nodes a get, and a thousand where all towers are equally high.
  EXPECT_LT(VisitsOfGets(db.get()), uint64_t{300} * 100);
}

}  // namespace
}  // namespace braid
