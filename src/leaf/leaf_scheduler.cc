// Purpose: the background's job, and what calls have given back for them.
// Thread safety, invariants, persistence: see leaf_scheduler.h.
#include "leaf/leaf_scheduler.h"

#include <memory>
#include <utility>

#include "base/activity.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/no_throw.h"
#include "base/resources.h"
#include "base/workers.h"
#include "engine/engine.h"

namespace braid::leaf {

/// Reclaims and collects when garbage has come together; gives pages of what stays free back to the
/// file system.
class LeafScheduler::Maintenance final : public base::Workers::Job {
 public:
  explicit Maintenance(LeafScheduler* owner) : owner_(*owner) {}

  base::Workers::Next Run() noexcept override {
    if (owner_.maintenance_wanted_.exchange(false) || !has_run_) {
      base::IgnoreExceptions([&] {  // without memory it is done later
        owner_.Maintain();
        owner_.store_.pool->GrowAhead(0);
      });
    }
    has_run_ = true;
    owner_.store_.trimmer->Step(NowNanos());
    owner_.store_.share->Look(false);
    base::IgnoreExceptions([&] { owner_.store_.errors->NoteSyncError(); });
    if (owner_.store_.errors->ended() || owner_.store_.trimmer->IsSettled()) {
      return base::Workers::Next::WhenWoken();
    }
    return base::Workers::Next::After(std::chrono::milliseconds(20));
  }

 private:
  LeafScheduler& owner_;
  bool has_run_ = false;
};

void LeafScheduler::Start() {
  if (!store_.options->background_threads || store_.options->read_only) return;
  base::JobSet::Jobs jobs;
  jobs.emplace_back(std::make_unique<Maintenance>(this), base::JobSet::Lane::kMerge);
  jobs_.Start(base::WorkersOf(*store_.options), std::move(jobs), [] {});
}

void LeafScheduler::Stop() noexcept {
  if (jobs_.Close()) jobs_.Remove();
}

void LeafScheduler::Maintain() {
  const base::ActivityScope activity(base::Activity::kCollect);
  const base::WorkClock::Scope work(&work_clock_, BackgroundWork::kCollect);
  (void)store_.reclaimer->Reclaim(false);
  if (store_.collector->CollectStep(false)) (void)store_.reclaimer->Reclaim(false);
}

void LeafScheduler::GarbageIsDue() {
  if (store_.options->background_threads) {
    if (!maintenance_wanted_.load(std::memory_order_relaxed) &&
        !maintenance_wanted_.exchange(true)) {
      BRAID_DCHECK(jobs_.has_started());
      jobs_.Wake();
    }
    return;
  }
  // The write is done. What can't be given back now is given back later.
  const base::Stalls::Watch watch(store_.stalls, StallReason::kBackground);
  const Status maintained = base::CatchToStatus([&] {
    const base::MutexLock lock(mutex_);
    if (!closed()) Maintain();  // invariant 1
    if (!closed()) store_.trimmer->TrimInline();
    return Status::OK();
  });
  (void)maintained;
}

bool LeafScheduler::WaitForSpace(uint64_t reclaimed) {
  const base::Stalls::Timer timer(store_.stalls, StallReason::kFullPool);
  const base::MutexLock lock(mutex_);
  if (closed()) return false;  // invariant 1
  uint64_t before = 0;
  {
    const base::MutexHold reclaim_lock = store_.reclaimer->Hold();  // no reclaim is half done
    if (store_.reclaimer->times() != reclaimed) return true;
    before = store_.pool->free_chunks();
  }
  const Status done = base::CatchToStatus([&] {
    (void)store_.reclaimer->Reclaim(false);
    if (store_.pool->free_chunks() <= before && store_.collector->CollectStep(true)) {
      (void)store_.reclaimer->Reclaim(false);
    }
    store_.collector->MakeRoom();
    return Status::OK();
  });
  return done.ok() && (store_.pool->free_chunks() > before || store_.large_values->HasWantedRun());
}

Status LeafScheduler::Compact(const std::function<bool(double)>& progress) {
  const base::MutexLock lock(mutex_);
  if (closed()) return Status::Closed();  // invariant 1
  LeafReclaimer& reclaimer = *store_.reclaimer;
  (void)reclaimer.Reclaim(true);
  // For what is sparse now: while writers are busy there is always more.
  const size_t steps = store_.collector->SparseChunks().size();
  for (size_t done = 0; done < steps && store_.collector->CollectStep(true); ++done) {
    if (!reclaimer.Reclaim(true)) break;
    const double share = static_cast<double>(done + 1) / static_cast<double>(steps);
    if (progress && !progress(share)) return engine::CompactionCancelled();
  }
  (void)reclaimer.Reclaim(true);
  // A caller that asks for it need not wait until the space was free for long.
  if (!store_.errors->ended()) store_.trimmer->TrimAll(0);
  return Status::OK();
}

}  // namespace braid::leaf
