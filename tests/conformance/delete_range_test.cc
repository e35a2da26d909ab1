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

class BatchRangeTest : public ConformanceTest {
 protected:
  void ExpectModel() { ExpectContent(db_.get(), model_); }
};
INSTANTIATE_TEST_SUITE_P(Designs, BatchRangeTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(BatchRangeTest, UpdatesTakeEffectInTheirOrder) {
  BRAID_NEEDS(atomic_batches);
  for (const char* key : {"a", "b", "c", "d", ""}) Put(key, "old");
  BRAID_ASSERT_OK(db_->Flush());
  WriteBatch batch;
  batch.Put("b", "gone");
  batch.Put("b1", "gone");
  batch.DeleteRange("b", "d");
  batch.Put("c", "new");
  batch.DeleteRange(std::nullopt, "a");
  batch.Put("z", "gone");
  batch.DeleteRange("y", std::nullopt);
  batch.Delete("nothing");
  batch.DeleteRange("x", "x");
  batch.DeleteRange("q", "p");
  EXPECT_EQ(batch.Count(), 10u);
  EXPECT_EQ(batch.Ranges(), 5u);
  BRAID_ASSERT_OK(db_->Write(batch));
  model_ = {{"a", "old"}, {"c", "new"}, {"d", "old"}};
  ExpectModel();
  AbandonAndReopen();
  ExpectModel();
  WriteBatch all;
  all.DeleteRange(std::nullopt, std::nullopt);
  BRAID_ASSERT_OK(db_->Write(all));
  model_.clear();
  ExpectModel();
  ExpectVerified(db_.get());
}

TEST_P(BatchRangeTest, ReplacesARangeOfAnySizeForASnapshotAtOnce) {
  BRAID_NEEDS(atomic_batches);
  Fill(0, 20'000, 1);  // more than DeleteRange deletes in one step
  BRAID_ASSERT_OK(db_->Compact());
  Fill(5'000, 8'000, 1, "newer");
  const Model before = model_;
  std::shared_ptr<const Snapshot> snapshot;
  if (Has(&Capabilities::snapshots)) snapshot = db_->GetSnapshot();
  const uint64_t first = db_->GetStatistics().last_sequence;
  WriteBatch batch;
  batch.DeleteRange(NumberedKey(100), NumberedKey(19'900));
  batch.Put(NumberedKey(150), "the only one");
  batch.Put("another", "stays");
  BRAID_ASSERT_OK(db_->Write(batch));
  EXPECT_EQ(db_->GetStatistics().last_sequence - first, 19'801u) << "a number for each update";
  model_.erase(model_.lower_bound(NumberedKey(100)), model_.lower_bound(NumberedKey(19'900)));
  model_[NumberedKey(150)] = "the only one";
  model_["another"] = "stays";
  ExpectModel();
  if (snapshot != nullptr) ExpectContent(db_.get(), before, snapshot.get());
  AbandonAndReopen();
  ExpectModel();
  BRAID_ASSERT_OK(db_->Compact());
  ExpectModel();
}

TEST_P(BatchRangeTest, TakesLargeValuesAndTheirSpace) {
  BRAID_NEEDS(atomic_batches);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) Put(NumberedKey(i), std::string(100'000, 'v'));
    WriteBatch batch;
    batch.DeleteRange(NumberedKey(2), NumberedKey(8));
    batch.Put(NumberedKey(5), std::string(100'000, 'w'));
    BRAID_ASSERT_OK(db_->Write(batch));
    model_.erase(model_.lower_bound(NumberedKey(2)), model_.lower_bound(NumberedKey(8)));
    model_[NumberedKey(5)] = std::string(100'000, 'w');
    ExpectModel();
    BRAID_ASSERT_OK(db_->Compact());
  }
  ExpectVerified(db_.get());
}

TEST_P(BatchRangeTest, ARefusedBatchChangesNothing) {
  Fill(0, 10, 10);
  WriteBatch batch;
  batch.Put("a", "1");
  batch.DeleteRange(NumberedKey(0), std::nullopt);
  if (!Has(&Capabilities::atomic_batches)) {
    WriteBatch alone;
    alone.DeleteRange("a", "b");
    const Status s = db_->Write(alone);
    EXPECT_TRUE(s.IsNotSupported()) << s.ToString();
    EXPECT_NE(s.message().find("DeleteRange"), std::string::npos) << s.ToString();
    EXPECT_TRUE(db_->Write(batch).IsNotSupported());
    return ExpectModel();
  }
  batch.DeleteRange("a", std::string(kMaxKeyBytes + 1, 'k'));
  EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kInvalidArgument));
  ExpectModel();
  BRAID_ASSERT_OK(db_->Close());
  WriteBatch other;
  other.DeleteRange("a", "b");
  EXPECT_TRUE(HasCode(db_->Write(other), Status::Code::kClosed));
  other.Clear();
  other.DeleteRange("b", "a");
  EXPECT_TRUE(HasCode(db_->Write(other), Status::Code::kClosed));
}

TEST_P(BatchRangeTest, ABatchWithoutRoomDeletesNothing) {
  BRAID_NEEDS(atomic_batches);
  if (!GetParam().tiny) GTEST_SKIP() << "a small pool is filled sooner";
  options_.pool.max_bytes = 16u << 20;
  db_.reset();
  BRAID_ASSERT_OK(DB::Destroy(path_));
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  Fill(0, 2000, 100);
  WriteBatch batch;
  batch.DeleteRange(NumberedKey(0), std::nullopt);
  for (int i = 0; i < 40; ++i) batch.Put("big" + std::to_string(i), std::string(1u << 20, 'v'));
  const Status s = db_->Write(batch);
  EXPECT_TRUE(HasCode(s, Status::Code::kOutOfSpace)) << s.ToString();
  ExpectModel();
  BRAID_EXPECT_OK(db_->DeleteRange("", std::nullopt)) << "and writes go on";
}

}  // namespace
}  // namespace braid::test
