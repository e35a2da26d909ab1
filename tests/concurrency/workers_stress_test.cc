// The background threads that databases share: jobs that come, go and are woken by many threads at
// once, and databases that are opened, written to and closed beside each other.
#include "base/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/futex.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

using base::Workers;
using Next = Workers::Next;
using std::chrono::milliseconds;

/// Runs in all the ways there are, one after the other; a word wakes it, too.
class RestlessJob final : public Workers::Job {
 public:
  Next Run() noexcept override {
    if (runs_now_.exchange(true)) overlaps_.fetch_add(1);
    const Next next = Following(runs_.fetch_add(1));
    runs_now_.store(false);
    return next;
  }
  uint64_t runs() const noexcept { return runs_.load(); }
  uint64_t overlaps() const noexcept { return overlaps_.load(); }
  /// As another process does it.
  void Ask() noexcept {
    word_.fetch_add(1);
    base::WakeWaiters(&word_, true);
  }

 private:
  Next Following(uint64_t run) noexcept {
    switch (run % 4) {
      case 0:
        return Next::Now();
      case 1:
        return Next::After(milliseconds(1));
      case 2:
        return Next::WhenWoken();
      default:
        return Next::WhenWoken(&word_, word_.load());
    }
  }

  std::atomic<uint32_t> word_{0};
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> overlaps_{0};
  std::atomic<bool> runs_now_{false};
};

/// Until it has run, for half a minute at most.
void AwaitRun(const RestlessJob& job) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (job.runs() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

TEST(WorkersStressTest, JobsComeAndGoWhileOthersAreWoken) {
  constexpr size_t kJobs = 8;
  constexpr size_t kThreads = 4;
  const uint64_t rounds = std::max<uint64_t>(Sized(2'000, 200'000), 200);
  const auto workers = Workers::OfProcess();
  std::vector<std::unique_ptr<RestlessJob>> jobs;
  for (size_t i = 0; i < kJobs; ++i) jobs.push_back(std::make_unique<RestlessJob>());
  std::atomic<bool> done{false};
  std::thread waker([&] {
    for (size_t i = kThreads; i < kJobs; ++i) {
      workers->Add(jobs[i].get(), Workers::Lane::kSpace);
    }
    while (!done.load()) {
      for (const auto& job : jobs) workers->Wake(job.get());
      for (const auto& job : jobs) job->Ask();
    }
    for (size_t i = kThreads; i < kJobs; ++i) workers->Remove(jobs[i].get());
  });
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      RestlessJob& own = *jobs[thread];
      for (uint64_t round = 0; round < rounds; ++round) {
        workers->Add(&own, static_cast<Workers::Lane>(round % 3));
        for (const auto& job : jobs) workers->Wake(job.get());
        if (round % 3 == 0) std::this_thread::yield();
        workers->Remove(&own);
        const uint64_t runs = own.runs();
        workers->Wake(&own);
        EXPECT_EQ(own.runs(), runs) << "it runs after it was removed";
      }
      // On a busy machine it may have been removed before its turn each time.
      workers->Add(&own, Workers::Lane::kSpace);
      AwaitRun(own);
      workers->Remove(&own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& job : jobs) AwaitRun(*job);
  done.store(true);
  waker.join();
  for (const auto& job : jobs) {
    EXPECT_GT(job->runs(), 0u);
    EXPECT_EQ(job->overlaps(), 0u);
  }
}

TEST(WorkersStressTest, DatabasesComeAndGoBesideEachOther) {
  constexpr size_t kThreads = 3;
  const uint64_t rounds = std::max<uint64_t>(Sized(30, 1'000), 4);
  TempFolder folder;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Options options = TinyOptions();
      if (thread == 0) options.design = "nvskiplist";
      const std::string path = folder.Sub("pool" + std::to_string(thread));
      for (uint64_t round = 0; round < rounds; ++round) {
        const std::unique_ptr<DB> db = OpenOrFail(options, path);
        if (db == nullptr) return;
        for (uint64_t i = 0; i < 300; ++i) {
          BRAID_EXPECT_OK(db->Put(NumberedKey(i), std::to_string(round)));
        }
        if (round % 3 == 0) {
          BRAID_EXPECT_OK(db->Compact());
        }
        EXPECT_EQ(GetText(db.get(), NumberedKey(round % 300)), std::to_string(round));
        if (round % 2 == 0) {
          BRAID_EXPECT_OK(db->Close());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace braid::test
