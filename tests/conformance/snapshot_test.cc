// Snapshots: repeatable reads while everything below changes.
#include "conformance.h"

namespace braid::test {
namespace {

class SnapshotTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, SnapshotTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::snapshots)), SetupName);

class NoSnapshotTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, NoSnapshotTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(NoSnapshotTest, ADesignWithoutThemSaysSoAndNeverShowsTheNewestState) {
  if (Has(&Capabilities::snapshots)) GTEST_SKIP() << "the design has them";
  Put("k", "v");
  const auto snapshot = db_->GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  EXPECT_TRUE(HasCode(snapshot->status(), Status::Code::kNotSupported));
  ReadOptions at;
  at.snapshot = snapshot.get();
  std::string value;
  EXPECT_TRUE(HasCode(db_->Get(at, "k", &value), Status::Code::kNotSupported));
  const auto it = db_->NewIterator(at);
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), Status::Code::kNotSupported));
  std::vector<std::string> values;
  for (const Status& status : db_->MultiGet(at, {{"k"}}, &values)) {
    EXPECT_TRUE(HasCode(status, Status::Code::kNotSupported));
  }
}

TEST_P(SnapshotTest, LaterWritesAreNotSeen) {
  Put("changed", "old");
  Put("deleted", "old");
  const Model before = model_;
  const auto snapshot = db_->GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  Put("changed", "new");
  Delete("deleted");
  Put("added", "new");
  ExpectContent(db_.get(), before, snapshot.get());
  EXPECT_EQ(GetText(db_.get(), "added", snapshot.get()), "(not found)");
  ExpectContent(db_.get(), model_);
}

TEST_P(SnapshotTest, SeesDeletedKeysAfterFlushAndCompact) {
  Fill(0, 1000, 80);
  BRAID_ASSERT_OK(db_->Compact());
  const Model before = model_;
  const auto snapshot = db_->GetSnapshot();
  for (uint64_t i = 0; i < 1000; ++i) Delete(NumberedKey(i));
  BRAID_ASSERT_OK(db_->Flush());
  ExpectContent(db_.get(), before, snapshot.get());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), before, snapshot.get());
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  Fill(0, 1000, 80, "again ");
  BRAID_ASSERT_OK(db_->Compact());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), before, snapshot.get());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(SnapshotTest, ManySnapshotsEachSeeTheirOwnState) {
  std::vector<std::pair<std::shared_ptr<const Snapshot>, Model>> snapshots;
  Random random(DeriveSeed(21));
  SCOPED_TRACE(ReplayLine());
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 60; ++i) {
      const std::string key = NumberedKey(random.Below(200));
      if (random.OneIn(3)) {
        Delete(key);
      } else {
        Put(key, "round " + std::to_string(round) + std::string(random.Below(200), '.'));
      }
    }
    snapshots.emplace_back(db_->GetSnapshot(), model_);
    if (round % 5 == 2) {
      BRAID_ASSERT_OK(db_->Flush());
    }
    if (round % 9 == 4) {
      BRAID_ASSERT_OK(db_->Compact());
    }
    // Released out of order, in the middle too.
    if (snapshots.size() > 12) {
      snapshots.erase(snapshots.begin() + static_cast<long>(random.Below(snapshots.size())));
    }
  }
  BRAID_ASSERT_OK(db_->Compact());
  for (const auto& [snapshot, state] : snapshots) ExpectContent(db_.get(), state, snapshot.get());
  ExpectContent(db_.get(), model_);
}

TEST_P(SnapshotTest, IteratorOnASnapshotOutlivesTheSnapshot) {
  Fill(0, 300, 50);
  const Model before = model_;
  auto snapshot = db_->GetSnapshot();
  Fill(0, 300, 50, "new");
  ReadOptions options;
  options.snapshot = snapshot.get();
  const auto it = db_->NewIterator(options);
  snapshot.reset();
  Fill(0, 300, 50, "newer");
  BRAID_ASSERT_OK(db_->Compact());
  BRAID_ASSERT_OK(db_->Compact());
  Pairs seen;
  for (it->SeekToFirst(); it->Valid(); it->Next()) seen.emplace_back(it->key(), it->value());
  BRAID_ASSERT_OK(it->status());
  EXPECT_TRUE(SamePairs(seen, before));
}

TEST_P(SnapshotTest, SnapshotOfTheEmptyDatabaseStaysEmpty) {
  const auto snapshot = db_->GetSnapshot();
  Fill(0, 500, 100);
  BRAID_ASSERT_OK(db_->Compact());
  ReadOptions options;
  options.snapshot = snapshot.get();
  EXPECT_TRUE(ScanForward(db_.get(), options).empty());
  EXPECT_TRUE(ScanBackward(db_.get(), options).empty());
  EXPECT_EQ(GetText(db_.get(), NumberedKey(1), snapshot.get()), "(not found)");
}

TEST_P(SnapshotTest, SequencesAreOrdered) {
  const auto first = db_->GetSnapshot();
  const auto same = db_->GetSnapshot();
  EXPECT_EQ(first->sequence(), same->sequence());
  Put("k", "v");
  const auto second = db_->GetSnapshot();
  EXPECT_GT(second->sequence(), first->sequence());
}

TEST_P(SnapshotTest, WorksTogetherWithBounds) {
  Fill(0, 100, 20);
  const auto snapshot = db_->GetSnapshot();
  for (uint64_t i = 0; i < 100; ++i) Delete(NumberedKey(i));
  BRAID_ASSERT_OK(db_->Compact());
  ReadOptions options;
  options.snapshot = snapshot.get();
  options.lower_bound = NumberedKey(10);
  options.upper_bound = NumberedKey(20);
  const Pairs pairs = ScanBackward(db_.get(), options);
  ASSERT_EQ(pairs.size(), 10u);
  EXPECT_EQ(pairs.front().first, NumberedKey(10));
}

TEST_P(SnapshotTest, OverwrittenLargeValuesStayReadable) {
  const std::string old_value(100000, 'o');
  Put("large", old_value);
  const auto snapshot = db_->GetSnapshot();
  for (int i = 0; i < 5; ++i) {
    Put("large", std::string(90000, static_cast<char>('a' + i)));
    BRAID_ASSERT_OK(db_->Compact());
  }
  EXPECT_EQ(GetText(db_.get(), "large", snapshot.get()), old_value);
  EXPECT_EQ(GetText(db_.get(), "large"), model_["large"]);
}

TEST_P(SnapshotTest, ThatOfAnotherDatabaseIsRefused) {
  Put("k", "v");
  const std::unique_ptr<DB> other = OpenOrFail(options_, folder_.Sub("other"));
  ASSERT_NE(other, nullptr);
  const auto snapshot = other->GetSnapshot();
  ReadOptions at;
  at.snapshot = snapshot.get();
  std::string value;
  PinnedValue pinned;
  std::vector<std::string> values;
  const std::vector<Slice> keys{"k"};
  constexpr Status::Code kRefused = Status::Code::kInvalidArgument;
  EXPECT_TRUE(HasCode(db_->Get(at, "k", &value), kRefused));
  EXPECT_TRUE(HasCode(db_->GetPinned(at, "k", &pinned), kRefused));
  EXPECT_TRUE(HasCode(db_->MultiGet(at, keys, &values)[0], kRefused));
  const auto it = db_->NewIterator(at);
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), kRefused));
  // Nor that of an earlier handle of the same pool.
  const auto before = db_->GetSnapshot();
  Reopen();
  at.snapshot = before.get();
  EXPECT_TRUE(HasCode(db_->Get(at, "k", &value), kRefused));
}

TEST_P(SnapshotTest, StatisticsCountTheLiveOnes) {
  const uint64_t before = db_->GetStatistics().snapshots;
  auto first = db_->GetSnapshot();
  auto second = db_->GetSnapshot();
  auto it = db_->NewIterator({});
  EXPECT_EQ(db_->GetStatistics().snapshots, before + 3);
  first.reset();
  second.reset();
  it.reset();
  EXPECT_EQ(db_->GetStatistics().snapshots, before);
}

TEST_P(SnapshotTest, ReleasedSnapshotsLetGarbageGo) {
  // 300 generations of the same 100 keys, each held a moment: the pool must not keep them all.
  for (int round = 0; round < 300; ++round) {
    const auto snapshot = db_->GetSnapshot();
    for (uint64_t i = 0; i < 100; ++i) {
      BRAID_ASSERT_OK(
          db_->Put(NumberedKey(i), std::string(200, static_cast<char>('a' + round % 26))));
    }
  }
  BRAID_ASSERT_OK(db_->Compact());
  BRAID_ASSERT_OK(db_->Compact());
  std::string entries;
  ASSERT_TRUE(db_->GetProperty("braid.num-entries", &entries));
  EXPECT_LT(std::stoull(entries), 1000u) << "300 generations of 100 keys";
}

TEST_P(SnapshotTest, GetSnapshotSaysWhyThereIsNone) {
  Put("k", "old");
  std::shared_ptr<const Snapshot> snapshot;
  BRAID_ASSERT_OK(db_->GetSnapshot(&snapshot));
  ASSERT_NE(snapshot, nullptr);
  Put("k", "new");
  EXPECT_EQ(GetText(db_.get(), "k", snapshot.get()), "old");
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(HasCode(db_->GetSnapshot(&snapshot), Status::Code::kClosed));
  EXPECT_EQ(snapshot, nullptr);
  snapshot = db_->GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  EXPECT_TRUE(HasCode(snapshot->status(), Status::Code::kClosed));
}

TEST_P(NoSnapshotTest, GetSnapshotIsRefusedByADesignWithoutThem) {
  std::shared_ptr<const Snapshot> snapshot;
  const Status s = db_->GetSnapshot(&snapshot);
  if (Has(&Capabilities::snapshots)) {
    BRAID_EXPECT_OK(s);
    EXPECT_NE(snapshot, nullptr);
    return;
  }
  EXPECT_TRUE(HasCode(s, Status::Code::kNotSupported)) << s.ToString();
  EXPECT_EQ(snapshot, nullptr);
}

}  // namespace
}  // namespace braid::test
