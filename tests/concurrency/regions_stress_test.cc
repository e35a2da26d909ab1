// Merges, flushes and collections of braided lists beside readers and writers of all regions: a
// reader never misses what was acknowledged before it began, along whichever strand it comes.
#include <array>

#include "concurrency.h"
#include "support/region_turns.h"

namespace braid::test {
namespace {

/// So few nodes are indexed in DRAM that lookups go along the lists.
constexpr uint64_t kKeys = 20'000;
constexpr uint64_t kWriters = 2;

class RegionsStressTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    TakeRegionsInTurns();
    options_ = TinyOptions();
    options_.pool.regions = static_cast<uint32_t>(GetParam());
    options_.log.shards = 4;
    options_.memory_budget_bytes = 1 << 20;
    options_.lists.count_visits = true;
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }

  /// Writes to the keys of its own in rising rounds; deletes now and then.
  void WriteRounds(uint64_t writer, uint64_t operations) {
    Random random(DeriveSeed(900 + writer));
    for (uint64_t n = 0; n < operations && !failure_.failed(); ++n) {
      const uint64_t number = random.Below(kKeys / kWriters) * kWriters + writer;
      std::atomic<uint64_t>& round = rounds_[number];
      const uint64_t next = round.load(std::memory_order_relaxed) + 1;
      const std::string key = NumberedKey(number);
      const bool gone = next % 4 == 0;
      const Status s = gone ? db_->Delete(key) : db_->Put(key, std::to_string(next));
      if (!failure_.Check(s, "write")) return;
      round.store(next, std::memory_order_release);
    }
    writers_left_.fetch_sub(1, std::memory_order_acq_rel);
  }

  void ReadUntilWritersAreDone(uint64_t reader) {
    Random random(DeriveSeed(910 + reader));
    while (writers_left_.load(std::memory_order_acquire) != 0 && !failure_.failed()) {
      const uint64_t number = random.Below(kKeys);
      const uint64_t before = rounds_[number].load(std::memory_order_acquire);
      std::string value;
      const Status s = db_->Get(NumberedKey(number), &value);
      const uint64_t after = rounds_[number].load(std::memory_order_acquire);
      if (!s.ok() && !s.IsNotFound()) failure_.Check(s, "get");
      // One write of the key may have been under way.
      bool allowed = false;
      for (uint64_t round = before; round <= after + 1 && !allowed; ++round) {
        const bool gone = round == 0 || round % 4 == 0;
        allowed = gone ? s.IsNotFound() : s.ok() && value == std::to_string(round);
      }
      if (!allowed) {
        failure_.Report("key " + std::to_string(number) + " gave " +
                        (s.ok() ? value : s.ToString()) + " between the writes " +
                        std::to_string(before) + " and " + std::to_string(after));
      }
    }
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
  std::array<std::atomic<uint64_t>, kKeys> rounds_{};
  std::atomic<uint64_t> writers_left_{kWriters};
};
INSTANTIATE_TEST_SUITE_P(Regions, RegionsStressTest, ::testing::Values(2, 4),
                         ::testing::PrintToStringParamName());

TEST_P(RegionsStressTest, ReadersOfEveryRegionFindWhatWasAcknowledged) {
  const uint64_t operations = Sized(120'000, 10'000'000);
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(920));
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kWriters; ++i) {
      threads.emplace_back([this, i, operations] { WriteRounds(i, operations / kWriters); });
    }
    for (uint64_t i = 0; i < 3; ++i) {
      threads.emplace_back([this, i] { ReadUntilWritersAreDone(i); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(failure_.text(), "") << ReplayLine();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.merges, 10u);
  EXPECT_EQ(statistics.upper_visits_remote, 0u);
  EXPECT_GT(statistics.upper_visits_local, 1000u) << "hardly any lookup went along a list";
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
