// Views that come and go beside writers, compactions and drops of what the views before them kept:
// each sees the same as long as it lives, by gets, scans forwards and backwards.
#include "concurrency.h"

namespace braid::test {
namespace {

constexpr uint64_t kKeptKeys = 60;
constexpr uint64_t kCompactions = 60;
constexpr uint64_t kLooks = 60;

class KeptStressTest : public DesignStressTest {
 protected:
  void Choose(Options* options) const override { options->compaction.l0_trigger = 1; }

  /// Every write of a thread has a higher number as its value.
  void Write(uint64_t seed) {
    Random random(DeriveSeed(seed));
    for (uint64_t round = 1; running_.load() && !failure_.failed(); ++round) {
      const std::string key = NumberedKey(random.Below(kKeptKeys));
      if (random.OneIn(3)) {
        failure_.Check(db_->Delete(key), "delete");
      } else if (random.OneIn(50)) {
        failure_.Check(db_->DeleteRange(NumberedKey(10), Slice("key00000020")), "delete a range");
      } else {
        failure_.Check(db_->Put(key, std::to_string(round) + std::string(40, '.')), "put");
      }
    }
  }

  void Compare(const Pairs& first, const Pairs& again, const std::string& scan) {
    if (again == first) return;
    const auto [was, is] = std::mismatch(first.begin(), first.end(), again.begin(), again.end());
    const auto text = [](Pairs::const_iterator at, const Pairs& pairs) {
      return at == pairs.end() ? std::string("the end") : at->first + " = " + at->second;
    };
    failure_.Report("a snapshot changes: the first scan, of " + std::to_string(first.size()) +
                    " keys, shows " + text(was, first) + "; the next " + scan + " one, of " +
                    std::to_string(again.size()) + ", " + text(is, again));
  }
  void Look(uint64_t seed) {
    Random random(DeriveSeed(seed));
    while (running_.load() && !failure_.failed()) {
      const auto snapshot = db_->GetSnapshot();
      ReadOptions at;
      at.snapshot = snapshot.get();
      const Pairs first = ScanForward(db_.get(), at);
      for (uint64_t again = random.Below(4); again > 0; --again) {
        Compare(first, ScanForward(db_.get(), at), "forward");
        Compare(first, ScanBackward(db_.get(), at), "backward");
        for (const auto& [key, value] : first) {
          if (GetText(db_.get(), key, snapshot.get()) != value) {
            failure_.Report(key + " changes in a snapshot");
          }
        }
      }
      looks_.fetch_add(1);
    }
  }

  std::atomic<uint64_t> looks_{0};
};
INSTANTIATE_TEST_SUITE_P(Designs, KeptStressTest,
                         ::testing::Values("braid", "listdb", "zipperdb", "novelsm", "tlsm"));

TEST_P(KeptStressTest, ViewsSeeTheSameWhileOthersAreDropped) {
  std::vector<std::thread> threads;
  for (const uint64_t seed : {1, 2}) threads.emplace_back([this, seed] { Write(seed); });
  for (const uint64_t seed : {3, 4}) threads.emplace_back([this, seed] { Look(seed); });
  for (uint64_t i = 0; (i < kCompactions || looks_.load() < kLooks) && !failure_.failed(); ++i) {
    failure_.Check(db_->Compact(), "compact");
  }
  running_.store(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  BRAID_EXPECT_OK(db_->Compact());
  EXPECT_EQ(db_->GetStatistics().l1_entries, ScanForward(db_.get()).size());
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
