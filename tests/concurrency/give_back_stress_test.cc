// Pages that are given back to the file system and asked for again beside writers, readers and
// views: what was written is read, and the holes are used again.
#include "concurrency.h"

namespace braid::test {
namespace {

constexpr uint64_t kBursts = 5;
constexpr uint64_t kKeysOfBurst = 1500;
// A burst does not fit into the pool's initial bytes, which keep their pages, however soon what it
// overwrites is collected.
constexpr size_t kValueBytes = 800;

/// All of one letter, which its round chooses.
std::string ValueOf(uint64_t round) {
  return std::string(kValueBytes, static_cast<char>('a' + round % 26));
}

class GiveBackStressTest : public DesignStressTest {
 protected:
  void SetUp() override {
    DesignStressTest::SetUp();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_GT(kKeysOfBurst * kValueBytes, options_.pool.initial_bytes);
    const Result<PoolInfo> info = DB::Inspect(folder_.Sub("pool"));
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    has_snapshots_ = db_->GetCapabilities().snapshots;
    if (!info->why_no_holes.empty()) GTEST_SKIP() << info->why_no_holes;
  }
  void Choose(Options* options) const override { options->compaction.l0_trigger = 1; }

  /// Fills, empties and compacts, so that the pool is large and small in turns.
  void Breathe() {
    for (uint64_t burst = 0; burst < kBursts && !failure_.failed(); ++burst) {
      for (uint64_t i = 0; i < kKeysOfBurst; ++i) {
        failure_.Check(db_->Put(NumberedKey(i), ValueOf(burst)), "put");
      }
      for (uint64_t i = kKeysOfBurst / 10; i < kKeysOfBurst; ++i) {
        failure_.Check(db_->Delete(NumberedKey(i)), "delete");
      }
      for (int round = 0; round < 2; ++round) failure_.Check(db_->Compact(), "compact");
    }
    running_.store(false);
  }

  static bool IsWhole(const std::string& value) {
    return value.size() == kValueBytes &&
           value.find_first_not_of(value.front()) == std::string::npos;
  }

  void Read(uint64_t seed) {
    Random random(DeriveSeed(seed));
    while (running_.load() && !failure_.failed()) {
      std::string value;
      const Status found = db_->Get(NumberedKey(random.Below(kKeysOfBurst)), &value);
      if (found.ok() && !IsWhole(value)) failure_.Report("a value is torn: " + value);
      if (!found.ok() && !found.IsNotFound()) failure_.Check(found, "get");
      if (!random.OneIn(200)) continue;
      const auto snapshot = has_snapshots_ ? db_->GetSnapshot() : nullptr;
      ReadOptions at;
      at.snapshot = snapshot.get();
      for (const auto& [key, text] : ScanForward(db_.get(), at)) {
        if (!IsWhole(text)) failure_.Report(key + " is torn in a scan");
      }
    }
  }

  bool has_snapshots_ = false;
};
INSTANTIATE_TEST_SUITE_P(Designs, GiveBackStressTest,
                         ::testing::Values("braid", "listdb", "zipperdb", "tlsm", "nvskiplist"));

TEST_P(GiveBackStressTest, HolesComeAndGoBesideReaders) {
  std::vector<std::thread> threads;
  threads.emplace_back([this] { Breathe(); });
  for (const uint64_t seed : {1, 2}) threads.emplace_back([this, seed] { Read(seed); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  EXPECT_GT(db_->GetStatistics().given_back_bytes, 0u);
  EXPECT_EQ(ScanForward(db_.get()).size(), kKeysOfBurst / 10);
  ExpectVerified(db_.get());
  // More than all that kept its pages.
  for (uint64_t i = 0; i < 4 * kKeysOfBurst; ++i) {
    BRAID_ASSERT_OK(db_->Put(NumberedKey(i), ValueOf(i)));
  }
  EXPECT_GT(db_->GetStatistics().holes_filled_bytes, 0u);
  EXPECT_EQ(ScanForward(db_.get()).size(), 4 * kKeysOfBurst);
}

}  // namespace
}  // namespace braid::test
