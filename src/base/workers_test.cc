#include "base/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/futex.h"

namespace braid::base {
namespace {

using std::chrono::milliseconds;
using Lane = Workers::Lane;
using Next = Workers::Next;

/// Counts its runs; what it does is the test's.
class CountedJob final : public Workers::Job {
 public:
  explicit CountedJob(std::function<Next(int run)> work) : work_(std::move(work)) {}

  Next Run() noexcept override {
    EXPECT_FALSE(runs_now_.exchange(true)) << "two threads run it";
    const Next next = work_(runs_.fetch_add(1) + 1);
    runs_now_.store(false);
    return next;
  }
  int runs() const noexcept { return runs_.load(); }
  /// Waits until it has run so often.
  void Await(int runs) const {
    while (runs_.load() < runs) std::this_thread::sleep_for(milliseconds(1));
  }

 private:
  const std::function<Next(int)> work_;
  std::atomic<int> runs_{0};
  std::atomic<bool> runs_now_{false};
};

TEST(WorkersTest, AJobRunsAtOnceThenWhenItSaysAndWhenItIsWoken) {
  const auto workers = Workers::OfProcess();
  CountedJob job([](int run) {
    if (run < 10) return Next::Now();
    return run == 10 ? Next::After(milliseconds(5)) : Next::WhenWoken();
  });
  workers->Add(&job, Lane::kFlush);
  job.Await(11);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(job.runs(), 11);
  workers->Wake(&job);
  job.Await(12);
  workers->Remove(&job);
  workers->Wake(&job);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(job.runs(), 12);
}

TEST(WorkersTest, AWakeDuringARunIsFollowedByAnother) {
  const auto workers = Workers::OfProcess();
  std::promise<void> begun;
  std::promise<void> may_end;
  CountedJob job([&](int run) {
    if (run == 1) {
      begun.set_value();
      may_end.get_future().wait();
    }
    return Next::WhenWoken();
  });
  workers->Add(&job, Lane::kMerge);
  begun.get_future().wait();
  workers->Wake(&job);
  may_end.set_value();
  job.Await(2);
  workers->Remove(&job);
  EXPECT_EQ(job.runs(), 2);
}

TEST(WorkersTest, RemoveWaitsForTheRunUnderWay) {
  const auto workers = Workers::OfProcess();
  std::promise<void> begun;
  std::atomic<bool> ended{false};
  CountedJob job([&](int run) {
    if (run == 1) begun.set_value();
    std::this_thread::sleep_for(milliseconds(20));
    ended.store(true);
    return Next::Now();
  });
  workers->Add(&job, Lane::kSpace);
  begun.get_future().wait();
  workers->Remove(&job);
  EXPECT_TRUE(ended.load());
  const int runs = job.runs();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(job.runs(), runs);
  workers->Remove(&job);  // nothing
}

TEST(WorkersTest, ALongJobHoldsNoOtherUp) {
  const auto workers = Workers::OfProcess();
  std::promise<void> may_end;
  CountedJob lengthy([ended = may_end.get_future().share()](int) {
    ended.wait();
    return Next::WhenWoken();
  });
  workers->Add(&lengthy, Lane::kMerge);
  lengthy.Await(1);
  CountedJob brief([](int) { return Next::After(milliseconds(1)); });
  workers->Add(&brief, Lane::kMerge);
  brief.Await(1);
  workers->Wake(&brief);
  brief.Await(20);
  may_end.set_value();
  workers->Remove(&brief);
  workers->Remove(&lengthy);
}

TEST(WorkersTest, ManyJobsShareFewThreadsInTurn) {
  const auto workers = Workers::OfProcess();
  std::vector<std::unique_ptr<CountedJob>> jobs;
  for (int i = 0; i < 200; ++i) {
    jobs.push_back(std::make_unique<CountedJob>([](int) { return Next::Now(); }));
    workers->Add(jobs.back().get(), Lane::kFlush);
  }
  for (const auto& job : jobs) job->Await(50);
  EXPECT_LE(workers->threads(), Workers::most_threads());
  for (const auto& job : jobs) workers->Remove(job.get());
}

TEST(WorkersTest, AWordThatAnotherProcessChangesWakes) {
  auto word = std::make_unique<std::atomic<uint32_t>>(7);
  // As many as one thread waits for, and some more.
  std::vector<std::unique_ptr<CountedJob>> jobs;
  const auto workers = Workers::OfProcess();
  for (int i = 0; i < 300; ++i) {
    jobs.push_back(std::make_unique<CountedJob>(
        [&word](int run) { return Next::WhenWoken(word.get(), run == 1 ? 7 : 8); }));
    workers->Add(jobs.back().get(), Lane::kMerge);
  }
  for (const auto& job : jobs) job->Await(1);
  workers->Wake(jobs[0].get());
  jobs[0]->Await(2);  // 8 is awaited, but 7 is there: at once again, and again
  jobs[0]->Await(3);
  word->store(8);
  WakeWaiters(word.get(), true);
  for (const auto& job : jobs) job->Await(2);
  for (const auto& job : jobs) workers->Remove(job.get());
}

TEST(WorkersTest, WordsMayBeGoneOnceTheirJobIs) {
  const auto workers = Workers::OfProcess();
  for (int round = 0; round < 200; ++round) {
    auto word = std::make_unique<std::atomic<uint32_t>>(7);
    CountedJob job([&word](int) { return Next::WhenWoken(word.get(), 7); });
    workers->Add(&job, Lane::kMerge);
    if (round % 2 == 0) job.Await(1);
    workers->Remove(&job);
  }
}

TEST(WorkersTest, ThreadsEndWithTheLastWhoHoldsThem) {
  auto workers = Workers::OfProcess();
  EXPECT_EQ(workers, Workers::OfProcess());
  const std::weak_ptr<Workers> seen = workers;
  workers.reset();
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(Workers::OfProcess()->threads(), 0u);
}

}  // namespace
}  // namespace braid::base
