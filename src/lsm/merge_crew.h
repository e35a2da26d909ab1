// Purpose: runs the merges of one plan on the process's background threads (base/workers.h). The
// calling thread takes one task after the other, and so do helper jobs as they are scheduled.
// Thread safety: Start, Stop and Run by one thread at a time.
// Invariants:
//   1. Run waits for tasks that have been taken, never for a thread to become free.
// Persistence: none.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/workers.h"
#include "compaction/crew.h"

namespace braid::lsm {

class MergeCrew final : public compaction::Crew {
 public:
  /// Adds jobs, to run concurrently with the thread that calls Run: as many as there are other
  /// threads for them. Throws std::bad_alloc, or std::system_error.
  void Start(const std::shared_ptr<base::Workers>& workers);
  size_t helpers() const noexcept { return helpers_.size(); }
  /// That helpers can have without keeping other jobs waiting. By the thread that calls Run.
  size_t SpareThreads() const noexcept {
    return workers_ == nullptr ? 0 : workers_->SpareThreads(base::Workers::Lane::kMerge);
  }
  /// Not within Run.
  void Stop() noexcept;
  void Run(const std::vector<Task>& tasks) override;

 private:
  class Helper final : public base::Workers::Job {
   public:
    explicit Helper(MergeCrew* crew) noexcept : crew_(crew) {}

   private:
    base::Workers::Next Run() noexcept override;

    MergeCrew* const crew_;
  };

  bool RunNext() noexcept;

  std::shared_ptr<base::Workers> workers_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  base::Mutex mutex_;
  base::CondVar changed_;
  const std::vector<Task>* tasks_ BRAID_GUARDED_BY(mutex_) = nullptr;
  size_t taken_ BRAID_GUARDED_BY(mutex_) = 0;    // of the tasks
  size_t running_ BRAID_GUARDED_BY(mutex_) = 0;  // of those
};

}  // namespace braid::lsm
