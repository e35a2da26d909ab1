// Readers beside a store that is reclustered again and again: runs of entries give way to their
// copies under gets, scans and iterators that stand still meanwhile, and no key is missed or seen
// twice.
#include "concurrency.h"

namespace braid::test {
namespace {

class ReclusterStressTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 600;

  void SetUp() override {
    options_ = TinyOptions();
    options_.compaction.recluster_share = 0.01;
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
    Write(650, 4 * kKeys);
    for (uint64_t k = 0; k < kKeys; ++k) Put(k, 0);
  }
  void Put(uint64_t k, uint64_t n) {
    const std::string key = NumberedKey(k);
    failure_.Check(db_->Put(key, key + ":" + std::to_string(n)), "put " + key);
  }
  void Write(uint64_t seed, uint64_t operations) {
    Random random(DeriveSeed(seed));
    for (uint64_t n = 0; n < operations && !failure_.failed(); ++n) Put(random.Below(kKeys), n);
  }
  void CheckRecord(std::string_view key, std::string_view value, uint64_t k) {
    if (key != NumberedKey(k)) {
      failure_.Report("found " + std::string(key) + " in the place of " + NumberedKey(k));
    } else if (value.substr(0, key.size()) != key) {
      failure_.Report("key " + std::string(key) + " has the value of another");
    }
  }
  /// All keys, with pauses in which runs give way.
  void Scan(bool forward) {
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    uint64_t n = 0;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid() && !failure_.failed();
         forward ? it->Next() : it->Prev()) {
      CheckRecord(it->key(), it->value(), forward ? n : kKeys - 1 - n);
      if (++n % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    failure_.Check(it->status(), "scan");
    if (n != kKeys && !failure_.failed()) {
      failure_.Report("a scan found " + std::to_string(n) + " keys of " + std::to_string(kKeys));
    }
  }
  void Read(uint64_t reader) {
    Random random(DeriveSeed(660 + reader));
    while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) {
      if (random.OneIn(20)) Scan(random.OneIn(2));
      const uint64_t k = random.Below(kKeys);
      std::string value;
      if (failure_.Check(db_->Get({}, NumberedKey(k), &value), "get " + NumberedKey(k))) {
        CheckRecord(NumberedKey(k), value, k);
      }
    }
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
  std::atomic<bool> stop_{false};
};

TEST_F(ReclusterStressTest, NothingIsMissedWhileRunsGiveWay) {
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 3; ++i) readers.emplace_back([this, i] { Read(i); });
  const uint64_t rounds = Sized(20, 3000);
  for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
    Write(671 + round, 1000);
    failure_.Check(db_->Compact(), "compact");
  }
  stop_.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failure_.text(), "") << Describe(options_) << "\n" << ReplayLine();
  EXPECT_GT(db_->GetStatistics().reclustered_entries, rounds / 4 * kKeys);
}

}  // namespace
}  // namespace braid::test
