// Purpose: the merge that copies an L0 table before it links it (compaction.kind=copy). Thread
// safety, invariants, persistence: see lsm_engine.h and compaction/copy_merge.h.
#include "compaction/copy_merge.h"

#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

/// Puts copies in the place of the oldest table and begins its merge. Where that can't be done the
/// merge links the table's own entries.
Status LsmEngine::CopyOldest() {
  std::shared_ptr<level::PmemTable> source;
  uint32_t head = 0;
  uint64_t table_id = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    if (manifest_.record().merge_id != 0) return Status::OK();  // a merge goes on
    Result<uint32_t> taken = manifest_.TakeHead();
    if (!taken.ok()) return Status::OK();
    head = *taken;
    source = state_owner_->version->l0.back();
    table_id = next_table_id_++;  // never shared, not even by copies that come to nothing
  }
  Result<bool> copied = compaction::CopyTable(pool_.get(), &usage_, source->list(), table_id, head);
  if (copied.ok() && pool_->failed()) copied = pool_->FaultStatus();
  if (copied.ok() && *copied) {
    // On page-cache media copies must be on the medium before their originals are marked dead.
    if (Status s = SyncUnless(BRAID_MUTANT(kMergeCopiesNotSynced)); !s.ok()) return s;
  }
  const std::lock_guard lock(structure_mutex_);
  if (!copied.ok() || !*copied) {
    manifest_.ReturnHead(head);
    reclaimer_.CountRoom();  // that of the copies is a writer's again
    return copied.ok() ? Status::OK() : copied.status();
  }
  if (BRAID_MUTANT(kOriginalsMarkedEarly)) {
    compaction::MarkOriginals(pool_.get(), manifest_.record().merged_table_id, source->id());
  }
  format::TableRecord swapped = source->record();
  swapped.head = head;
  swapped.flags |= format::kTableWasCopied;
  auto version = std::make_shared<level::Version>(*state_owner_->version);
  version->l0.back() =
      std::make_shared<level::PmemTable>(pool_.get(), swapped, options_.verify_checksums);
  NextState next = CopyState();
  next.state->version = std::move(version);
  format::ManifestRecord& record = manifest_.record();
  *manifest_.FindTable(source->id()) = swapped;
  manifest_.ReturnHead(head);  // the record names it now
  record.collected_table_id = table_id;
  record.next_table_id = std::max(record.next_table_id, next_table_id_);
  record.merge_id = record.next_merge_id++;
  record.merging_table_id = source->id();
  if (Status s = manifest_.Commit(); !s.ok()) return s;
  resumed_merge_ = {};
  SwapState(std::move(next));
  return Status::OK();
}

/// Before the end of a merge of copies of a table: what they were copied from is dead.
std::vector<uint64_t> LsmEngine::MarkCopiedOriginals(const level::PmemTable& source) {
  if ((source.record().flags & format::kTableWasCopied) == 0) return {};
  uint64_t after = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    after = manifest_.record().merged_table_id;
  }
  return compaction::MarkOriginals(pool_.get(), after, source.id());
}

}  // namespace braid::engine
