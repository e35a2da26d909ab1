// Purpose: the threads that do the background work of several databases, of all of a process or of
// those that share a SharedResources: few, however many databases there are, and asleep while none
// of them has work.
// Thread safety: any thread; a job runs on one thread at a time.
// Invariants:
//   1. A job runs once more after each Wake that came after its last Run began.
//   2. After Remove a job is not touched any more.
//   3. A lane whose threads all run jobs has another one, up to most_threads(), if it has other
//      jobs: no job waits for one of another database while a processor is idle.
//   4. Jobs that are due run in the order in which they came to be so, a step each, so that each
//      database has its turn. Urgent ones go before those that have waited for less than
//      kHeadStart, and so keep nobody waiting forever.
// Persistence: none. A forked process creates its own threads and does not touch those of its
// parent.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/word_watch.h"

namespace braid::base {

class Workers {
 public:
  using Clock = std::chrono::steady_clock;
  /// What never waits for each other: a flush for a merge, or either for space that is given back.
  enum class Lane : uint8_t { kFlush, kMerge, kSpace, kCount };
  static constexpr size_t kLanes = static_cast<size_t>(Lane::kCount);
  /// Short, as each step of a database beside an urgent one may wait for so long.
  static constexpr std::chrono::milliseconds kHeadStart{50};

  /// When a job is to run again; in any case after a Wake.
  struct Next {
    enum class When : uint8_t { kNow, kAfter, kWhenWoken };
    When when = When::kNow;
    std::chrono::milliseconds after{0};
    /// With kWhenWoken: or when this word, which other processes may change, is not `seen` any
    /// more.
    const void* word = nullptr;
    uint32_t seen = 0;

    static Next Now() noexcept { return {}; }
    static Next After(std::chrono::milliseconds time) noexcept { return {When::kAfter, time}; }
    static Next WhenWoken(const void* word = nullptr, uint32_t seen = 0) noexcept {
      return {When::kWhenWoken, {}, word, seen};
    }
  };

  class Job {
   public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;
    /// One piece of its work. Not within a read section, nor with a lock held.
    virtual Next Run() noexcept = 0;
    /// Whether others wait for what it does. Asked with the lock held: some loads, no lock.
    virtual bool IsUrgent() const noexcept { return false; }

   private:
    friend class Workers;
    using Queue = std::set<std::pair<Clock::time_point, Job*>>;
    enum class State : uint8_t { kOut, kResting, kQueued, kRunning };
    // All but is_watched_, which is its thread's, under Workers::mutex_.
    State state_ = State::kOut;
    Lane lane_ = Lane::kFlush;
    bool woken_ = false;                  // since its Run began
    bool leaves_ = false;                 // Remove waits for it
    Queue::node_type node_;               // when it is not queued: so that a Wake needs no memory
    Queue::iterator place_;               // when it is
    std::chrono::milliseconds pause_{0};  // when it is queued: after which it is due
    bool is_watched_ = false;
  };

  /// Those of this process. They end with the last who holds them. Throws std::bad_alloc.
  static std::shared_ptr<Workers> OfProcess();
  /// Others, `threads` of them at most, kLanes at least: a quarter for flushes, an eighth for
  /// space, the rest for merges. Throws std::bad_alloc.
  static std::shared_ptr<Workers> WithThreads(size_t threads);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  /// Runs `job` from now on, or, if it `rests`, once it is woken. Throws std::bad_alloc, or
  /// std::system_error without a thread for it.
  void Add(Job* job, Lane lane, bool rests = false);
  /// Returns when it is not running, nor will be. Not by the job itself.
  void Remove(Job* job) noexcept;
  /// Nothing for a job that was not added, or has been removed. A lock, and no memory.
  void Wake(Job* job) noexcept;

  size_t most_threads(Lane lane) const noexcept { return most_[static_cast<size_t>(lane)]; }
  /// How many threads of a lane no job needs now, those included that were not made yet.
  size_t SpareThreads(Lane lane) const noexcept;
  /// How many there are now, those that watch words included.
  size_t threads() const noexcept;

 private:
  struct LaneState {
    Job::Queue queue;  // by the time at which they are due
    CondVar changed;
    std::vector<std::thread> threads;
    size_t idle = 0;
    size_t jobs = 0;
    size_t due = 0;      // jobs of the queue that are to run at once
    size_t running = 0;  // jobs
  };
  struct Home;
  using Limits = std::array<size_t, kLanes>;

  explicit Workers(const Limits& most);
  LaneState& LaneOf(const Job& job) noexcept BRAID_REQUIRES(mutex_) {
    return lanes_[static_cast<size_t>(job.lane_)];
  }
  void Loop(Lane lane) noexcept;
  void StartThread(Lane lane) BRAID_REQUIRES(mutex_);
  void StartThreadFor(Lane lane, size_t jobs) BRAID_REQUIRES(mutex_);
  Job* TakeOrWait(LaneState* lane) noexcept BRAID_REQUIRES(mutex_);
  void RunJob(Job* job) noexcept BRAID_REQUIRES(mutex_);
  void Enqueue(Job* job, std::chrono::milliseconds pause) noexcept BRAID_REQUIRES(mutex_);
  void Dequeue(Job* job) noexcept BRAID_REQUIRES(mutex_);

  const Limits most_;
  mutable Mutex mutex_;
  std::array<LaneState, kLanes> lanes_ BRAID_GUARDED_BY(mutex_);
  CondVar left_;  // a job that leaves_ has ended its Run
  bool stopping_ BRAID_GUARDED_BY(mutex_) = false;
  // Its lock may be held when mutex_ is taken, not the other way round.
  WordWatch watch_;
};

}  // namespace braid::base
