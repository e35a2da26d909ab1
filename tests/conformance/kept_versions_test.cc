// What merges keep for a snapshot or an iterator goes when that is gone: old versions, deletes, and
// the space of both. Rounds of such views leave a store as large as the first.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <thread>

#include "conformance.h"

namespace braid::test {
namespace {

class KeptVersionsTest : public ConformanceTest {
 protected:
  /// Entries in tables.
  uint64_t Entries() {
    const Statistics now = db_->GetStatistics();
    return now.l0_entries + now.l1_entries;
  }
  void Compact() { BRAID_ASSERT_OK(db_->Compact()); }
  /// Whether it holds now or, with a background at work, within half a minute.
  bool Comes(const std::function<bool()>& holds) {
    for (int tries = GetParam().background ? 3'000 : 0; tries > 0 && !holds(); --tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return holds();
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, KeptVersionsTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::snapshots)), SetupName);

TEST_P(KeptVersionsTest, OverwrittenValuesGoWithTheirSnapshot) {
  Fill(0, 300, 40, "old");
  auto snapshot = db_->GetSnapshot();
  Fill(0, 300, 40, "new");
  Compact();
  EXPECT_EQ(Entries(), 600u);
  EXPECT_EQ(GetText(db_.get(), NumberedKey(7), snapshot.get()).substr(0, 4), "old7");
  snapshot.reset();
  Compact();
  EXPECT_EQ(Entries(), 300u);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(KeptVersionsTest, DeletesGoWithTheSnapshotThatNeededThem) {
  Fill(0, 300, 40);
  auto snapshot = db_->GetSnapshot();
  for (uint64_t i = 0; i < 300; ++i) Delete(NumberedKey(i));
  Compact();
  EXPECT_EQ(Entries(), 600u);
  snapshot.reset();
  Compact();
  EXPECT_EQ(Entries(), 0u);
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  ExpectVerified(db_.get());
}

TEST_P(KeptVersionsTest, AnIteratorKeepsNothingOnceItIsGone) {
  Fill(0, 300, 40);
  auto iterator = db_->NewIterator({});
  iterator->SeekToFirst();
  for (uint64_t i = 0; i < 300; ++i) Delete(NumberedKey(i));
  Compact();
  uint64_t seen = 0;
  for (; iterator->Valid(); iterator->Next()) ++seen;
  EXPECT_EQ(seen, 300u);
  iterator.reset();
  Compact();
  EXPECT_EQ(Entries(), 0u);
}

TEST_P(KeptVersionsTest, WhatAnEarlierSessionHasKeptGoesToo) {
  Fill(0, 300, 40, "old");
  auto snapshot = db_->GetSnapshot();
  Fill(0, 200, 40, "new");
  for (uint64_t i = 200; i < 300; ++i) Delete(NumberedKey(i));
  Compact();
  EXPECT_EQ(Entries(), 600u);
  snapshot.reset();
  Reopen();  // and the background may begin
  Compact();
  EXPECT_EQ(Entries(), 200u);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(KeptVersionsTest, MoreVersionsOfAKeyThanABatchHolds) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 300; ++i) {
    Put("key", std::to_string(i));
    snapshots.push_back(db_->GetSnapshot());
  }
  Compact();
  EXPECT_EQ(Entries(), 300u);
  snapshots.erase(snapshots.begin() + 1, snapshots.end());
  Compact();
  EXPECT_EQ(Entries(), 2u);
  EXPECT_EQ(GetText(db_.get(), "key", snapshots[0].get()), "0");
  snapshots.clear();
  Compact();
  EXPECT_EQ(Entries(), 1u);
  EXPECT_EQ(GetText(db_.get(), "key"), "299");
  ExpectVerified(db_.get());
}

// Nobody asks for it: the background has time.
TEST_P(KeptVersionsTest, TheBackgroundDropsWhatIsMuch) {
  if (!GetParam().background) GTEST_SKIP() << "no background";
  Fill(0, 2'000, 20);
  auto snapshot = db_->GetSnapshot();
  BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt));
  model_.clear();
  Compact();
  EXPECT_EQ(Entries(), 4'000u);
  snapshot.reset();
  while (Entries() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_P(KeptVersionsTest, AnOpenDropsWhatIsMuch) {
  if (!GetParam().background) GTEST_SKIP() << "no background";
  Fill(0, 2'000, 20);
  auto snapshot = db_->GetSnapshot();
  BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt));
  model_.clear();
  Compact();
  snapshot.reset();
  Reopen();
  while (Entries() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Which snapshot sees what is compared with a model of each, while they come and go in any order.
TEST_P(KeptVersionsTest, WhatOtherSnapshotsNeedStays) {
  Random random(DeriveSeed(1));
  SCOPED_TRACE(ReplayLine());
  std::vector<std::pair<std::shared_ptr<const Snapshot>, Model>> held;
  const uint64_t rounds = GetParam().tiny ? Sized(60, 600) : 12;
  for (uint64_t round = 0; round < rounds; ++round) {
    for (uint64_t i = random.Below(40); i > 0; --i) {
      const std::string key = NumberedKey(random.Below(50));
      if (random.OneIn(3)) {
        Delete(key);
      } else {
        Put(key, std::string(1 + random.Below(60), static_cast<char>('a' + round % 26)));
      }
    }
    if (random.OneIn(2)) held.emplace_back(db_->GetSnapshot(), model_);
    if (!held.empty() && random.OneIn(2)) {
      held.erase(held.begin() + static_cast<ptrdiff_t>(random.Below(held.size())));
    }
    if (random.OneIn(3)) Compact();
    for (const auto& [snapshot, model] : held) {
      ReadOptions at;
      at.snapshot = snapshot.get();
      ASSERT_TRUE(SamePairs(ScanForward(db_.get(), at), model)) << "round " << round;
    }
    ASSERT_TRUE(SamePairs(ScanForward(db_.get()), model_)) << "round " << round;
  }
  ExpectVerified(db_.get());
  held.clear();
  Compact();
  EXPECT_EQ(Entries(), model_.size());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

// Windows of a time series, each written and deleted under a snapshot; and one snapshot that stays.
TEST_P(KeptVersionsTest, WindowsUnderSnapshotsTakeNoMoreSpaceInTheLastRoundThanInAnEarlyOne) {
  Put("first", "kept");
  const auto oldest = db_->GetSnapshot();
  const uint64_t rounds = Sized(40, 4'000);
  const uint64_t keys = GetParam().tiny ? 200 : 500;
  uint64_t used = 0;
  uint64_t size = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    for (uint64_t i = 0; i < keys; ++i) {
      BRAID_ASSERT_OK(db_->Put(NumberedKey(round * keys + i), std::string(60, 'v')));
    }
    auto snapshot = db_->GetSnapshot();
    BRAID_ASSERT_OK(db_->DeleteRange("key", Slice("l")));
    if (round % 4 == 0) Compact();
    snapshot.reset();
    if (round % 10 != 9) continue;
    Compact();
    ASSERT_EQ(Entries(), 1u) << "round " << round;
    if (used == 0) {
      used = db_->GetStatistics().pool_used_bytes;
      size = db_->GetStatistics().pool_bytes;
    }
    // Chunks that a log and a table have begun, in each region, and headers of what the pool has
    // grown by. What the background copies or gives back at the moment takes more; it ends by
    // itself.
    const uint64_t begun = 2 * options_.pool.chunk_bytes * options_.pool.regions;
    const uint64_t headers = (db_->GetStatistics().pool_bytes - size) / 32;
    ASSERT_TRUE(Comes([&] {
      return db_->GetStatistics().pool_used_bytes <= used + begun + headers;
    })) << "round "
        << round << ": " << used << " bytes became " << db_->GetStatistics().pool_used_bytes;
  }
  EXPECT_EQ(GetText(db_.get(), "first", oldest.get()), "kept");
  ExpectVerified(db_.get());
}

/// Gets of a key with many versions, told by the nodes they visit.
class HotKeyTest : public KeptVersionsTest {
 protected:
  void SetUp() override {
    KeptVersionsTest::SetUp();
    options_.lists.count_visits = true;
    Reopen();
  }
  /// How many gets have visited `nodes`, a power of two, or more.
  uint64_t LongGets(uint64_t nodes) {
    const Statistics now = db_->GetStatistics();
    uint64_t gets = 0;
    for (size_t i = static_cast<size_t>(std::bit_width(nodes)); i < now.lookup_paths.size(); ++i)
      gets += now.lookup_paths[i];
    return gets;
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, HotKeyTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::snapshots)), SetupName);

TEST_P(HotKeyTest, AnOldSnapshotIsNotFarBehindManyPuts) {
  Put("hot", "old");
  const auto snapshot = db_->GetSnapshot();
  for (int i = 0; i < 20'000; ++i) BRAID_ASSERT_OK(db_->Put("hot", std::to_string(i)));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(GetText(db_.get(), "hot", snapshot.get()), "old");
  EXPECT_EQ(LongGets(1024), 0u);
}

TEST_P(HotKeyTest, AnOldSnapshotIsNotFarBehindManyBatches) {
  BRAID_NEEDS(atomic_batches);
  Put("hot", "old");
  const auto snapshot = db_->GetSnapshot();
  for (int i = 0; i < 3'000; ++i) {
    WriteBatch batch;
    for (int n = 0; n < 4; ++n) batch.Put("hot", std::to_string(i * 4 + n));
    BRAID_ASSERT_OK(db_->Write(batch));
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(GetText(db_.get(), "hot", snapshot.get()), "old");
  EXPECT_EQ(LongGets(1024), 0u);
}

TEST_P(HotKeyTest, VersionsThatAreMergedArePassedByTheirTowers) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 1'000; ++i) {
    BRAID_ASSERT_OK(db_->Put("hot", std::to_string(i)));
    snapshots.push_back(db_->GetSnapshot());
  }
  BRAID_ASSERT_OK(db_->Compact());
  for (size_t i = 0; i < snapshots.size(); i += 100) {
    EXPECT_EQ(GetText(db_.get(), "hot", snapshots[i].get()), std::to_string(i));
  }
  EXPECT_EQ(LongGets(256), 0u);
}

/// A pool that can't grow.
class FullPoolOfVersionsTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (!GetParam().tiny) GTEST_SKIP() << "a large pool takes long to fill";
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
    path_ = folder_.Sub("limited");
    options_.pool.max_bytes = options_.pool.regions * (1ull << 20);
    options_.pool.initial_bytes = options_.pool.max_bytes;
    // Many chunks a memtable: a writer that moves between processors begins one in every region.
    options_.pool.chunk_bytes = 4ull << 10;
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }
  /// Puts until there is no more room; how many keys that are.
  uint64_t FillUp() {
    for (uint64_t i = 0; i < 100'000; ++i) {
      const Status status = db_->Put(NumberedKey(i * 7919 % 100'003), std::string(500, 'v'));
      if (status.ok()) continue;
      EXPECT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
      return i;
    }
    ADD_FAILURE() << "the pool is never full";
    return 0;
  }
  void ExpectEmpty() {
    EXPECT_TRUE(ScanForward(db_.get()).empty());
    BRAID_ASSERT_OK(db_->Compact());
    const Statistics now = db_->GetStatistics();
    EXPECT_EQ(now.l0_entries + now.l1_entries, 0u);
    EXPECT_LE(now.pool_used_bytes, options_.pool.max_bytes / 8);
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, FullPoolOfVersionsTest, ::testing::ValuesIn(StoringSetups()),
                         SetupName);

TEST_P(FullPoolOfVersionsTest, ComesBackToEmptyByDeleteRange) {
  const uint64_t keys = FillUp();
  for (int round = 0; round < 4; ++round) {
    uint64_t deleted = 0;
    BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt, &deleted));
    EXPECT_GT(deleted, 0u);
    ExpectEmpty();
    EXPECT_GT(FillUp(), keys - keys / 8) << "round " << round;
  }
  ExpectVerified(db_.get());
}

TEST_P(FullPoolOfVersionsTest, ComesBackToEmptyOnceASnapshotIsReleased) {
  BRAID_NEEDS(snapshots);
  const uint64_t keys = FillUp();
  for (int round = 0; round < 4; ++round) {
    const Pairs all = ScanForward(db_.get());
    auto snapshot = db_->GetSnapshot();
    // As many as find room: the snapshot needs every value.
    Status status;
    if (round % 2 == 0) {
      for (size_t i = 0; i < all.size() && status.ok(); ++i) status = db_->Delete(all[i].first);
    } else {
      status = db_->DeleteRange("", std::nullopt);
    }
    EXPECT_TRUE(status.ok() || HasCode(status, Status::Code::kOutOfSpace));
    ReadOptions at;
    at.snapshot = snapshot.get();
    EXPECT_EQ(ScanForward(db_.get(), at), all);
    snapshot.reset();
    BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt));
    ExpectEmpty();
    EXPECT_GT(FillUp(), keys - keys / 8) << "round " << round;
  }
  ExpectVerified(db_.get());
}

TEST_P(FullPoolOfVersionsTest, WritersGetTheReasonWhereTablesAreWhatStopsThem) {
  BRAID_NEEDS(snapshots);
  BRAID_ASSERT_OK(db_->Close());
  options_.compaction.l0_trigger = 1;
  options_.compaction.l0_slowdown = 2;
  options_.compaction.l0_stop = 3;
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  for (int round = 0; round < 2; ++round) {
    const uint64_t keys = FillUp();
    auto snapshot = db_->GetSnapshot();
    // Deletes may take more than puts, and hide nothing from the snapshot: they end for some
    // reason, and don't wait for good.
    Status status;
    for (uint64_t i = 0; status.ok() && i < 20 * keys; ++i) {
      status = db_->Delete(NumberedKey(i % keys * 7919 % 100'003));
    }
    EXPECT_TRUE(status.ok() || HasCode(status, Status::Code::kOutOfSpace));
    snapshot.reset();
    BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt));
    ExpectEmpty();
  }
  ExpectVerified(db_.get());
}

TEST_P(FullPoolOfVersionsTest, APutFindsTheRoomThatAReleasedSnapshotLeaves) {
  BRAID_NEEDS(snapshots);
  for (int round = 0; round < 4; ++round) {
    const uint64_t keys = FillUp();
    ASSERT_GT(keys, 0u);
    BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt));
    // Half of it is live, and the other half what a snapshot sees of the same keys.
    std::shared_ptr<const Snapshot> snapshot;
    uint64_t written = 0;
    for (uint64_t i = 0; i < keys; ++i) {
      if (i == keys / 2) snapshot = db_->GetSnapshot();
      if (!db_->Put(NumberedKey(i % (keys / 2)), std::string(500, 'w')).ok()) break;
      ++written;
    }
    EXPECT_GT(written, keys / 2);
    snapshot.reset();
    for (uint64_t i = 0; i < keys; ++i) {
      BRAID_ASSERT_OK(db_->Put(NumberedKey(i % (keys / 2)), std::string(500, 'x')));
    }
    BRAID_ASSERT_OK(db_->DeleteRange("", std::nullopt));
  }
  ExpectVerified(db_.get());
}

/// Calls that wait for work of the background.
class BusyWriterTest : public ConformanceTest {
 protected:
  /// After each merge there is something to be merged, as long as the writer goes on.
  struct NeverIdle final : EventListener {
    void OnMerge(const Merge&) noexcept override {
      DB* store = db.load();
      if (store == nullptr) return;
      while (writes.load() && store->GetStatistics().l0_tables == 0) std::this_thread::yield();
    }
    std::atomic<bool> writes{false};
    std::atomic<DB*> db{nullptr};  // where merges have a thread of their own
  };

  void SetUp() override {
    ConformanceTest::SetUp();
    if (!GetParam().tiny) GTEST_SKIP() << "has nothing to merge";
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
    options_.listener = listener_;
    options_.compaction.l0_trigger = 1;
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
    if (GetParam().background) listener_->db.store(db_.get());
  }

  /// Runs `call` while another thread writes; whether that still wrote when the call returned.
  template <class Call>
  bool ReturnsBesideAWriter(Call&& call) {
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> puts{0};
    listener_->writes.store(true);
    std::thread writer([&] {
      for (uint64_t i = 0; !stop.load() && i < most_; ++i) {
        if (!db_->Put(NumberedKey(i % 10'000), std::string(100, 'v')).ok()) break;
        puts.store(i + 1);
      }
      listener_->writes.store(false);
    });
    while (puts.load() < 2'000) std::this_thread::yield();
    call();
    const bool beside = puts.load() < most_;
    stop.store(true);
    writer.join();
    return beside;
  }

  const uint64_t most_ = Sized(1'000'000, 10'000'000);  // many times what the calls take
  std::shared_ptr<NeverIdle> listener_ = std::make_shared<NeverIdle>();
};
INSTANTIATE_TEST_SUITE_P(Designs, BusyWriterTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(BusyWriterTest, CompactAndFlushReturnBesideIt) {
  EXPECT_TRUE(ReturnsBesideAWriter([&] {
    BRAID_EXPECT_OK(db_->Flush());
    BRAID_EXPECT_OK(db_->Compact());
    BRAID_EXPECT_OK(db_->Flush());
    BRAID_EXPECT_OK(db_->Compact());
  }));
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
