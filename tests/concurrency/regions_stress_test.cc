// Merges, flushes and collections of braided lists beside readers and writers of all regions: a
// reader never misses what was acknowledged before it began, along whichever strand it comes.
#include <array>

#include "concurrency.h"
#include "design/design.h"
#include "media/file_media.h"
#include "support/region_turns.h"

namespace braid::test {
namespace {

constexpr uint64_t kRegionKeys = 5'000;
constexpr uint64_t kRegionWriters = 2;

class RegionsStressTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    TakeRegionsInTurns();
    options_ = TinyOptions();
    options_.pool.regions = static_cast<uint32_t>(GetParam());
    options_.log.shards = 4;
    // Less than DB::Open takes: so few entries are indexed in DRAM that lookups go along the lists.
    options_.memory_budget_bytes = 16 << 10;
    options_.lists.count_visits = true;
    auto media = media::OpenFileMedia(folder_.Sub("pool"), options_.pool, true);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    auto engine = (*design::FindDesign("braid"))->Make(options_, std::move(*media));
    ASSERT_TRUE(engine.ok()) << engine.status().ToString();
    db_ = std::move(*engine);
  }

  /// Flushes and merges without end.
  void Maintain() {
    for (uint64_t n = 0; writers_left_.load(std::memory_order_acquire) != 0 && !failure_.failed();
         ++n) {
      if (!failure_.Check(n % 4 == 0 ? db_->Compact() : db_->Flush(), "flush or compact")) return;
    }
  }

  /// Writes to the keys of its own in rising rounds; deletes now and then.
  void WriteRounds(uint64_t writer, uint64_t operations) {
    Random random(DeriveSeed(900 + writer));
    for (uint64_t n = 0; n < operations && !failure_.failed(); ++n) {
      const uint64_t number = random.Below(kRegionKeys / kRegionWriters) * kRegionWriters + writer;
      std::atomic<uint64_t>& round = rounds_[number];
      const uint64_t next = round.load(std::memory_order_relaxed) + 1;
      const std::string key = NumberedKey(number);
      const bool gone = next % 4 == 0;
      const Status s = gone ? db_->Delete({}, key) : db_->Put({}, key, std::to_string(next));
      if (!failure_.Check(s, "write")) return;
      round.store(next, std::memory_order_release);
    }
    writers_left_.fetch_sub(1, std::memory_order_acq_rel);
  }

  void ReadUntilWritersAreDone(uint64_t reader) {
    Random random(DeriveSeed(910 + reader));
    while (writers_left_.load(std::memory_order_acquire) != 0 && !failure_.failed()) {
      const uint64_t number = random.Below(kRegionKeys);
      const uint64_t before = rounds_[number].load(std::memory_order_acquire);
      std::string value;
      const Status s = db_->Get({}, NumberedKey(number), &value);
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
  std::shared_ptr<engine::Engine> db_;
  FirstFailure failure_;
  std::array<std::atomic<uint64_t>, kRegionKeys> rounds_{};
  std::atomic<uint64_t> writers_left_{kRegionWriters};
};
INSTANTIATE_TEST_SUITE_P(Regions, RegionsStressTest, ::testing::Values(2, 4),
                         ::testing::PrintToStringParamName());

TEST_P(RegionsStressTest, ReadersOfEveryRegionFindWhatWasAcknowledged) {
  const uint64_t operations = Sized(200'000, 10'000'000);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kRegionWriters; ++i) {
    threads.emplace_back([this, i, operations] { WriteRounds(i, operations / kRegionWriters); });
  }
  for (uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([this, i] { ReadUntilWritersAreDone(i); });
  }
  threads.emplace_back([this] { Maintain(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failure_.text(), "") << ReplayLine();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.merges, 5u);
  EXPECT_GT(statistics.upper_visits_local + statistics.upper_visits_remote, 1000u)
      << "hardly any lookup went along a list";
  VerifyReport report;
  BRAID_EXPECT_OK(db_->Verify(&report, {}));
  BRAID_EXPECT_OK(db_->Close());
}

}  // namespace
}  // namespace braid::test
