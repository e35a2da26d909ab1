// Purpose: does the side tasks of a store's compaction thread on one of the process's background
// threads (base/workers.h).
// Thread safety: Start and Stop by one thread at a time, all else by the compaction thread.
// Invariants: those of compaction/side_tasks.h.
// Persistence: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/work_clock.h"
#include "base/workers.h"
#include "compaction/side_tasks.h"

namespace braid::lsm {

class SideJob final : public compaction::SideTasks {
 public:
  /// `clock`: of what the background does.
  explicit SideJob(base::WorkClock* clock) noexcept : clock_(clock) {}

  /// Before any task. `ended` is called when one has ended on another thread than the caller's.
  /// Throws std::bad_alloc, or std::system_error.
  void Start(const std::shared_ptr<base::Workers>& workers, std::function<void()> ended);
  /// Waits for a task that is under way; those that were not taken yet are dropped.
  void Stop() noexcept;

  uint64_t Add(std::function<void()> task) override;
  bool HasEnded(uint64_t number) override;
  void Await(uint64_t number) override;

 private:
  class Job final : public base::Workers::Job {
   public:
    explicit Job(SideJob* owner) noexcept : owner_(owner) {}

   private:
    base::Workers::Next Run() noexcept override;

    SideJob* const owner_;
  };

  bool RunNext() noexcept;

  base::WorkClock* const clock_;
  std::shared_ptr<base::Workers> workers_;  // null before and after
  std::function<void()> ended_;
  Job job_{this};
  base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<std::function<void()>> waiting_ BRAID_GUARDED_BY(mutex_);
  uint64_t added_ BRAID_GUARDED_BY(mutex_) = 0;
  uint64_t done_ BRAID_GUARDED_BY(mutex_) = 0;
  bool is_running_ BRAID_GUARDED_BY(mutex_) = false;  // the task behind those that are done
};

}  // namespace braid::lsm
