// DeleteRange: which keys go, in every table, and what snapshots and later opens see.
#include "conformance.h"

namespace braid::test {
namespace {

class DeleteRangeTest : public ConformanceTest {
 protected:
  /// Deletes in the database and in the model; compares the number.
  void DeleteRange(const std::string& begin, const std::optional<std::string>& end) {
    const auto first = model_.lower_bound(begin);
    const auto last = end ? model_.lower_bound(*end) : model_.end();
    const auto expected = static_cast<uint64_t>(std::distance(first, last));
    uint64_t deleted = 99;
    BRAID_ASSERT_OK(
        db_->DeleteRange(begin, end ? std::optional<Slice>(*end) : std::nullopt, &deleted));
    EXPECT_EQ(deleted, expected) << begin;
    model_.erase(first, last);
  }
  void ExpectModel() { ExpectContent(db_.get(), model_); }
};
INSTANTIATE_TEST_SUITE_P(Designs, DeleteRangeTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(DeleteRangeTest, DeletesFromTheFirstKeyToBeforeTheLast) {
  for (const char* key : {"a", "b", "b0", "c", "d", ""}) Put(key, "value");
  DeleteRange("b", "d");
  ExpectModel();
  EXPECT_EQ(GetText(db_.get(), "b0"), "(not found)");
  EXPECT_EQ(GetText(db_.get(), "d"), "value");
  DeleteRange("c0", std::nullopt);
  DeleteRange("", "a");
  ExpectModel();
  Put("b", "again");
  ExpectModel();
}

TEST_P(DeleteRangeTest, EmptyAndInvertedRangesDeleteNothing) {
  Fill(0, 20, 10);
  uint64_t deleted = 99;
  const std::string five = NumberedKey(5);
  BRAID_EXPECT_OK(db_->DeleteRange(five, Slice(five), &deleted));
  EXPECT_EQ(deleted, 0u);
  const std::string low = NumberedKey(3);
  BRAID_EXPECT_OK(db_->DeleteRange(NumberedKey(9), Slice(low)));
  BRAID_EXPECT_OK(db_->DeleteRange("zzz", std::nullopt, &deleted));
  EXPECT_EQ(deleted, 0u);
  ExpectModel();
}

TEST_P(DeleteRangeTest, ReachesKeysInEveryTable) {
  Fill(0, 400, 60, "merged");
  BRAID_ASSERT_OK(db_->Compact());
  Fill(200, 300, 60, "flushed");
  BRAID_ASSERT_OK(db_->Flush());
  Fill(300, 300, 60, "new");
  for (uint64_t i = 0; i < 600; i += 5) Delete(NumberedKey(i));
  DeleteRange(NumberedKey(90), NumberedKey(555));
  ExpectModel();
  BRAID_ASSERT_OK(db_->Compact());
  ExpectModel();
  ExpectVerified(db_.get());
  Fill(100, 50, 30, "after");
  Reopen();
  ExpectModel();
  DeleteRange("", std::nullopt);
  AbandonAndReopen();
  ExpectModel();
}

TEST_P(DeleteRangeTest, TakesMoreKeysThanOneBatchHolds) {
  Fill(0, 20'000, 1);
  Put("another", "stays");
  DeleteRange(NumberedKey(100), NumberedKey(19'900));
  ExpectModel();
}

TEST_P(DeleteRangeTest, TakesLargeValuesAndTheirSpace) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) Put(NumberedKey(i), std::string(100'000, 'v'));
    DeleteRange(NumberedKey(2), NumberedKey(8));
    ExpectModel();
    BRAID_ASSERT_OK(db_->Compact());
  }
  ExpectVerified(db_.get());
}

TEST_P(DeleteRangeTest, ASnapshotKeepsWhatItSees) {
  BRAID_NEEDS(snapshots);
  Fill(0, 300, 40);
  const Model before = model_;
  const auto snapshot = db_->GetSnapshot();
  const std::unique_ptr<Iterator> held = db_->NewIterator({});
  DeleteRange(NumberedKey(10), NumberedKey(290));
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), before, snapshot.get());
  uint64_t seen = 0;
  for (held->SeekToFirst(); held->Valid(); held->Next()) ++seen;
  EXPECT_EQ(seen, before.size());
  ExpectModel();
}

TEST_P(DeleteRangeTest, RefusesWhatDeleteRefuses) {
  EXPECT_TRUE(HasCode(db_->DeleteRange(std::string(kMaxKeyBytes + 1, 'k'), std::nullopt),
                      Status::Code::kInvalidArgument));
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(HasCode(db_->DeleteRange("a", std::nullopt), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->DeleteRange("b", Slice("a")), Status::Code::kClosed));
}

}  // namespace
}  // namespace braid::test
