// Purpose: merges of one plan on several threads.
// Thread safety, invariant, persistence: see merge_crew.h.
#include "lsm/merge_crew.h"

#include <algorithm>

#include "base/check.h"
#include "format/manifest.h"

namespace braid::lsm {

base::Workers::Next MergeCrew::Helper::Run() noexcept {
  while (crew_->RunNext()) {
  }
  return base::Workers::Next::WhenWoken();
}

void MergeCrew::Start(const std::shared_ptr<base::Workers>& workers) {
  constexpr auto kLane = base::Workers::Lane::kMerge;
  BRAID_DCHECK(workers != nullptr);
  workers_ = workers;
  const size_t most = std::min<size_t>(workers->most_threads(kLane), format::kMaxMerges);
  while (helpers_.size() + 1 < most) {
    helpers_.push_back(std::make_unique<Helper>(this));
    workers_->Add(helpers_.back().get(), kLane, true);
  }
}

void MergeCrew::Stop() noexcept {
  for (const auto& helper : helpers_) workers_->Remove(helper.get());
  helpers_.clear();
  workers_ = nullptr;
}

void MergeCrew::Run(const std::vector<Task>& tasks) {
  if (helpers_.empty()) return compaction::TurnTakers().Run(tasks);
  {
    const base::MutexLock lock(mutex_);
    BRAID_DCHECK(tasks_ == nullptr && running_ == 0);
    tasks_ = &tasks;
    taken_ = 0;
  }
  for (const auto& helper : helpers_) workers_->Wake(helper.get());
  while (RunNext()) {
  }
  const base::MutexLock lock(mutex_);
  while (running_ != 0) changed_.Wait(mutex_);
  BRAID_DCHECK(taken_ == tasks.size());  // all are at their end
  tasks_ = nullptr;
}

/// Takes a task to its end. False: there are none left.
bool MergeCrew::RunNext() noexcept {
  const Task* task = nullptr;
  {
    const base::MutexLock lock(mutex_);
    if (tasks_ == nullptr || taken_ == tasks_->size()) return false;
    task = &(*tasks_)[taken_++];
    ++running_;
  }
  while ((*task)()) {
  }
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(tasks_ != nullptr && running_ > 0);  // Run waits for this one
  --running_;
  changed_.NotifyAll();
  return true;
}

}  // namespace braid::lsm
