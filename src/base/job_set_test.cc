// Jobs that are started, woken and taken away together.
#include "base/job_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace braid::base {
namespace {

class CountingJob final : public Workers::Job {
 public:
  explicit CountingJob(std::atomic<int>* runs) : runs_(runs) {}
  Workers::Next Run() noexcept override {
    runs_->fetch_add(1);
    return Workers::Next::WhenWoken();
  }

 private:
  std::atomic<int>* runs_;
};

class JobSetTest : public ::testing::Test {
 protected:
  void Start() {
    JobSet::Jobs jobs;
    jobs.emplace_back(std::make_unique<CountingJob>(&flushes_), JobSet::Lane::kFlush);
    jobs.emplace_back(std::make_unique<CountingJob>(&merges_), JobSet::Lane::kMerge);
    set_.Start(Workers::OfProcess(), std::move(jobs), [this] {
      EXPECT_EQ(flushes_.load() + merges_.load(), 0) << "nothing runs yet";
      set_.Wake();  // of a job that is not there yet: nothing
    });
  }
  static void AwaitMoreThan(const std::atomic<int>& runs, int before) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (runs.load() <= before && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GT(runs.load(), before);
  }

  std::atomic<int> flushes_{0};
  std::atomic<int> merges_{0};
  JobSet set_;
};

TEST_F(JobSetTest, AllAreWokenTogetherUntilTheyAreClosed) {
  Start();
  EXPECT_TRUE(set_.has_started());
  AwaitMoreThan(flushes_, 0);
  AwaitMoreThan(merges_, 0);
  const int flushes = flushes_.load();
  const int merges = merges_.load();
  set_.Wake();
  AwaitMoreThan(flushes_, flushes);
  AwaitMoreThan(merges_, merges);
  ASSERT_TRUE(set_.Close());
  set_.Remove();
  const int last = flushes_.load() + merges_.load();
  set_.Wake();
  EXPECT_FALSE(set_.Close()) << "it is closed";
  EXPECT_EQ(flushes_.load() + merges_.load(), last);
}

TEST_F(JobSetTest, WhatWasNotStartedNeedsNoStop) {
  set_.Wake();
  EXPECT_FALSE(set_.has_started());
  EXPECT_FALSE(set_.Close());
}

}  // namespace
}  // namespace braid::base
