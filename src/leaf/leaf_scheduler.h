// Purpose: when space is given back, and by which thread: after writes, in the background or by the
// writer itself; for a write that finds no room; when a user asks.
// Thread safety: any thread; Start and Stop by one.
// Locks: that of Hold() before all others of the store. Without mutexes, and not inside an
// EpochGuard.
// Invariants:
//   1. What works on the pool outside of a read section holds Hold(), and then looks whether the
//      store is closed: a close sets that under the same lock. The background's job is not under
//      it, and ends in Stop.
// Persistence: none of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/job_set.h"
#include "base/mutex.h"
#include "base/shared_budget.h"
#include "base/stalls.h"
#include "base/work_clock.h"
#include "braid/options.h"
#include "engine/write_errors.h"
#include "leaf/leaf_collector.h"
#include "leaf/leaf_reclaimer.h"
#include "pool/pool.h"
#include "space/large_values.h"
#include "space/trimmer.h"

namespace braid::leaf {

class LeafScheduler {
 public:
  /// What is worked on, and outlives the scheduler.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    const std::atomic<bool>* closed;
    engine::WriteErrors* errors;
    space::LargeValues* large_values;
    base::Stalls* stalls;
    LeafReclaimer* reclaimer;
    LeafCollector* collector;
    space::Trimmer* trimmer;
    base::SharedBudget::Share* share;
  };

  explicit LeafScheduler(const Store& store) : store_(store) {}
  LeafScheduler(const LeafScheduler&) = delete;
  LeafScheduler& operator=(const LeafScheduler&) = delete;

  /// The background's job is there from now on, where there are threads for it. Throws
  /// std::bad_alloc, or std::system_error.
  void Start();
  /// The job does not run any more, nor will it. Again: nothing.
  void Stop() noexcept;
  /// Invariant 1.
  base::MutexHold Hold() { return base::MutexHold(mutex_); }

  /// After a write, where LeafReclaimer::IsDue.
  void GarbageIsDue();
  /// After a full pool: gives back what can be. True when there is room again, as there is at once
  /// when another thread has given some back since the attempt. `reclaimed`, by
  /// LeafReclaimer::times, is from before that.
  bool WaitForSpace(uint64_t reclaimed);
  /// Gives back all that is worth it. `progress` may be empty (CompactOptions). Errors: Closed,
  /// Aborted.
  Status Compact(const std::function<bool(double)>& progress = {});

  void Fill(Statistics* statistics) const { work_clock_.Fill(statistics); }

 private:
  class Maintenance;
  bool closed() const noexcept { return store_.closed->load(std::memory_order_acquire); }
  void Maintain();

  const Store store_;
  base::WorkClock work_clock_;
  base::Mutex mutex_;
  std::atomic<bool> maintenance_wanted_{false};
  base::JobSet jobs_;
};

}  // namespace braid::leaf
