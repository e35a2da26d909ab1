// When space is given back, and by whom.
#include "leaf/leaf_scheduler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "support/leaf_parts.h"

namespace braid::leaf {
namespace {

using format::ChunkKind;
using std::chrono::milliseconds;

class LeafSchedulerTest : public ::testing::Test {
 protected:
  /// An extent that waits to be given back.
  void RetireOne(test::LeafParts* parts) {
    parts->Put("large", std::string(20000, 'v'));
    parts->Delete("large");
    ASSERT_EQ(parts->reclaimer.RetiredExtents().size(), 1u);
  }

  test::LeafParts parts_;
};

TEST_F(LeafSchedulerTest, AWriterThatFindsNoRoomGivesBackWhatItCan) {
  RetireOne(&parts_);
  EXPECT_TRUE(parts_.scheduler.WaitForSpace(parts_.reclaimer.times()));
  EXPECT_TRUE(parts_.reclaimer.RetiredExtents().empty());
  EXPECT_FALSE(parts_.scheduler.WaitForSpace(parts_.reclaimer.times())) << "nothing is left";
}

TEST_F(LeafSchedulerTest, ItTriesAgainAtOnceWhenAnotherOneHasGivenBack) {
  const uint64_t seen = parts_.reclaimer.times();
  RetireOne(&parts_);
  ASSERT_TRUE(parts_.reclaimer.Reclaim(false));
  RetireOne(&parts_);
  EXPECT_TRUE(parts_.scheduler.WaitForSpace(seen));
  EXPECT_EQ(parts_.reclaimer.RetiredExtents().size(), 1u) << "nothing was to be done";
}

TEST_F(LeafSchedulerTest, AfterACloseNothingIsDone) {
  RetireOne(&parts_);
  parts_.closed.store(true);
  EXPECT_FALSE(parts_.scheduler.WaitForSpace(parts_.reclaimer.times()));
  EXPECT_TRUE(parts_.scheduler.Compact().IsClosed());
  parts_.scheduler.GarbageIsDue();
  EXPECT_EQ(parts_.reclaimer.RetiredExtents().size(), 1u);
}

TEST_F(LeafSchedulerTest, CallsWaitForTheOneThatHoldsIt) {
  base::MutexHold held = parts_.scheduler.Hold();
  auto compacted = std::async(std::launch::async, [&] { return parts_.scheduler.Compact(); });
  EXPECT_EQ(compacted.wait_for(milliseconds(50)), std::future_status::timeout);
  parts_.closed.store(true);
  held.unlock();
  EXPECT_TRUE(compacted.get().IsClosed());
}

TEST_F(LeafSchedulerTest, WithoutThreadsTheWriterGivesBack) {
  RetireOne(&parts_);
  parts_.scheduler.Start();  // of nothing
  parts_.scheduler.GarbageIsDue();
  EXPECT_TRUE(parts_.reclaimer.RetiredExtents().empty());
}

TEST_F(LeafSchedulerTest, WithThreadsTheBackgroundDoes) {
  test::LeafParts threaded([](Options* options) { options->background_threads = true; });
  threaded.scheduler.Start();
  for (int round = 0; round < 3; ++round) {
    {
      // The background's first turn, or the rest of the last one, may come at any moment.
      const base::MutexHold not_yet = threaded.reclaimer.Hold();
      RetireOne(&threaded);
    }
    threaded.scheduler.GarbageIsDue();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!threaded.reclaimer.RetiredExtents().empty() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(threaded.reclaimer.RetiredExtents().empty()) << round;
  }
  threaded.scheduler.Stop();
  RetireOne(&threaded);
  threaded.scheduler.GarbageIsDue();
  threaded.scheduler.Stop();
  EXPECT_EQ(threaded.reclaimer.RetiredExtents().size(), 1u) << "nobody is there any more";
}

TEST_F(LeafSchedulerTest, CompactGivesBackAllThatIsWorthIt) {
  for (int i = 0; i < 200; ++i) parts_.Put("key" + std::to_string(i), std::string(1000, 'v'));
  for (int i = 0; i < 200; ++i) {
    if (i % 10 != 0) parts_.Delete("key" + std::to_string(i));
  }
  ASSERT_GE(parts_.ChunksOf(ChunkKind::kLog), 10u);
  ASSERT_TRUE(parts_.scheduler.Compact().ok());
  EXPECT_LE(parts_.ChunksOf(ChunkKind::kLog), 4u);
  EXPECT_EQ(parts_.Get("key10").size(), 1000u);
  EXPECT_EQ(parts_.Problems(), "");
}

}  // namespace
}  // namespace braid::leaf
