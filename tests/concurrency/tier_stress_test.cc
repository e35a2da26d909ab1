// Readers beside a store whose entries go to a tier all the time: gets, scans and iterators that
// stand still meanwhile miss no key, see none twice, and never an older version than before.
#include <vector>

#include "concurrency.h"
#include "support/store_kind.h"
#include "tier/memory_store.h"
#include "tier/open_store.h"

namespace braid::test {
namespace {

constexpr const char* kTier = "memory:stress";

/// Of the last level one list, or several.
class TierStressTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr uint64_t kKeys = 400;

  void SetUp() override {
    options_ = TinyOptions();
    KindNamed(GetParam()).ApplyTo(&options_);
    options_.pool.max_bytes = 64 << 20;
    options_.tier.path = kTier;
    tier::SetPoolBytes(8 << 10);  // of about 40 KiB
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
    for (uint64_t k = 0; k < kKeys; ++k) Put(k, 0);
  }
  void TearDown() override {
    db_.reset();
    tier::SetPoolBytes(0);
  }
  void Put(uint64_t k, uint64_t n) {
    const std::string key = NumberedKey(k);
    failure_.Check(db_->Put(key, key + ":" + std::to_string(n) + std::string(60, '.')),
                   "put " + key);
  }
  /// What a reader has seen of each key, which only grows.
  void CheckRecord(std::string_view key, std::string_view value, uint64_t k,
                   std::vector<uint64_t>* seen) {
    if (key != NumberedKey(k) || value.substr(0, key.size()) != key) {
      return failure_.Report("found " + std::string(key) + " with " + std::string(value) +
                             " in the place of " + NumberedKey(k));
    }
    const uint64_t n =
        std::strtoull(std::string(value.substr(key.size() + 1)).c_str(), nullptr, 10);
    if (n < (*seen)[k]) {
      failure_.Report(std::string(key) + " had number " + std::to_string((*seen)[k]) + " and has " +
                      std::to_string(n) + " now");
    }
    (*seen)[k] = n;
  }
  /// All keys, with pauses in which ranges of them go. Each is as of the moment when it began.
  void Scan(bool forward, std::vector<uint64_t>* seen) {
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    uint64_t n = 0;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid() && !failure_.failed();
         forward ? it->Next() : it->Prev()) {
      CheckRecord(it->key(), it->value(), forward ? n : kKeys - 1 - n, seen);
      if (++n % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    failure_.Check(it->status(), "scan");
    if (n != kKeys && !failure_.failed()) {
      failure_.Report("a scan found " + std::to_string(n) + " keys of " + std::to_string(kKeys));
    }
  }
  void Read(uint64_t reader) {
    Random random(DeriveSeed(720 + reader));
    std::vector<uint64_t> seen(kKeys);
    while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) {
      if (random.OneIn(20)) Scan(random.OneIn(2), &seen);
      const uint64_t k = random.Below(kKeys);
      std::string value;
      if (failure_.Check(db_->Get({}, NumberedKey(k), &value), "get " + NumberedKey(k))) {
        CheckRecord(NumberedKey(k), value, k, &seen);
      }
      // Deleted before any reader began, over versions that the tier has.
      const Status gone = db_->Get({}, "gone" + std::to_string(random.Below(kKeys)), &value);
      if (!gone.IsNotFound()) failure_.Report("a deleted key is back: " + gone.ToString());
    }
  }

  TempFolder folder_;
  tier::MemoryDevice device_{kTier};
  Options options_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
  std::atomic<bool> stop_{false};
};

INSTANTIATE_TEST_SUITE_P(Kinds, TierStressTest, ::testing::Values("braid", "ListsBounded"),
                         [](const auto& tested) { return tested.param; });

TEST_P(TierStressTest, NothingIsMissedWhileEntriesGo) {
  for (uint64_t k = 0; k < kKeys; ++k) {
    failure_.Check(db_->Put("gone" + std::to_string(k), std::string(60, 'g')), "put");
  }
  failure_.Check(db_->Compact(), "compact");
  for (uint64_t k = 0; k < kKeys; ++k) {
    failure_.Check(db_->Delete("gone" + std::to_string(k)), "delete");
  }
  const uint64_t moved_before = db_->GetStatistics().tier_moved_entries;
  EXPECT_GT(moved_before, kKeys);
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 3; ++i) readers.emplace_back([this, i] { Read(i); });
  Random random(DeriveSeed(719));
  const uint64_t rounds = Sized(20, 3000);
  uint64_t n = 0;
  for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
    for (int i = 0; i < 500; ++i) Put(random.Below(kKeys), ++n);
    failure_.Check(db_->Compact(), "compact");
  }
  stop_.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failure_.text(), "") << Describe(options_) << "\n" << ReplayLine();
  EXPECT_GT(db_->GetStatistics().tier_moved_entries, moved_before + rounds * kKeys / 20);
  // Readers that came to run late have not read a record of the tier twice.
  for (int pass = 0; pass < 3; ++pass) {
    std::string value;
    for (uint64_t k = 0; k < kKeys; ++k) BRAID_ASSERT_OK(db_->Get({}, NumberedKey(k), &value));
  }
  EXPECT_GT(db_->GetStatistics().tier_gets_found, 0u);
  EXPECT_GT(db_->GetStatistics().tier_gets_cached, 0u);
}

}  // namespace
}  // namespace braid::test
