// Purpose: has the store checked while it is open (verifier.h). Thread safety, invariants,
// persistence: see lsm_engine.h.
#include "engine/lsm_engine.h"
#include "engine/verifier.h"

namespace braid::engine {

Status LsmEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  // Merges and flushes wait meanwhile, so that counts mean something; reads and writes go on.
  const std::lock_guard merge_lock(merge_mutex_);
  const Flusher::Lock flushes_held = flusher_.HoldFlushes();
  const Flusher::Lock checkpoints_held = flusher_.HoldCheckpoints();
  if (closed()) return Status::Closed();
  return VerifyAll(report, progress);
}

Status LsmEngine::VerifyAll(VerifyReport* report, const std::function<void(double)>& progress) {
  *report = VerifyReport{};
  Verifier verifier({.pool = pool_.get(),
                     .usage = &usage_,
                     .versions = &versions_,
                     .reclaimer = &reclaimer_,
                     .large_values = &large_values_,
                     .sequence = &sequence_,
                     .open_merge = &merger_.open_merge(),
                     .progress = &progress});
  if (!verifier.CheckTables([this] { return closed(); })) return Status::Closed();
  {
    // Nobody allocates or frees meanwhile: writers wait here for a moment.
    const auto reclaim_lock = reclaimer_.Hold();
    const auto batches_held = writer_.HoldBatches();
    const auto shards_held = writer_.LockShards();
    const std::unique_lock large_lock = large_values_.Hold();
    const auto chunks_held = bulk_loader_.HoldChunks();
    verifier.CheckSpace();
  }
  // The same through the read path: what a user would see, each value checked. Not where a dead
  // entry is linked: readers take it for one that a merge has just unlinked, and look again.
  if (!verifier.links_dead()) {
    const std::unique_ptr<Iterator> all = NewIterator({});
    for (all->SeekToFirst(); all->Valid(); all->Next()) ++report->live_entries;
    // Lack of memory is no damage.
    if (Status s = all->status(); s.IsCorruption()) {
      verifier.AddProblem(s);
    } else if (!s.ok()) {
      return s;
    }
  }
  return verifier.Report(report);
}

}  // namespace braid::engine
