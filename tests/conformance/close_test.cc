// Use after close: an error, never a crash, also for what outlives the DB object.
#include "conformance.h"

namespace braid::test {
namespace {

class CloseTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, CloseTest, ::testing::ValuesIn(AllSetups()), SetupName);

void ExpectClosedIterator(Iterator* it) {
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), Status::Code::kClosed));
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  it->Seek("k");
  EXPECT_FALSE(it->Valid());
  it->SeekForPrev("k");
  EXPECT_FALSE(it->Valid());
  it->Next();
  it->Prev();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), Status::Code::kClosed));
}

TEST_P(CloseTest, EveryCallAfterCloseReturnsClosed) {
  BRAID_ASSERT_OK(db_->Put("k", "v"));
  BRAID_ASSERT_OK(db_->Close());
  std::string value;
  WriteBatch batch;
  batch.Put("a", "b");
  VerifyReport report;
  EXPECT_TRUE(HasCode(db_->Put("k", "v"), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->Delete("k"), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->Get("k", &value), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->Flush(), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->Compact(), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->Verify(&report), Status::Code::kClosed));
  const auto it = db_->NewIterator({});
  ASSERT_NE(it, nullptr);
  ExpectClosedIterator(it.get());
}

TEST_P(CloseTest, SnapshotAndPropertyCallsAfterCloseAreSafe) {
  BRAID_ASSERT_OK(db_->Put("k", "v"));
  BRAID_ASSERT_OK(db_->Close());
  const auto snapshot = db_->GetSnapshot();
  if (snapshot != nullptr) {
    EXPECT_FALSE(GetText(db_.get(), "k", snapshot.get()) == "v");
  }
  std::string text;
  (void)db_->GetProperty("braid.stats", &text);
  (void)db_->GetStatistics();
}

TEST_P(CloseTest, SecondCloseIsHarmless) {
  BRAID_ASSERT_OK(db_->Close());
  const Status again = db_->Close();
  EXPECT_TRUE(again.ok() || again.IsClosed()) << again.ToString();
}

TEST_P(CloseTest, IteratorMadeBeforeCloseIsClosed) {
  for (uint64_t i = 0; i < 500; ++i)
    BRAID_ASSERT_OK(db_->Put(NumberedKey(i), std::string(100, 'v')));
  const auto fresh = db_->NewIterator({});
  const auto positioned = db_->NewIterator({});
  positioned->Seek(NumberedKey(100));
  BRAID_ASSERT_OK(db_->Close());
  ExpectClosedIterator(fresh.get());
  ExpectClosedIterator(positioned.get());
}

TEST_P(CloseTest, IteratorsAndSnapshotsMayOutliveTheObject) {
  for (uint64_t i = 0; i < 500; ++i)
    BRAID_ASSERT_OK(db_->Put(NumberedKey(i), std::string(100, 'v')));
  const auto snapshot = db_->GetSnapshot();
  ASSERT_EQ(snapshot->status().ok(), Has(&Capabilities::snapshots));
  const uint64_t sequence = snapshot->sequence();
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  ReadOptions options;
  if (snapshot->status().ok()) options.snapshot = snapshot.get();
  const auto on_snapshot = db_->NewIterator(options);
  on_snapshot->SeekToLast();
  db_.reset();
  EXPECT_EQ(snapshot->sequence(), sequence);
  ExpectClosedIterator(it.get());
  ExpectClosedIterator(on_snapshot.get());
}

TEST_P(CloseTest, ThePoolMayBeReopenedWhileOldIteratorsLive) {
  BRAID_ASSERT_OK(db_->Put("k", "v"));
  const auto old_iterator = db_->NewIterator({});
  old_iterator->SeekToFirst();
  const auto old_snapshot = db_->GetSnapshot();
  Reopen();
  ExpectClosedIterator(old_iterator.get());
  BRAID_EXPECT_OK(db_->Put("k", "w"));
  if (GetParam().kind.design != "blackhole") {
    EXPECT_EQ(GetText(db_.get(), "k"), "w");
  }
}

TEST_P(CloseTest, SnapshotReleasedAfterCloseIsHarmless) {
  auto snapshot = db_->GetSnapshot();
  auto it = db_->NewIterator({});
  BRAID_ASSERT_OK(db_->Close());
  snapshot.reset();
  it.reset();
  db_.reset();
}

}  // namespace
}  // namespace braid::test
