// Tasks beside the compaction thread: in their order, on another thread or on that of who waits.
#include "lsm/side_job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace braid::lsm {
namespace {

class SideJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    workers_ = base::Workers::WithThreads(base::Workers::kLanes);  // one a lane
    job_.Start(workers_, [this] { ++ends_; });
  }
  void TearDown() override { job_.Stop(); }

  base::WorkClock clock_;
  std::shared_ptr<base::Workers> workers_;
  SideJob job_{&clock_};
  std::atomic<uint64_t> ends_{0};
};

TEST_F(SideJobTest, TasksAreDoneInTheirOrder) {
  std::vector<int> done;  // one at a time, so without a lock
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) last = job_.Add([&done, i] { done.push_back(i); });
  EXPECT_EQ(last, 100u);
  job_.Await(last);
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  EXPECT_TRUE(job_.HasEnded(1));
  EXPECT_TRUE(job_.HasEnded(last));
}

TEST_F(SideJobTest, AThreadDoesThemUnasked) {
  std::atomic<bool> done{false};
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id there = here;
  const uint64_t number = job_.Add([&] {
    there = std::this_thread::get_id();
    done.store(true);
  });
  while (!job_.HasEnded(number)) std::this_thread::yield();
  EXPECT_TRUE(done.load());
  EXPECT_NE(there, here);
  while (ends_.load() == 0) std::this_thread::yield();  // told behind the task
  EXPECT_EQ(ends_.load(), 1u);
}

/// Occupies the only thread of merges.
class Blocker final : public base::Workers::Job {
 public:
  std::atomic<bool> runs{false};
  std::atomic<bool> go_on{false};

 private:
  base::Workers::Next Run() noexcept override {
    runs.store(true);
    while (!go_on.load()) std::this_thread::yield();
    return base::Workers::Next::WhenWoken();
  }
};

TEST_F(SideJobTest, WhoWaitsDoesWhatNoThreadIsFreeFor) {
  Blocker blocker;
  workers_->Add(&blocker, base::Workers::Lane::kMerge);
  while (!blocker.runs.load()) std::this_thread::yield();
  std::thread::id there;
  job_.Await(job_.Add([&] { there = std::this_thread::get_id(); }));
  EXPECT_EQ(there, std::this_thread::get_id());
  blocker.go_on.store(true);
  workers_->Remove(&blocker);
}

TEST_F(SideJobTest, AStopDropsWhatWasNotBegun) {
  Blocker blocker;
  workers_->Add(&blocker, base::Workers::Lane::kMerge);
  while (!blocker.runs.load()) std::this_thread::yield();
  bool done = false;
  job_.Add([&] { done = true; });
  job_.Stop();
  blocker.go_on.store(true);
  workers_->Remove(&blocker);
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace braid::lsm
