// Writers that wait for the background, which shares one processor with all of them and with
// readers: they are held back, by puts and by batches, and nothing is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "braid/shared_resources.h"
#include "braid/write_batch.h"
#include "support/database.h"
#include "support/environment.h"
#include "support/one_processor.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kKeys = 4'000;
constexpr uint64_t kInABatch = 50;
/// With a race detector an entry may take longer than the slowest pace: nobody is held back then.
constexpr bool kIsSlow = kThreadSanitizer;

class PaceStressTest : public ::testing::Test {
 protected:
  enum class By : uint8_t { kPuts, kBatches, kPutsAndGets };

  void Open() {
    // Threads of its own, which are made now, and so on the one processor.
    auto made =
        SharedResources::Create({.memory_budget_bytes = 64ull << 20, .background_threads = 3});
    BRAID_ASSERT_OK(made.status());
    Options options = TinyOptions();
    options.resources = std::move(made).value();
    options.memtable.bytes = 256ull << 10;
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }

  static std::string KeyOf(By by, uint64_t i) {
    return std::to_string(static_cast<int>(by)) + NumberedKey(i);
  }
  void Write(By by) {
    for (uint64_t round = 1; !stop_.load(); ++round) {
      for (uint64_t i = 0; i < kKeys; i += by == By::kBatches ? kInABatch : 1) {
        if (by != By::kBatches) {
          BRAID_EXPECT_OK(db_->Put(KeyOf(by, i), std::to_string(round)));
        } else {
          WriteBatch batch;
          for (uint64_t j = i; j < i + kInABatch; ++j)
            batch.Put(KeyOf(by, j), std::to_string(round));
          BRAID_EXPECT_OK(db_->Write(batch));
        }
        if (by != By::kPutsAndGets) continue;
        EXPECT_EQ(GetText(db_.get(), KeyOf(by, i)), std::to_string(round));
      }
      rounds_[static_cast<size_t>(by)] = round;
    }
  }
  void Read() {
    for (uint64_t i = 0; !stop_.load(); ++i) {
      std::string value;
      const Status s = db_->Get(KeyOf(By::kPuts, i % kKeys), &value);
      EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    }
  }
  uint64_t HeldBackMicros() const {
    return db_->GetStatistics().stall_micros_by[static_cast<size_t>(StallReason::kProcessors)];
  }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
  std::atomic<bool> stop_{false};
  uint64_t rounds_[3] = {};
};

TEST_F(PaceStressTest, WritersThatAreHeldBackLoseNothing) {
  const OneProcessor one;
  if (!one.is_set()) GTEST_SKIP() << "no thread may choose its processor here";
  ASSERT_NO_FATAL_FAILURE(Open());
  std::vector<std::thread> threads;
  for (const By by : {By::kPuts, By::kBatches, By::kPutsAndGets}) {
    threads.emplace_back([this, by] { Write(by); });
  }
  threads.emplace_back([this] { Read(); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kIsSlow ? 5 : 120);
  while (HeldBackMicros() < 10'000 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop_.store(true);
  for (std::thread& thread : threads) thread.join();
  if (!kIsSlow) {
    EXPECT_GE(HeldBackMicros(), 10'000u);
  }
  for (const By by : {By::kPuts, By::kBatches, By::kPutsAndGets}) {
    const std::string newest = std::to_string(rounds_[static_cast<size_t>(by)]);
    ASSERT_NE(newest, "0");
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(GetText(db_.get(), KeyOf(by, i)), newest) << KeyOf(by, i);
    }
  }
  BRAID_EXPECT_OK(db_->Close());
}

TEST_F(PaceStressTest, AWriterIsNotHeldBackWhereNobodyReads) {
  const OneProcessor one;
  if (!one.is_set()) GTEST_SKIP() << "no thread may choose its processor here";
  ASSERT_NO_FATAL_FAILURE(Open());
  std::vector<std::thread> threads;
  for (const By by : {By::kPuts, By::kBatches}) threads.emplace_back([this, by] { Write(by); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop_.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(HeldBackMicros(), 0u);
}

}  // namespace
}  // namespace braid::test
