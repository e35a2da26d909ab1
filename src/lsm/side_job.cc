// Purpose: side tasks on a thread of merges.
// Thread safety, invariants, persistence: see side_job.h.
#include "lsm/side_job.h"

#include <utility>

#include "base/check.h"

namespace braid::lsm {

base::Workers::Next SideJob::Job::Run() noexcept {
  for (;;) {
    bool ran = false;
    {
      const base::WorkClock::Scope work(owner_->clock_, BackgroundWork::kMerge);
      ran = owner_->RunNext();
    }
    if (!ran) return base::Workers::Next::WhenWoken();
    owner_->ended_();
  }
}

void SideJob::Start(const std::shared_ptr<base::Workers>& workers, std::function<void()> ended) {
  BRAID_DCHECK(workers != nullptr && workers_ == nullptr);
  ended_ = std::move(ended);
  workers->Add(&job_, base::Workers::Lane::kMerge, true);
  workers_ = workers;
}

void SideJob::Stop() noexcept {
  if (workers_ == nullptr) return;
  workers_->Remove(&job_);
  workers_ = nullptr;
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(!is_running_);  // Remove has waited
}

uint64_t SideJob::Add(std::function<void()> task) {
  BRAID_DCHECK(workers_ != nullptr);
  uint64_t number = 0;
  {
    const base::MutexLock lock(mutex_);
    waiting_.push_back(std::move(task));
    number = ++added_;
  }
  workers_->Wake(&job_);
  return number;
}

bool SideJob::HasEnded(uint64_t number) {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(number <= added_);
  return number <= done_;
}

void SideJob::Await(uint64_t number) {
  while (!HasEnded(number)) {
    if (RunNext()) continue;
    const base::MutexLock lock(mutex_);
    if (is_running_) changed_.Wait(mutex_);
  }
}

/// False: another thread runs one, or none is left.
bool SideJob::RunNext() noexcept {
  std::function<void()> task;
  {
    const base::MutexLock lock(mutex_);
    if (is_running_ || waiting_.empty()) return false;
    task = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    is_running_ = true;
  }
  task();
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(is_running_ && done_ < added_);
  is_running_ = false;
  ++done_;
  changed_.NotifyAll();
  return true;
}

}  // namespace braid::lsm
