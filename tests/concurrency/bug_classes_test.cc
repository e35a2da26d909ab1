// Faults that stores for persistent memory have had before, one test each: a deleted key that comes
// back, sequence numbers used twice, a cache that leads to what was freed. That a reader never gets
// what is not durable yet is in src/memtable/dram_memtable_test.cc, and tests/kill wants everything
// that was read before a kill.
#include <array>

#include "concurrency.h"

namespace braid::test {
namespace {

class BugClassTest : public ConcurrencyTest {
 protected:
  /// Runs `reader` in two threads beside `writer` and maintenance, until the writer ends.
  void BesideReaders(const std::function<void()>& writer,
                     const std::function<void(Random*)>& reader) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (uint64_t i = 0; i < 2; ++i) {
      readers.emplace_back([&, i] {
        Random random(DeriveSeed(440 + i));
        while (!stop.load(std::memory_order_acquire) && !failure_.failed()) reader(&random);
      });
    }
    {
      BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(445));
      writer();
    }
    stop.store(true, std::memory_order_release);
    for (std::thread& thread : readers) thread.join();
    ExpectNoFailure();
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, BugClassTest, ::testing::Bool(), BackgroundName);

/// A database whose L0 tables stay until it is opened with a lower trigger; then they are merged,
/// beside readers that began before.
class MergeBesideReadersTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 400;

  void SetUp() override { Open(8); }
  void Open(uint32_t l0_trigger) {
    db_.reset();
    Options options = TinyOptions();
    options.memtable.bytes = 1ull << 20;
    options.compaction.l0_trigger = l0_trigger;
    options.compaction.batch_entries = 16;
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  void ReadUntilMerged(uint64_t round, const std::function<void(Random*)>& read) {
    std::vector<std::thread> readers;
    for (uint64_t i = 0; i < 3; ++i) {
      readers.emplace_back([&, i] {
        Random random(DeriveSeed(470 + i + round * 10));
        while (db_->GetStatistics().l0_tables != 0 && !failure_.failed()) {
          for (int n = 0; n < 200 && !failure_.failed(); ++n) read(&random);
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
  }
  /// Puts the keys that are `alive` and deletes the others, or the other way round.
  void Write(bool alive) {
    for (uint64_t k = 0; k < kKeys; ++k) {
      const std::string key = NumberedKey(k);
      BRAID_ASSERT_OK(IsAlive(key) == alive ? db_->Put(key, "value") : db_->Delete(key));
    }
  }
  /// Every 5th key is in the L0 table alone: while a scan rests on it, its cursor in L1 stands on a
  /// key that is deleted.
  static bool IsAlive(std::string_view key) {
    return std::strtoull(std::string(key.substr(3)).c_str(), nullptr, 10) % 5 == 0;
  }
  void ScanFrom(Random* random, const std::string& key) {
    const bool forward = random->OneIn(2);
    const auto it = db_->NewIterator({});
    forward ? it->Seek(key) : it->SeekForPrev(key);
    for (; it->Valid(); forward ? it->Next() : it->Prev()) {
      if (!IsAlive(it->key())) failure_.Report("scan saw " + Printable(it->key()));
      if (random->OneIn(4)) std::this_thread::yield();
    }
    failure_.Check(it->status(), "scan");
  }
  void ReadOne(Random* random) {
    const std::string key = NumberedKey(random->Below(kKeys));
    if (random->OneIn(8)) return ScanFrom(random, key);
    std::string value;
    const Status status = db_->Get(key, &value);
    if (status.IsNotFound() == IsAlive(key)) failure_.Report(key + ": " + status.ToString());
  }
  void ExpectNoFailure() { ASSERT_EQ(failure_.text(), "") << ReplayLine(); }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
};

TEST_P(BugClassTest, ADeletedKeyNeverComesBack) {
  // Rounds of put and delete; odd rounds are acknowledged deletes, during which nobody may see the
  // key, however flushes and merges move its versions and drop the delete.
  constexpr size_t kKeys = 64;
  std::array<std::atomic<uint64_t>, kKeys> rounds{};
  for (auto& round : rounds) round.store(1);
  const uint64_t writes = Sized(60'000, 10'000'000);
  const auto writer = [&] {
    Random random(DeriveSeed(441));
    for (uint64_t n = 0; n < writes && !failure_.failed(); ++n) {
      const size_t k = random.Below(kKeys);
      rounds[k].fetch_add(1, std::memory_order_seq_cst);
      const std::string value(random.OneIn(100) ? 20'000 : random.Below(200), 'v');
      failure_.Check(db_->Put(NumberedKey(k), value), "put");
      if (random.OneIn(2)) failure_.Check(db_->Put(NumberedKey(k), value + "2"), "put");
      failure_.Check(db_->Delete(NumberedKey(k)), "delete");
      rounds[k].fetch_add(1, std::memory_order_seq_cst);
    }
  };
  const auto reader = [&](Random* random) {
    const size_t k = random->Below(kKeys);
    const uint64_t before = rounds[k].load(std::memory_order_seq_cst);
    if (before % 2 == 0) return;
    std::string seen;
    if (random->OneIn(3)) {
      const auto it = db_->NewIterator({});
      random->OneIn(2) ? it->Seek(NumberedKey(k)) : it->SeekForPrev(NumberedKey(k));
      if (it->Valid() && it->key() == NumberedKey(k)) seen = "an iterator";
    } else {
      std::string value;
      if (db_->Get(NumberedKey(k), &value).ok()) seen = "a get";
    }
    if (!seen.empty() && rounds[k].load(std::memory_order_seq_cst) == before) {
      failure_.Report(seen + " saw " + NumberedKey(k) + ", which was deleted");
    }
  };
  BesideReaders(writer, reader);
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  BRAID_ASSERT_OK(db_->Close());
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  EXPECT_TRUE(ScanForward(db_.get()).empty());
}

TEST_F(MergeBesideReadersTest, ADeletedKeyStaysDeletedWhileItsDeleteIsMergedAway) {
  // The delete lies in an L0 table without a tree in DRAM, what it hides in L1. The merge at open
  // takes both away, while readers go from the one to the other.
  const uint64_t rounds = Sized(60, 3'000);
  for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
    ASSERT_NO_FATAL_FAILURE(Write(false));
    BRAID_ASSERT_OK(db_->Compact());
    ASSERT_NO_FATAL_FAILURE(Write(true));
    BRAID_ASSERT_OK(db_->Flush());
    // In every other round the index over L1 is complete, so that gets go through it.
    const bool indexed = round % 2 == 1;
    Open(indexed ? 8 : 1);
    while (indexed && db_->GetStatistics().index_complete == 0) std::this_thread::yield();
    std::thread merger;
    if (indexed) merger = std::thread([this] { failure_.Check(db_->Compact(), "compact"); });
    ReadUntilMerged(round, [this](Random* random) { ReadOne(random); });
    if (merger.joinable()) merger.join();
    ExpectNoFailure();
    Open(8);
  }
}

TEST_F(MergeBesideReadersTest, WhatIsOverwrittenIsSeenByNobodyWhileItIsLeftOutOfL1) {
  // Five tables of L0 with the same keys: of all but the newest a merge takes nothing into L1,
  // where versions are that are older still.
  const uint64_t rounds = Sized(40, 2'000);
  for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
    for (const bool alive : {false, true, false, true, true}) {
      ASSERT_NO_FATAL_FAILURE(Write(alive));
      BRAID_ASSERT_OK(db_->Flush());
    }
    ASSERT_EQ(db_->GetStatistics().l0_tables, 5u);
    std::thread merger([this] { failure_.Check(db_->Compact(), "compact"); });
    ReadUntilMerged(round, [this](Random* random) { ReadOne(random); });
    merger.join();
    ExpectNoFailure();
    EXPECT_EQ(db_->GetStatistics().l1_entries, kKeys / 5);
  }
}

TEST_P(BugClassTest, NoTwoWritesShareASequenceNumber) {
  // Every update draws a number of its own, so the newest is at least their count; and the number
  // of a thread's snapshot grows with each write of the thread. Also over opens without a close.
  constexpr uint64_t kThreads = 4;
  std::atomic<uint64_t> updates{0};
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t writes = Sized(10'000, 1'000'000) / 4;
    std::vector<std::function<void()>> bodies;
    for (uint64_t t = 0; t < kThreads; ++t) {
      bodies.push_back([&, t] {
        Random random(DeriveSeed(450 + t + 10 * round));
        uint64_t newest = db_->GetSnapshot()->sequence();
        for (uint64_t n = 0; n < writes && !failure_.failed(); ++n) {
          const std::string key = NumberedKey(random.Below(300));
          uint64_t drawn = 1;
          if (random.OneIn(8)) {
            WriteBatch batch;
            for (drawn = 2 + random.Below(6); batch.Count() < drawn;) batch.Put(key, "batch");
            failure_.Check(db_->Write(batch), "write");
          } else if (random.OneIn(4)) {
            const Result<bool> swapped = db_->CompareAndSwap(key, "put", "swapped");
            failure_.Check(swapped.status(), "swap");
            drawn = swapped.ok() && swapped.value() ? 1 : 0;
          } else {
            failure_.Check(db_->Put(key, "put"), "put");
          }
          updates.fetch_add(drawn, std::memory_order_relaxed);
          const uint64_t now = db_->GetSnapshot()->sequence();
          if (now < newest + drawn) {
            failure_.Report("sequence number " + std::to_string(now) + " after " +
                            std::to_string(newest) + " and " + std::to_string(drawn) + " updates");
          }
          newest = now;
        }
      });
    }
    RunThreads(bodies);
    ExpectNoFailure();
    EXPECT_GE(db_->GetStatistics().last_sequence, updates.load());
    db_.reset();
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
    EXPECT_GE(db_->GetStatistics().last_sequence, updates.load());
  }
}

/// Overwrites all keys again and again under `options`, so that the chunks of the entries that the
/// DRAM index leads to are freed and used again for entries of other keys.
class FreedEntryTest : public ConcurrencyTest {
 protected:
  void Run(uint64_t rounds, uint64_t keys) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (uint64_t i = 0; i < 2; ++i) {
      readers.emplace_back([&, i] {
        Random random(DeriveSeed(460 + i));
        while (!stop.load(std::memory_order_acquire) && !failure_.failed()) {
          ReadSome(&random, keys);
        }
      });
    }
    Random random(DeriveSeed(462));
    for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
      for (uint64_t n = 0; n < keys; ++n) {
        const std::string key = NumberedKey(round == 0 ? n : random.Below(keys));
        std::string value = key + "=";
        value.resize(value.size() + random.Below(200), 'v');
        failure_.Check(db_->Put(key, value), "put");
      }
      failure_.Check(db_->Compact(), "compact");
    }
    stop.store(true, std::memory_order_release);
    for (std::thread& thread : readers) thread.join();
    ExpectNoFailure();
    EXPECT_GT(db_->GetStatistics().collected_chunks, rounds);
    ExpectVerified(db_.get());
  }

  void ReadSome(Random* random, uint64_t keys) {
    const std::string key = NumberedKey(random->Below(keys));
    if (random->OneIn(2)) {
      std::string value;
      const Status status = db_->Get(key, &value);
      if (status.ok()) CheckPair(key, value);
      if (!status.ok() && !status.IsNotFound()) failure_.Check(status, "get");
      return;
    }
    const auto it = db_->NewIterator({});
    it->Seek(key);
    std::string last;
    for (uint64_t steps = random->Below(30); steps > 0 && it->Valid(); --steps, it->Next()) {
      CheckPair(it->key(), it->value());
      if (it->key() <= last) failure_.Report("a scan goes back at " + Printable(it->key()));
      last = it->key();
    }
    failure_.Check(it->status(), "scan");
  }
  void CheckPair(Slice key, Slice value) {
    if (value.substr(0, key.size()) == key && value[key.size()] == '=') return;
    failure_.Report("key " + Printable(key) + " has the value " + Printable(value));
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, FreedEntryTest, ::testing::Bool(), BackgroundName);

TEST_P(FreedEntryTest, TheIndexNeverLeadsToAFreedEntry) { Run(2 + Sized(20, 2'000), 3'000); }

TEST_P(FreedEntryTest, ASparseIndexNeverLeadsToAFreedEntry) {
  // A budget so small that the trees of L0 are dropped and the index is made anew, ever sparser.
  options_.memory_budget_bytes = 1ull << 20;
  BRAID_ASSERT_OK(db_->Close());
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  Run(1 + Sized(3, 100), kThreadSanitizer ? 40'000 : 70'000);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_LT(statistics.index_entries, statistics.l1_entries);
}

}  // namespace
}  // namespace braid::test
