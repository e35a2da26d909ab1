// Purpose: what writes and bulk loads want done by the store: sealing memtables, syncing, waiting
// for space.
// Thread safety, invariants, persistence: see lsm_engine.h.
#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

Status LsmEngine::WhyEnded() const {
  if (closed()) return Status::Closed();
  return medium_failed() ? MediumStatus() : errors_.failure();
}

void LsmEngine::SealFull(const LoggedMemTable* full) {
  const CallGate::Call call(&calls_);
  if (call.entered()) SealActive(full);
}

/// Puts an empty memtable in the place of `expected` (null: of whatever is active, unless empty).
void LsmEngine::SealActive(const LoggedMemTable* expected) {
  {
    const auto batches_held = writer_.HoldBatchesWatched();
    const VersionSet::Locked versions = versions_.LockWatched(controller_.stalls());
    const ReadState& current = versions.state();
    if (expected != nullptr && current.active.get() != expected) return;
    if (current.active->table->entries() == 0) return;
    // The writers wait in Admit until there is room again; those past it write a little more here.
    if (expected != nullptr && current.immutables.size() >= options_.memtable.max_immutable) {
      if (!errors_.blocked()) {
        controller_.Update(current.version->l0.size(), current.immutables.size(), true);
      }
      return;
    }
    NextState next = versions.Next();
    next.Seal(NewMemTable(versions.NewTableId()));
    current.active->table->Advance(memtable::State::kSealed);
    current.active->sealed.store(true);
    versions.Show(std::move(next));
  }
  if (options_.background_threads) {
    Wake();
  } else {
    const Stalls::Watch watch(controller_.stalls(), StallReason::kBackground);
    RunInline();
  }
}

Status LsmEngine::Sync() {
  const Stalls::Asked asked;
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  return syncs_.Run([this] {
    counters_.Add(EngineCounter::kSyncs);
    Status s = BRAID_MUTANT(kSyncPutNotSynced) ? Status::OK() : pool_->media().Sync();
    if (!s.ok()) Fail(s);  // the medium gives the same error to all who sync after this
    return s;
  });
}

/// After a full pool: lets the background give back what it can. True when there is room again, as
/// there is at once when another thread has given some back since the attempt.
bool LsmEngine::WaitForSpace(uint64_t reclaimed) {
  const Stalls::Timer timer(controller_.stalls(), StallReason::kFullPool);
  const CallGate::Call call(&calls_);
  if (!call.entered()) return false;
  // What is free is counted between two steps of the background: one under way may hold most of it
  // for copies that it gives back. And without the reserve, which a flush of copied logs makes
  // smaller.
  int64_t before = 0;
  if (reclaimer_.times() == reclaimed) {
    const std::lock_guard merge_lock(merge_mutex_);
    const auto reclaim_lock = reclaimer_.Hold();
    before = pool_->spare_chunks();
  }
  if (reclaimer_.times() != reclaimed) return true;
  SealActive(nullptr);
  if (Status s = WaitUntilIdle(true); !s.ok()) return false;
  if (Status s = Checkpoint(); !s.ok()) return false;
  while (Guarded(&LsmEngine::Reclaim)) {
  }
  const std::lock_guard merge_lock(merge_mutex_);
  return pool_->spare_chunks() > before || large_values_.HasWantedRun();
}

Status LsmEngine::Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  if (Status blocked = errors_.block_reason(); !blocked.ok()) return blocked;
  return bulk_loader_.Load(source, options, report);
}

Status LsmEngine::WhyNot() const {
  return closed() || failed() || medium_failed() ? WhyEnded() : Status::OK();
}

Status LsmEngine::FlushMemTables() {
  SealActive(nullptr);
  if (Status s = WaitUntilIdle(false); !s.ok()) return s;
  if (Status s = WhyNot(); !s.ok()) return s;
  return errors_.block_reason();
}

void LsmEngine::LetWork(bool wait) {
  if (!options_.background_threads) return RunInline();
  Wake();
  if (!wait) return;
  bool looked = false;
  requests_.Wait([&looked] { return std::exchange(looked, true); });
}

}  // namespace braid::engine
