// What the concurrency tests share: options that keep flushes and merges busy, a start line for
// threads, and a place for the first failure of any thread.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "braid/db.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {

/// The first failure of any thread; the others see that they may stop.
class FirstFailure {
 public:
  void Report(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (text_.empty()) text_ = what;
    failed_.store(true, std::memory_order_release);
  }
  /// Reports when `status` is an error; true when it is ok.
  bool Check(const Status& status, const std::string& what) {
    if (!status.ok()) Report(what + ": " + status.ToString());
    return status.ok();
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::string text() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  std::atomic<bool> failed_{false};
};

/// Threads meet here again and again; they spin for a while, so that they leave as close together
/// as can be.
class SpinBarrier {
 public:
  explicit SpinBarrier(uint32_t threads) : threads_(threads) {}
  void Wait() {
    const uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_acq_rel);
      round_.notify_all();
      return;
    }
    for (uint32_t spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      // On a busy machine a thread that yields again and again is the last to run; one that sleeps
      // is woken.
      if (spins > 300) round_.wait(round, std::memory_order_acquire);
    }
  }

 private:
  const uint32_t threads_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

/// Moves this thread to the `number`-th of the processors that this process may use (modulo their
/// count) and lets it go from there: new threads otherwise tend to share one for a while and never
/// really run side by side. On a busy machine the scheduler may still move it on.
inline void SpreadOverProcessors(uint32_t number) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  uint32_t skip = number % static_cast<uint32_t>(CPU_COUNT(&allowed));
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skip-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    // A hint only: without the permission the scheduler places the thread.
    (void)::pthread_setaffinity_np(::pthread_self(), sizeof(one), &one);
    (void)::pthread_setaffinity_np(::pthread_self(), sizeof(allowed), &allowed);
    return;
  }
}

/// Flushes and compacts in a thread of its own until it is destroyed.
class BackgroundMaintenance {
 public:
  BackgroundMaintenance(DB* db, FirstFailure* failure, uint64_t seed)
      : thread_([this, db, failure, seed] {
          Random random(seed);
          while (!stop_.load(std::memory_order_acquire)) {
            const bool compact = random.OneIn(2);
            const Status status = compact ? db->Compact() : db->Flush();
            if (!failure->Check(status, compact ? "compact" : "flush")) return;
            std::this_thread::sleep_for(std::chrono::microseconds(random.Below(3000)));
          }
        }) {}
  ~BackgroundMaintenance() { Stop(); }
  void Stop() {
    stop_.store(true, std::memory_order_release);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A database for one test, with the ways to open it that matter for concurrency.
class ConcurrencyTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = GetParam();
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  /// Runs all bodies at once and waits for them; fails the test with the first failure.
  void RunThreads(const std::vector<std::function<void()>>& bodies) {
    std::vector<std::thread> threads;
    for (const auto& body : bodies) threads.emplace_back(body);
    for (std::thread& thread : threads) thread.join();
  }
  void ExpectNoFailure() {
    EXPECT_EQ(failure_.text(), "") << Describe(options_) << "\n" << ReplayLine();
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
};

/// A database of each of some designs, for threads that do one thing each.
class DesignStressTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.design = GetParam();
    Choose(&options_);
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  /// What else than tiny a test wants.
  virtual void Choose(Options* options) const = 0;

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
  std::atomic<bool> running_{true};
};

inline std::string BackgroundName(const ::testing::TestParamInfo<bool>& background) {
  return background.param ? "Background" : "Inline";
}

}  // namespace braid::test
