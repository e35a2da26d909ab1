// A writer whose tables are as large as L1, so that both are merged into a new L1 again and again,
// and readers meanwhile: each key is there, no get goes back, and what an iterator or a snapshot
// sees stays as it is.
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

constexpr uint64_t kMergedKeys = 2'000;
constexpr uint64_t kFewestFullMerges = 5;
constexpr std::chrono::milliseconds kApart{60};

class FullMergeStressTest : public ::testing::Test {
 protected:
  FullMergeStressTest() : db_(OpenOrFail(TinyOptions(), folder_.Sub("pool"))) {}

  static std::string ValueOf(uint64_t round) { return std::to_string(round) + ":value"; }
  static uint64_t RoundOf(const std::string& value) { return std::stoull(value); }
  void PutAll(uint64_t round) {
    for (uint64_t i = 0; i < kMergedKeys; ++i) {
      BRAID_ASSERT_OK(db_->Put(NumberedKey(i), ValueOf(round)));
    }
    round_.store(round);
  }
  void Get() {
    std::vector<uint64_t> seen(kMergedKeys, 0);
    for (uint64_t i = 0; !stop_.load(); i = (i + 7) % kMergedKeys) {
      const uint64_t round = RoundOf(GetText(db_.get(), NumberedKey(i)));
      EXPECT_GE(round, seen[i]) << i;
      seen[i] = round;
    }
  }
  void Scan() {
    while (!stop_.load()) {
      const uint64_t before = round_.load();
      const std::unique_ptr<Iterator> it = db_->NewIterator({});
      uint64_t count = 0;
      uint64_t last = ~0ull;
      for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) {
        const uint64_t round = RoundOf(std::string(it->value()));
        // A round goes over the keys in their order.
        EXPECT_LE(round, last) << it->key();
        EXPECT_GE(round, before) << it->key();
        last = round;
      }
      BRAID_EXPECT_OK(it->status());
      EXPECT_EQ(count, kMergedKeys);
    }
  }
  void LookBack() {
    while (!stop_.load()) {
      std::this_thread::sleep_for(kApart);  // what a snapshot needs is merged by links
      const std::shared_ptr<const Snapshot> snapshot = db_->GetSnapshot();
      std::vector<std::string> first;
      for (uint64_t i = 0; i < kMergedKeys; i += 50) {
        first.push_back(GetText(db_.get(), NumberedKey(i), snapshot.get()));
      }
      std::this_thread::sleep_for(kApart / 2);
      for (uint64_t i = 0; i < kMergedKeys; i += 50) {
        EXPECT_EQ(GetText(db_.get(), NumberedKey(i), snapshot.get()), first[i / 50]) << i;
      }
    }
  }
  uint64_t FullMerges() { return db_->GetStatistics().full_merges; }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
  std::atomic<uint64_t> round_{0};  // that was written as a whole
  std::atomic<bool> stop_{false};
};

TEST_F(FullMergeStressTest, ReadersSeeEachKeyInItsNewestVersion) {
  ASSERT_NE(db_, nullptr);
  PutAll(1);
  BRAID_ASSERT_OK(db_->Compact());
  std::vector<std::thread> readers;
  readers.emplace_back([this] { Get(); });
  readers.emplace_back([this] { Scan(); });
  readers.emplace_back([this] { LookBack(); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  uint64_t round = 1;
  while (FullMerges() < kFewestFullMerges && std::chrono::steady_clock::now() < end) {
    PutAll(++round);
    // Every other time somebody waits for the merges.
    if (round % 2 == 0) {
      BRAID_EXPECT_OK(db_->Compact());
    }
  }
  stop_.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(FullMerges(), kFewestFullMerges);
  BRAID_ASSERT_OK(db_->Compact());
  VerifyReport report;
  BRAID_EXPECT_OK(db_->Verify(&report));
  db_.reset();
  db_ = OpenOrFail(TinyOptions(), folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  for (uint64_t i = 0; i < kMergedKeys; ++i) {
    ASSERT_EQ(RoundOf(GetText(db_.get(), NumberedKey(i))), round) << i;
  }
  BRAID_EXPECT_OK(db_->Verify(&report));
}

}  // namespace
}  // namespace braid::test
