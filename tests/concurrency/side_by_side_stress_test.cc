// Merges side by side, of tables that lie apart, beside readers and a writer. Each key has had its
// value before the merges begin, and keeps it, or none.
#include "concurrency.h"

namespace braid::test {
namespace {

/// Knows how many tables were merged by one plan at most.
class MostTables final : public EventListener {
 public:
  void OnMerge(const Merge& merge) noexcept override {
    if (merge.tables > most_.load()) most_.store(merge.tables);
  }
  uint64_t most() const { return most_.load(); }

 private:
  std::atomic<uint64_t> most_{0};
};

class SideBySideTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 600;  // of a range

  static std::string Key(uint64_t range, uint64_t key) {
    return std::string(1, static_cast<char>('a' + range)) + NumberedKey(key);
  }
  /// By a trigger that is not reached until the store is opened with another one.
  void Open(uint32_t l0_trigger) {
    db_.reset();
    Options options = TinyOptions();
    options.memtable.bytes = 1ull << 20;
    options.memory_budget_bytes = 64ull << 20;
    options.compaction.l0_trigger = l0_trigger;
    options.compaction.batch_entries = 16;
    options.listener = listener_;
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  bool IsDeleted(uint64_t round, uint64_t key) const { return (key + round) % 5 == 0; }

  /// Whatever it finds must be of this round.
  void ReadUntilMerged(uint64_t round, uint64_t seed) {
    Random random(DeriveSeed(seed));
    const std::string value = std::to_string(round);
    while (db_->GetStatistics().l0_tables != 0 && !failure_.failed()) {
      for (int n = 0; n < 100 && !failure_.failed(); ++n) {
        const uint64_t key = random.Below(kKeys);
        const std::string name = Key(random.Below(3), key);
        std::string found;
        const Status s = db_->Get(name, &found);
        if (IsDeleted(round, key) ? !s.IsNotFound() : !s.ok() || found != value) {
          failure_.Report(name + ": " + s.ToString() + ", " + found);
        }
      }
      uint64_t seen = 0;
      const auto it = db_->NewIterator({});
      for (it->Seek(Key(0, 0)); it->Valid() && it->key() < Slice("d"); it->Next()) ++seen;
      failure_.Check(it->status(), "scan");
      if (seen != 3 * (kKeys - kKeys / 5)) failure_.Report("saw " + std::to_string(seen));
    }
  }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
  std::shared_ptr<MostTables> listener_ = std::make_shared<MostTables>();
};

TEST_F(SideBySideTest, ReadersFindAllThatWasWritten) {
  const uint64_t rounds = Sized(100, 2'000);
  for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
    Open(8);
    for (uint64_t range = 0; range < 3; ++range) {
      for (uint64_t key = 0; key < kKeys; ++key) {
        const std::string name = Key(range, key);
        BRAID_ASSERT_OK(IsDeleted(round, key) ? db_->Delete(name)
                                              : db_->Put(name, std::to_string(round)));
      }
      BRAID_ASSERT_OK(db_->Flush());
    }
    Open(1);
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] { ReadUntilMerged(round, 900 + 2 * round + i); });
    }
    for (int i = 0; i < 500; ++i) BRAID_EXPECT_OK(db_->Put("e" + NumberedKey(i), "beside"));
    for (std::thread& thread : threads) thread.join();
  }
  ASSERT_EQ(failure_.text(), "") << ReplayLine();
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_GT(listener_->most(), 1u) << "nothing was merged side by side";
  }
  VerifyReport report;
  BRAID_EXPECT_OK(db_->Verify(&report));
  db_.reset();
}

}  // namespace
}  // namespace braid::test
