// Readers of a lookup cache beside writers, flushes, merges and collections, and after an open
// while it is filled from L1: no get gives less than an earlier one of the same thread has seen,
// and no deleted key comes back.
#include "concurrency.h"

namespace braid::test {
namespace {

/// The parameter: buckets, fewer than there are keys, or so many that most are never used.
class LookupCacheStressTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint64_t kKeys = 96;
  static constexpr uint64_t kWriters = 2;

  void SetUp() override {
    options_ = TinyOptions();
    options_.pool.chunk_bytes = 4 << 10;
    options_.memtable.bytes = 4 << 10;
    options_.compaction.gc_live_ratio = 0.9;
    options_.cache.lookup_bytes = GetParam() * sizeof(uint64_t);
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  /// Of value "n:key", 0 when the key is not there.
  uint64_t VersionOf(const std::string& key, const Snapshot* snapshot) {
    ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const Status status = db_->Get(options, key, &value);
    if (status.IsNotFound()) return 0;
    if (!failure_.Check(status, "get " + key)) return 0;
    const size_t colon = value.find(':');
    if (colon == std::string::npos || value.substr(colon + 1, key.size()) != key) {
      failure_.Report("key " + key + " has the value " + Printable(value));
      return 0;
    }
    return std::stoull(value);
  }

  /// Versions of a key grow by one with each write; one in four is a delete.
  void Write(uint64_t writer, uint64_t operations) {
    Random random(DeriveSeed(620 + writer));
    for (uint64_t n = 0; n < operations && !failure_.failed(); ++n) {
      const uint64_t k = random.Below(kKeys / kWriters) * kWriters + writer % kWriters;
      const std::string key = NumberedKey(k);
      const uint64_t version = begun_[k].load(std::memory_order_relaxed) + 1;
      begun_[k].store(version, std::memory_order_release);
      const bool removes = version % 4 == 0;
      const std::string value = std::to_string(version) + ":" + key + std::string(60, 'v');
      failure_.Check(removes ? db_->Delete(key) : db_->Put(key, value), "write");
      ended_[k].store(version, std::memory_order_release);
    }
  }

  void Read(uint64_t reader) {
    Random random(DeriveSeed(630 + reader));
    while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) {
      const uint64_t k = random.Below(kKeys);
      const std::string key = NumberedKey(k);
      if (VersionOf(NumberedKey(kKeys + k), nullptr) != 0) {
        failure_.Report("key " + NumberedKey(kKeys + k) + " is there, but was never written");
      }
      const uint64_t least = ended_[k].load(std::memory_order_acquire);
      const bool at_snapshot = random.OneIn(8);
      const auto snapshot = at_snapshot ? db_->GetSnapshot() : nullptr;
      const uint64_t most_before = begun_[k].load(std::memory_order_acquire);
      const uint64_t got = VersionOf(key, snapshot.get());
      const uint64_t most = begun_[k].load(std::memory_order_acquire);
      // A deleted key: some version that is a delete lies between the two.
      const bool may_be_gone = least == 0 || most / 4 * 4 >= least;
      if (got == 0 ? !may_be_gone : got < least || got > most) {
        failure_.Report("key " + key + ": got version " + std::to_string(got) + ", not between " +
                        std::to_string(least) + " and " + std::to_string(most));
      }
      if (at_snapshot && got > most_before) {
        failure_.Report("key " + key + ": a snapshot shows a write that began after it");
      }
      if (at_snapshot && VersionOf(key, snapshot.get()) != got) {
        failure_.Report("key " + key + ": a snapshot changed");
      }
    }
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> begun_[kKeys] = {};
  std::atomic<uint64_t> ended_[kKeys] = {};
};

TEST_P(LookupCacheStressTest, GetsAreLinearizableBesideFlushesMergesAndCollections) {
  constexpr uint64_t kRounds = 6;
  const uint64_t operations = Sized(30'000, 5'000'000) / kRounds;
  Statistics sum;
  for (uint64_t round = 0; round < kRounds && !failure_.failed(); ++round) {
    if (round != 0) {
      // Abandoned or closed, with tables of L0 that are newer than L1.
      if (round % 2 == 0) {
        BRAID_ASSERT_OK(db_->Close());
      }
      db_.reset();
      db_ = OpenOrFail(options_, folder_.Sub("pool"));
      ASSERT_NE(db_, nullptr);
    }
    stop_.store(false);
    std::vector<std::thread> readers;
    for (uint64_t i = 0; i < 3; ++i) readers.emplace_back([this, i] { Read(i); });
    {
      BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(640 + round));
      std::vector<std::thread> writers;
      for (uint64_t i = 0; i < kWriters; ++i) {
        writers.emplace_back(
            [this, i, operations, round] { Write(i + round * kWriters, operations / kWriters); });
      }
      for (std::thread& writer : writers) writer.join();
    }
    stop_.store(true, std::memory_order_release);
    for (std::thread& reader : readers) reader.join();
    const Statistics statistics = db_->GetStatistics();
    sum.lookup_cache_hits += statistics.lookup_cache_hits;
    sum.lookup_cache_absences += statistics.lookup_cache_absences;
    sum.collected_chunks += statistics.collected_chunks;
  }
  EXPECT_EQ(failure_.text(), "") << Describe(options_) << "\n" << ReplayLine();
  EXPECT_GT(sum.lookup_cache_hits, 0u);
  if (GetParam() > kKeys) {
    EXPECT_GT(sum.lookup_cache_absences, 0u);
  }
  EXPECT_GT(sum.collected_chunks, 0u);
  ExpectVerified(db_.get());
}

INSTANTIATE_TEST_SUITE_P(Buckets, LookupCacheStressTest, ::testing::Values(64, 4096));

}  // namespace
}  // namespace braid::test
