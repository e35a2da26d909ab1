// Calls that steer the store: compaction of a range with progress and cancellation, the limit of
// background work, iterators that are refreshed or given bounds as slices, sizes of ranges.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "conformance.h"

namespace braid::test {
namespace {

class ControlTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, ControlTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(ControlTest, CompactRangeTellsHowFarItIsAndLosesNothing) {
  Fill(0, 2000, 100);
  std::vector<double> shares;
  CompactOptions options;
  options.progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  BRAID_ASSERT_OK(db_->CompactRange(options, std::nullopt, std::nullopt));
  ASSERT_FALSE(shares.empty());
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  ExpectContent(db_.get(), model_);
  Fill(100, 50, 100, "w");
  BRAID_ASSERT_OK(db_->CompactRange({}, NumberedKey(100), NumberedKey(150)));
  BRAID_ASSERT_OK(db_->CompactRange({}, NumberedKey(5000), std::nullopt));
  BRAID_ASSERT_OK(db_->CompactRange({}, std::nullopt, NumberedKey(0)));
  ExpectContent(db_.get(), model_);
}

TEST_P(ControlTest, ACompactionThatIsCancelledSaysSoAndTheNextOneGoesOn) {
  Fill(0, 2000, 100);
  for (int turns = 0; turns < 3; ++turns) {
    CompactOptions options;
    int left = turns;
    options.progress = [&](double) { return left-- > 0; };
    const Status s = db_->CompactRange(options, std::nullopt, std::nullopt);
    // Where it was done before it asked once more, nothing was left to cancel.
    EXPECT_TRUE(s.code() == Status::Code::kAborted || (turns > 0 && s.ok())) << s.ToString();
    EXPECT_TRUE(turns > 0 || !s.ok());
    ASSERT_NO_FATAL_FAILURE(Put("more", std::to_string(turns)));
  }
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(db_->CompactRange({}, std::nullopt, std::nullopt).IsClosed());
}

TEST_P(ControlTest, SomeGiveUpWhileOthersWait) {
  if (!GetParam().background) GTEST_SKIP() << "one caller does all the work";
  Fill(0, 3000, 100);
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      CompactOptions options;
      if (i % 2 == 0) options.progress = [](double share) { return share == 0; };
      const Status s = db_->CompactRange(options, std::nullopt, std::nullopt);
      EXPECT_TRUE(s.ok() || (i % 2 == 0 && s.code() == Status::Code::kAborted)) << s.ToString();
      if (s.ok()) done.fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(done.load(), 2);
  ExpectContent(db_.get(), model_);
}

TEST_P(ControlTest, ALimitOfOneByteASecondStopsNoWriter) {
  const Status s = db_->SetBackgroundLimit(1);
  if (s.IsNotSupported()) GTEST_SKIP() << s.ToString();
  BRAID_ASSERT_OK(s);
  Fill(0, 3000, 200);
  BRAID_ASSERT_OK(db_->SetBackgroundLimit(0));
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->SetBackgroundLimit(1));
  Fill(3000, 500, 200);
  Reopen();  // a close waits for no limit
  ExpectContent(db_.get(), model_);
}

TEST_P(ControlTest, ARefreshedIteratorShowsTheNewestState) {
  Put("a", "1");
  ReadOptions bounds;
  bounds.upper_bound = "c";
  const auto it = db_->NewIterator(bounds);
  Put("b", "2");
  Put("c", "beyond");
  Delete("a");
  BRAID_ASSERT_OK(it->Refresh());
  EXPECT_FALSE(it->Valid());
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b");
  it->Next();
  EXPECT_FALSE(it->Valid()) << "the bound stays";
  BRAID_EXPECT_OK(it->status());
  Fill(0, 500, 100);
  BRAID_ASSERT_OK(db_->Compact());
  BRAID_ASSERT_OK(it->Refresh());
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b");
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(it->Refresh().IsClosed());
  EXPECT_FALSE(it->Valid());
}

TEST_P(ControlTest, AnIteratorOfASnapshotIsRefreshedToo) {
  BRAID_NEEDS(snapshots);
  Put("a", "1");
  const auto snapshot = db_->GetSnapshot();
  ReadOptions options;
  options.snapshot = snapshot.get();
  const auto it = db_->NewIterator(options);
  Put("a", "2");
  it->Seek("a");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "1");
  BRAID_ASSERT_OK(it->Refresh());
  it->Seek("a");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "2");
}

TEST_P(ControlTest, BoundsAsSlicesAreThoseOfCopies) {
  Fill(0, 300, 30);
  const std::string lower = NumberedKey(70);
  const std::string upper = NumberedKey(90);
  ReadOptions slices;
  slices.lower_slice = lower;
  slices.upper_slice = upper;
  slices.lower_bound = NumberedKey(0);  // does not count
  ReadOptions copies;
  copies.lower_bound = lower;
  copies.upper_bound = upper;
  const auto by_slice = db_->NewIterator(slices);
  const auto by_copy = db_->NewIterator(copies);
  by_slice->SeekToFirst();
  by_copy->SeekToFirst();
  int count = 0;
  for (; by_copy->Valid(); by_copy->Next(), by_slice->Next(), ++count) {
    ASSERT_TRUE(by_slice->Valid());
    EXPECT_EQ(by_slice->key(), by_copy->key());
  }
  EXPECT_FALSE(by_slice->Valid());
  EXPECT_EQ(count, 20);
  by_slice->SeekToLast();
  ASSERT_TRUE(by_slice->Valid());
  EXPECT_EQ(by_slice->key(), NumberedKey(89));
  by_slice->Seek(NumberedKey(0));
  ASSERT_TRUE(by_slice->Valid());
  EXPECT_EQ(by_slice->key(), lower);
}

TEST_P(ControlTest, SizesOfRangesAddUp) {
  Fill(0, 1000, 100);
  const std::string middle = NumberedKey(500);
  const KeyRange ranges[] = {{"", Slice(middle)}, {middle, std::nullopt}, {"", std::nullopt}};
  uint64_t sizes[3];
  BRAID_ASSERT_OK(db_->ApproximateSizes(ranges, sizes));
  EXPECT_EQ(sizes[0] + sizes[1], sizes[2]);
  EXPECT_EQ(sizes[0], 500 * (NumberedKey(0).size() + 100));
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(db_->ApproximateSizes(ranges, sizes).IsClosed());
  EXPECT_EQ(sizes[2], 0u);
}

}  // namespace
}  // namespace braid::test
