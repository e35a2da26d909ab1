#include "base/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
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
  EXPECT_LE(workers->threads(), workers->most_threads(Lane::kFlush));
  for (const auto& job : jobs) workers->Remove(job.get());
}

/// Does nothing else until it may end; then those that were added run.
class Obstacle {
 public:
  Obstacle(Workers* workers, Lane lane) : workers_(workers) {
    workers_->Add(&job_, lane);
    job_.Await(1);
  }
  ~Obstacle() { workers_->Remove(&job_); }
  void End() { may_end_.set_value(); }

 private:
  Workers* const workers_;
  std::promise<void> may_end_;
  CountedJob job_{[this](int) {
    may_end_.get_future().wait();
    return Next::WhenWoken();
  }};
};

TEST(WorkersTest, ThoseWithALimitKeepToIt) {
  for (const size_t threads : {3u, 4u, 8u, 20u}) {
    const auto workers = Workers::WithThreads(threads);
    EXPECT_EQ(workers->most_threads(Lane::kFlush) + workers->most_threads(Lane::kMerge) +
                  workers->most_threads(Lane::kSpace),
              threads);
    std::vector<std::unique_ptr<CountedJob>> jobs;
    for (int i = 0; i < 60; ++i) {
      jobs.push_back(std::make_unique<CountedJob>([](int) { return Next::Now(); }));
      workers->Add(jobs.back().get(), static_cast<Lane>(i % 3));
    }
    for (const auto& job : jobs) job->Await(20);
    EXPECT_LE(workers->threads(), threads);
    EXPECT_GE(workers->threads(), 3u);
    for (const auto& job : jobs) workers->Remove(job.get());
  }
}

/// Writes its name down when it runs.
class NamedJob final : public Workers::Job {
 public:
  NamedJob(char name, bool urgent, Mutex* mutex, std::string* order)
      : name_(name), urgent_(urgent), mutex_(*mutex), order_(*order) {}
  Next Run() noexcept override {
    const MutexLock lock(mutex_);
    order_ += name_;
    return Next::WhenWoken();
  }
  bool IsUrgent() const noexcept override { return urgent_; }

 private:
  const char name_;
  const bool urgent_;
  Mutex& mutex_;
  std::string& order_;
};

TEST(WorkersTest, AnUrgentJobGoesFirstButNotForEver) {
  const auto workers = Workers::WithThreads(3);
  Mutex mutex;
  std::string order;
  Obstacle obstacle(workers.get(), Lane::kMerge);
  const auto begin = Workers::Clock::now();
  NamedJob waits('w', false, &mutex, &order);
  NamedJob second('s', false, &mutex, &order);
  NamedJob urgent('u', true, &mutex, &order);
  NamedJob late('l', true, &mutex, &order);
  workers->Add(&waits, Lane::kMerge);
  workers->Add(&second, Lane::kMerge);
  workers->Add(&urgent, Lane::kMerge);
  const bool is_slow = Workers::Clock::now() - begin > Workers::kHeadStart / 2;
  // Now the first two have waited for longer than what comes is ahead of.
  std::this_thread::sleep_for(Workers::kHeadStart + milliseconds(100));
  workers->Add(&late, Lane::kMerge);
  obstacle.End();
  for (size_t runs = 0; runs < 4;) {
    std::this_thread::sleep_for(milliseconds(1));
    const MutexLock lock(mutex);
    runs = order.size();
  }
  for (NamedJob* job : {&waits, &second, &urgent, &late}) workers->Remove(job);
  if (is_slow) GTEST_SKIP() << "the machine is too busy to add three jobs in time";
  EXPECT_EQ(order, "uwsl");
}

TEST(WorkersTest, ThreadsThatOtherJobsNeedAreNotSpare) {
  const auto workers = Workers::WithThreads(8);
  const size_t most = workers->most_threads(Lane::kMerge);
  ASSERT_EQ(most, 5u);
  EXPECT_EQ(workers->SpareThreads(Lane::kMerge), most) << "they are made when they are needed";
  CountedJob rests([](int) { return Next::WhenWoken(); });
  workers->Add(&rests, Lane::kMerge, true);
  EXPECT_EQ(workers->SpareThreads(Lane::kMerge), most);
  EXPECT_EQ(rests.runs(), 0);
  std::vector<std::unique_ptr<Obstacle>> obstacles;
  for (size_t i = 1; i <= most; ++i) {
    obstacles.push_back(std::make_unique<Obstacle>(workers.get(), Lane::kMerge));
    EXPECT_EQ(workers->SpareThreads(Lane::kMerge), most - i);
  }
  workers->Wake(&rests);
  EXPECT_EQ(workers->SpareThreads(Lane::kMerge), 0u);
  for (const auto& obstacle : obstacles) obstacle->End();
  rests.Await(1);
  obstacles.clear();
  workers->Remove(&rests);
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
