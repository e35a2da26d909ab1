// A pool that is filled to the last chunk and emptied again, a thousand times: nothing is lost,
// nothing grows.
#include <malloc.h>

#include <chrono>
#include <functional>
#include <thread>

#include "fake_clock.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class FullPoolCyclesTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = GetParam();
    options_.pool.initial_bytes = 1ull << 20;
    options_.pool.max_bytes = 2ull << 20;
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }

  /// Puts until OutOfSpace. The order of the keys and the sizes differ from cycle to cycle.
  void Fill(uint64_t cycle, Random* random) {
    const size_t bytes = 200 + random->Below(3000);
    for (uint64_t i = 0;; ++i) {
      ASSERT_LT(i, 100'000u) << "the pool is never full";
      const std::string key = NumberedKey(i * 7919 % 100'003);
      std::string value = std::to_string(cycle) + ":" + std::to_string(i) + ":";
      value.resize(bytes, 'v');
      const Status status = db_->Put(key, value);
      if (!status.ok()) {
        ASSERT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
        return;
      }
      model_[key] = std::move(value);
    }
  }

  /// Reads and deletes go on in a full pool. A few keys stay.
  void Empty(Random* random) {
    for (auto it = model_.begin(); it != model_.end();) {
      if (random->OneIn(20)) {
        ASSERT_EQ(GetText(db_.get(), it->first), it->second);
        ++it;
        continue;
      }
      ASSERT_TRUE(IsOk(db_->Delete(it->first)));
      it = model_.erase(it);
    }
    if (random->OneIn(2)) {
      BRAID_ASSERT_OK(db_->Compact());
    }
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  Model model_;
};
INSTANTIATE_TEST_SUITE_P(Faults, FullPoolCyclesTest, ::testing::Bool(), [](const auto& threads) {
  return std::string(threads.param ? "Threads" : "Inline");
});

// The background gives back what there is just when a write has found nothing and is about to wait
// for it: that was not in vain.
TEST_P(FullPoolCyclesTest, RoomThatComesBeforeTheWaitForItIsFound) {
  const std::string value(900, 'v');
  uint64_t puts = 0;
  // Holds all that dies from here on.
  std::unique_ptr<Iterator> reader = db_->NewIterator({});
  Status status;
  for (; status.ok() && puts < 100'000; ++puts) status = db_->Put(NumberedKey(puts % 200), value);
  ASSERT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
  std::function<void()> give_back = [&] {
    const uint64_t used = db_->GetStatistics().pool_used_bytes;
    reader.reset();
    while (GetParam() && db_->GetStatistics().pool_used_bytes == used) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  at_next_look = &give_back;
  BRAID_EXPECT_OK(db_->Put("more", value));
  at_next_look = nullptr;
}

TEST_P(FullPoolCyclesTest, KeepTheirContentAndTakeNoMoreSpaceOrMemory) {
  Random random(DeriveSeed(GetParam() ? 2 : 1));
  const uint64_t cycles = Sized(1'000, 10'000);
  uint64_t pool_bytes = 0;
  size_t heap_bytes = 0;
  size_t fewest = SIZE_MAX;
  for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle) + ", " + ReplayLine());
    Fill(cycle, &random);
    if (HasFatalFailure()) return;
    size_t live = 0;
    for (const auto& [key, value] : model_) live += value.size();
    fewest = std::min(fewest, live);
    ASSERT_TRUE(cycle % 10 != 0 || SamePairs(ScanForward(db_.get()), model_));
    Empty(&random);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(SamePairs(ScanForward(db_.get()), model_));
    const Statistics now = db_->GetStatistics();
    EXPECT_LE(now.pool_bytes, options_.pool.max_bytes);
    if (cycle == cycles / 4) {
      pool_bytes = now.pool_bytes;
      heap_bytes = ::mallinfo2().uordblks;
    }
  }
  EXPECT_GT(fewest, options_.pool.max_bytes / 4) << "a full pool held too little";
  EXPECT_EQ(db_->GetStatistics().pool_bytes, pool_bytes);
  if (!kSanitizer) {
    EXPECT_LT(::mallinfo2().uordblks, heap_bytes + (2u << 20));
  }
  ExpectVerified(db_.get());
  BRAID_ASSERT_OK(db_->Close());
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
}

}  // namespace
}  // namespace braid::test
