// The second-chance cache in a database: merges fill it, it keeps to its size, what dies leaves it.
#include "conformance.h"

namespace braid::test {
namespace {

class SecondChanceTest : public ::testing::Test {
 protected:
  void Open(uint64_t bytes) {
    Options options = TinyOptions();
    options.background_threads = false;
    options.cache.second_chance_bytes = bytes;
    db_.reset();
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  void Fill(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
    BRAID_ASSERT_OK(db_->Compact());
  }
  void ExpectAll(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(GetText(db_.get(), NumberedKey(i)), "v");
    EXPECT_EQ(GetText(db_.get(), NumberedKey(count)), "(not found)");
  }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
};

TEST_F(SecondChanceTest, HoldsTheTallEntriesThatMergesPutIntoL1) {
  Open(1 << 20);
  Fill(4000);
  const Statistics statistics = db_->GetStatistics();
  // Every fourth entry has a second layer.
  EXPECT_NEAR(static_cast<double>(statistics.second_chance_entries), 1000, 150);
  EXPECT_EQ(statistics.index_entries, 0u);
  ExpectAll(4000);
  for (uint64_t i = 0; i < 4000; ++i) BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_EQ(db_->GetStatistics().second_chance_entries, 0u);
  ExpectVerified(db_.get());
}

TEST_F(SecondChanceTest, GivesUpTheLowestWhenItIsFullAndIsEmptyAfterAnOpen) {
  Open(1 << 20);
  Fill(4000);
  const uint64_t roomy = db_->GetStatistics().second_chance_entries;
  Open(1 << 20);
  EXPECT_EQ(db_->GetStatistics().second_chance_entries, 0u);
  ExpectAll(4000);
  Open(8 << 10);
  Fill(4000);
  EXPECT_LT(db_->GetStatistics().second_chance_entries, roomy / 2);
  ExpectAll(4000);
}

TEST_F(SecondChanceTest, KeysThatAreGoneTakeNoRoomForGood) {
  Open(64 << 10);
  constexpr uint64_t kLive = 400;
  for (uint64_t i = 0; i < 30'000; ++i) {
    BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
    if (i < kLive) continue;
    BRAID_ASSERT_OK(db_->Delete(NumberedKey(i - kLive)));
  }
  BRAID_ASSERT_OK(db_->Compact());
  // A hundred are tall enough for a cache that is as roomy as this.
  EXPECT_GE(db_->GetStatistics().second_chance_entries, 30u);
}

TEST_F(SecondChanceTest, BesideAnIndexItIsRefused) {
  Options options = TinyOptions();
  options.cache.index = true;
  options.cache.second_chance_bytes = 1 << 20;
  const auto opened = DB::Open(options, folder_.Sub("other"));
  EXPECT_TRUE(HasCode(opened.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(opened.status().message().find("cache.index"), std::string_view::npos);
}

TEST_F(SecondChanceTest, AMergeGoesOnAsItWasBegunUnderOtherOptions) {
  for (const MergePersistence first : {MergePersistence::kPointer, MergePersistence::kRedoLog}) {
    const std::string path = folder_.Sub(first == MergePersistence::kPointer ? "a" : "b");
    for (int session = 0; session < 4; ++session) {
      Options options = TinyOptions();
      options.compaction.persistence = (session % 2 == 0) == (first == MergePersistence::kPointer)
                                           ? MergePersistence::kPointer
                                           : MergePersistence::kRedoLog;
      const auto db = OpenOrFail(options, path);
      ASSERT_NE(db, nullptr);
      for (uint64_t i = 0; i < 2000; ++i) {
        BRAID_ASSERT_OK(db->Put(NumberedKey(i), std::to_string(session)));
      }
      EXPECT_EQ(GetText(db.get(), NumberedKey(7)), std::to_string(session));
      ExpectVerified(db.get());
      BRAID_ASSERT_OK(db->Close());  // merges stop where they are
    }
  }
}

}  // namespace
}  // namespace braid::test
