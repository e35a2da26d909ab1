// Purpose: the background jobs of a store, which the process's threads run (base/workers.h):
// flushes, merges with all work after them, and space; and when each is polled again. While there
// is work, every few milliseconds; in an idle store never, so that a process may have many stores.
// Thread safety: each job is one thread's at a time.
// Invariants:
//   1. A job sleeps only if everything that makes work for it wakes it: a write, by WakeSleepers;
//      all else, by Wake.
// Persistence: none.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/function_ref.h"
#include "base/recent_sum.h"
#include "base/workers.h"
#include "lsm/scheduler.h"

namespace braid::lsm {

class Scheduler::BackgroundJob : public base::Workers::Job {
 public:
  explicit BackgroundJob(Scheduler* scheduler) : scheduler_(scheduler) {}
  base::Workers::Next Run() noexcept final;
  bool IsUrgent() const noexcept final;

 protected:
  using Next = base::Workers::Next;

  virtual Next Step() = 0;
  /// After a step that did nothing. While `is_idle`, nothing is left to be done, either, the job
  /// rests once nothing was written for a while, until it is woken or `word` changes.
  Next Pause(base::FunctionRef<bool()> is_idle, std::chrono::milliseconds look_again,
             const void* word = nullptr, uint32_t seen = 0);

  /// Whether nothing was written or done, nor left to be done, for so long.
  bool HasBeenStill(uint64_t nanos) const noexcept;

  Scheduler& scheduler() const noexcept { return *scheduler_; }

 private:
  bool HasRested(bool idle);

  Scheduler* const scheduler_;
  bool rests_ = false;   // counted in asleep_
  uint64_t writes_ = 0;  // when the last step ended
  uint64_t since_ = 0;   // when the store came to rest; 0: it has not
};

/// Turns immutable memtables into tables.
class Scheduler::FlushWork final : public BackgroundJob {
 public:
  using BackgroundJob::BackgroundJob;

 private:
  Next Step() override;
};

/// Merges, indexes, reclusters, collects; answers concurrent reader processes.
class Scheduler::CompactionWork final : public BackgroundJob {
 public:
  using BackgroundJob::BackgroundJob;

 private:
  Next Step() override;
};

/// Gives space back, and has some ready before it is asked for.
class Scheduler::SpaceWork final : public BackgroundJob {
 public:
  explicit SpaceWork(Scheduler* scheduler);

 private:
  Next Step() override;
  bool Prefault();

  const size_t blocks_;    // of DRAM that are kept ready
  base::RecentSum taken_;  // chunks
  uint64_t touched_ = 0;   // bytes of the pool whose pages were touched
};

}  // namespace braid::lsm
