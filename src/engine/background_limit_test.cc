#include "engine/background_limit.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/test_pool.h"

namespace {
thread_local int yields = 0;
}

/// In place of the C library's: counts.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace braid::engine {
namespace {

/// On page-cache media, where a step is charged what it says.
Options PageOptions() {
  Options options = test::PoolOfSmallChunks();
  options.pool.force_media_class = MediaClass::kPage;
  return options;
}

class BackgroundLimitTest : public ::testing::Test {
 protected:
  int YieldsOfAPause() {
    yields = 0;
    limit_.Pause(stop_);
    return yields;
  }

  test::TestPool pool_{[](pool::PmemPool*) { return Status::OK(); }, PageOptions()};
  base::Stalls stalls_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> stop_{false};
  WriterPace pace_{&stalls_};
  BackgroundLimit limit_{&pool_->ops(), &stalls_, &closed_, &pace_};
};

TEST_F(BackgroundLimitTest, AStepGivesWayUnlessItIsUrgentOrSomebodyWaitsForIt) {
  EXPECT_EQ(YieldsOfAPause(), 1);
  limit_.SetUrgent(true);
  EXPECT_EQ(YieldsOfAPause(), 0);
  limit_.SetUrgent(false);
  EXPECT_EQ(YieldsOfAPause(), 1);
  {
    const base::Stalls::Watch waiting(&stalls_, StallReason::kRoom);
    EXPECT_EQ(YieldsOfAPause(), 0);
  }
  EXPECT_EQ(YieldsOfAPause(), 1);
  closed_ = true;
  EXPECT_EQ(YieldsOfAPause(), 0);
}

TEST_F(BackgroundLimitTest, AStepThatIsPaidForWaitsUntilItIsStopped) {
  limit_.Set(1);
  limit_.Begin();
  limit_.Charge(1 << 20);
  stop_ = true;
  EXPECT_GT(limit_.Wait().count(), 0);
  EXPECT_EQ(YieldsOfAPause(), 1) << "it has not waited";
  const base::Stalls::Watch waiting(&stalls_, StallReason::kRoom);
  EXPECT_EQ(limit_.Wait().count(), 0) << "somebody waits for what it does";
}

}  // namespace
}  // namespace braid::engine
