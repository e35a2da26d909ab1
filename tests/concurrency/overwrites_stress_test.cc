// Writers who overwrite everything again and again, so that tables wait until newer ones have all
// that they hold, and go without a merge: what is newest stays, and what snapshots see does.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kOverwritten = 1'500;
constexpr uint64_t kOverwriters = 2;
/// Of an entry but its value, about.
constexpr uint64_t kEntryBytes = 64;
/// Longer than a table waits behind the last read.
constexpr milliseconds kQuiet{800};

class OverwritesStressTest : public ::testing::Test {
 protected:
  void Open(uint64_t value_bytes) {
    Options options = TinyOptions();
    // A round takes two tables or three: however fast merges are, a table that waits is overwritten
    // by those that it waits for.
    options.memtable.bytes = kOverwritten * (value_bytes + kEntryBytes) / 2;
    value_bytes_ = value_bytes;
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  std::string ValueOf(uint64_t round) const {
    std::string value = std::to_string(round) + ":";
    value.resize(value_bytes_, 'v');
    return value;
  }
  static uint64_t RoundOf(const std::string& value) { return std::stoull(value); }
  /// Round by round, in the order of its keys; some are deleted and come back.
  void Write(uint64_t writer) {
    for (uint64_t round = 1; !stop_.load(); ++round) {
      for (uint64_t i = writer; i < kOverwritten; i += kOverwriters) {
        if (i % 7 == 0) {
          BRAID_EXPECT_OK(db_->Delete(NumberedKey(i)));
        }
        BRAID_EXPECT_OK(db_->Put(NumberedKey(i), ValueOf(round)));
      }
      rounds_[writer] = round;
    }
  }
  /// What a snapshot sees is of one moment, and the same later on.
  void LookBack() {
    while (!stop_.load()) {
      std::this_thread::sleep_for(kQuiet);
      const std::shared_ptr<const Snapshot> snapshot = db_->GetSnapshot();
      const std::vector<uint64_t> first = RoundsOf(*snapshot);
      std::this_thread::sleep_for(kQuiet / 8);
      EXPECT_EQ(RoundsOf(*snapshot), first);
      for (uint64_t i = kOverwriters; i < kOverwritten; ++i) {
        // One that was being put again is missing.
        if (first[i] == 0 || first[i - kOverwriters] == 0) continue;
        EXPECT_LE(first[i], first[i - kOverwriters]) << i;
        EXPECT_LE(first[i - kOverwriters], first[i] + 1) << i;
      }
    }
  }
  /// 0 where there is no key.
  std::vector<uint64_t> RoundsOf(const Snapshot& snapshot) {
    std::vector<uint64_t> rounds(kOverwritten, 0);
    ReadOptions options;
    options.snapshot = &snapshot;
    const std::unique_ptr<Iterator> iterator = db_->NewIterator(options);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      const uint64_t i = std::stoull(std::string(iterator->key()).substr(3));
      rounds.at(i) = RoundOf(std::string(iterator->value()));
    }
    BRAID_EXPECT_OK(iterator->status());
    return rounds;
  }
  void Run(uint64_t value_bytes) {
    ASSERT_NO_FATAL_FAILURE(Open(value_bytes));
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kOverwriters; ++i) threads.emplace_back([this, i] { Write(i); });
    threads.emplace_back([this] { LookBack(); });
    const auto began = std::chrono::steady_clock::now();
    const auto ran = [&] { return std::chrono::steady_clock::now() - began; };
    while (ran() < 3 * kQuiet ||
           (db_->GetStatistics().overwritten_tables == 0 && ran() < std::chrono::seconds(60))) {
      std::this_thread::sleep_for(kQuiet / 20);
    }
    stop_.store(true);
    for (std::thread& thread : threads) thread.join();
    const Statistics statistics = db_->GetStatistics();
    EXPECT_GT(statistics.overwritten_tables, 0u)
        << statistics.flushes << " flushes of " << statistics.flushed_entries << " entries, "
        << statistics.merges << " merges, rounds " << rounds_[0] << ", " << rounds_[1];
    ExpectNewest();
    db_.reset();
    db_ = OpenOrFail(TinyOptions(), folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
    ExpectNewest();
    VerifyReport report;
    BRAID_EXPECT_OK(db_->Verify(&report));
    BRAID_EXPECT_OK(db_->Close());
  }
  void ExpectNewest() {
    for (uint64_t i = 0; i < kOverwritten; ++i) {
      EXPECT_EQ(RoundOf(GetText(db_.get(), NumberedKey(i))), rounds_[i % kOverwriters]) << i;
    }
  }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
  uint64_t value_bytes_ = 0;
  std::atomic<bool> stop_{false};
  uint64_t rounds_[kOverwriters] = {};
};

TEST_F(OverwritesStressTest, SmallValuesThatFlushesCopy) { Run(20); }

TEST_F(OverwritesStressTest, LargeValuesThatFlushesLink) { Run(500); }

}  // namespace
}  // namespace braid::test
