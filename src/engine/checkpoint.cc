// Purpose: checkpoints of groups of L0 tables (flush.checkpoint_tables above 1). Readers use a
// table as soon as it is linked; the manifest learns of it with its group. When: a group is
// complete, the oldest table of L0 is to be merged, somebody asks for all to be durable or for
// space. Thread safety, invariants, persistence: see lsm_engine.h and flush/checkpoint.h.
#include <algorithm>

#include "base/activity.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

Status LsmEngine::Checkpoint() {
  const std::lock_guard checkpoint_lock(checkpoint_mutex_);
  // Close, too, checkpoints: what stopped the store is the answer, not that it is closed.
  if (medium_failed()) return MediumStatus();
  if (failed()) return background_error();
  const Status s = base::NoThrow([&] { return CommitWaiting(); });
  if (!s.ok()) Fail(s);
  return s;
}

Status LsmEngine::CommitWaiting() {
  std::vector<const flush::WaitingTable*> group;
  {
    const std::lock_guard lock(structure_mutex_);
    for (const flush::WaitingTable& table : waiting_) group.push_back(&table);
  }
  if (group.empty()) return Status::OK();
  const base::ActivityScope activity(base::Activity::kFlush);
  if (!BRAID_MUTANT(kCheckpointBeforeWriteBack)) flush::WriteBackTables(pool_.get(), group);
  std::list<flush::WaitingTable> committed;
  {
    const std::lock_guard lock(structure_mutex_);
    if (pool_->failed()) return pool_->FaultStatus();
    auto end = waiting_.begin();
    for (size_t i = 0; i < group.size(); ++i, ++end) {
      if (BRAID_MUTANT(kCheckpointForgetsATable) && i == 1) {
        manifest_.record().flushed_table_id = end->record.id;
        continue;
      }
      AddTable(end->record);
    }
    if (Status s = manifest_.Commit(); !s.ok()) return s;
    committed.splice(committed.end(), waiting_, waiting_.begin(), end);
    ChargeWaiting();
  }
  if (BRAID_MUTANT(kCheckpointBeforeWriteBack)) flush::WriteBackTables(pool_.get(), group);
  space::Retired retired;
  for (flush::WaitingTable& table : committed) {
    retired.extents.insert(retired.extents.end(), table.dead_extents.begin(),
                           table.dead_extents.end());
  }
  if (!retired.extents.empty()) reclaimer_.Retire(std::move(retired));
  RetireWriteAheadChunks();
  return Status::OK();
}

bool LsmEngine::GroupIsComplete() const {
  const std::lock_guard lock(structure_mutex_);
  return waiting_.size() >= std::max(options_.flush.checkpoint_tables, 1u);
}

bool LsmEngine::OldestWaits() const {
  const std::lock_guard lock(structure_mutex_);
  const auto& l0 = state_owner_->version->l0;
  return !waiting_.empty() && !l0.empty() && l0.back()->id() == waiting_.front().record.id;
}

format::ManifestRecord LsmEngine::ManifestOfNow() const {
  format::ManifestRecord record = manifest_.record();
  for (const flush::WaitingTable& table : waiting_) {
    for (uint32_t i = record.table_count++; i > 0; --i) record.tables[i] = record.tables[i - 1];
    record.tables[0] = table.record;
    record.flushed_table_id = table.record.id;
  }
  return record;
}

}  // namespace braid::engine
