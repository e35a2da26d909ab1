// Purpose: the background jobs of one store, from its start to its stop: added, woken and removed
// together.
// Thread safety: Wake by any thread at any time; Start, Close and Remove by one thread at a time.
// Invariants:
//   1. A job is woken only between Start and Close, and none runs once Remove has returned.
// Persistence: none.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/workers.h"

namespace braid::base {

class JobSet {
 public:
  using Lane = Workers::Lane;
  using Jobs = std::vector<std::pair<std::unique_ptr<Workers::Job>, Lane>>;

  /// Adds `jobs` to `workers`, once `before` has run: from then on they may be woken, and run when
  /// it returns. Throws what Workers::Add throws; Remove takes away those that were added.
  template <class Before>
  void Start(const std::shared_ptr<Workers>& workers, Jobs jobs, Before&& before) {
    BRAID_CHECK(jobs_.empty());  // once
    jobs_ = std::move(jobs);
    {
      const MutexLock lock(mutex_);
      workers_ = workers;
    }
    before();
    for (const auto& [job, lane] : jobs_) workers->Add(job.get(), lane);
  }
  bool has_started() const noexcept { return !jobs_.empty(); }

  /// Nothing is woken from here on, but what runs goes on until Remove. False: nothing was started,
  /// or it was stopped before.
  bool Close() noexcept {
    const MutexLock lock(mutex_);
    closed_ = std::exchange(workers_, nullptr);
    return closed_ != nullptr;
  }
  /// After a Close that returned true. None of the jobs runs on return.
  void Remove() noexcept {
    BRAID_DCHECK(closed_ != nullptr);
    for (const auto& [job, lane] : jobs_) closed_->Remove(job.get());
    closed_ = nullptr;
  }

  /// There may be something to be done.
  void Wake() noexcept {
    const MutexLock lock(mutex_);
    if (workers_ == nullptr) return;
    for (const auto& [job, lane] : jobs_) workers_->Wake(job.get());
  }

 private:
  Mutex mutex_;
  std::shared_ptr<Workers> workers_ BRAID_GUARDED_BY(mutex_);  // null before and after
  std::shared_ptr<Workers> closed_;                            // between Close and Remove
  Jobs jobs_;  // set before workers_, and constant from then on
};

}  // namespace braid::base
