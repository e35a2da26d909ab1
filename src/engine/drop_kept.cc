// Purpose: drops from L1 what merges have kept for views that are gone: old versions, and deletes.
// Thread safety, invariants, persistence: see lsm_engine.h; a part is dropped by a merge of a table
// of copies that is empty (MergeInput::revisited), and so survives a crash as any other merge does.
#include "compaction/kept_versions.h"

#include "base/activity.h"
#include "base/memory_users.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"
#include "level/copied_list.h"

namespace braid::engine {

namespace {
/// Entries looked at between two looks for a merge that waits.
constexpr uint64_t kDropSlice = 64 * 1024;
/// A pass costs a walk over all of L1. It is worth it at once where so many entries may go, and one
/// of so many; while nobody writes, one of more will do.
constexpr uint64_t kWorthAPass = 256;
constexpr uint64_t kOneOf = 8;
constexpr uint64_t kOneOfAtRest = 64;
}  // namespace

bool LsmEngine::WantsDropping() {
  if (*options_.compaction.kind == MergeKind::kNone) return false;
  uint64_t entries = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    entries = state_owner_->version->l1->entries();
  }
  if (!kept_.is_known()) {
    // What earlier sessions have left is met when the index is built; without one, by a pass.
    if (index_ != nullptr && index_->complete()) kept_.Found(index_->kept());
    if (!kept_.is_known()) return round_.has_value() || (index_ == nullptr && IsAtRest());
  }
  if (kept_.all() == 0) return false;
  const uint64_t for_none = kept_.ForNone(views_->Collect());
  if (for_none == 0) return false;
  if (round_) return true;
  if (for_none >= kWorthAPass && for_none >= entries / kOneOf) return true;
  return for_none >= entries / kOneOfAtRest && IsAtRest();
}

/// Looks at the next part of L1, and drops from it what no view needs. False when there is nothing
/// to do.
bool LsmEngine::DropStep() {
  std::shared_ptr<level::PmemTable> l1;
  {
    const std::lock_guard lock(structure_mutex_);
    l1 = state_owner_->version->l1;
  }
  if (!dropping_) {
    if ((round_ && round_->began_pass) || !WantsDropping()) return false;
    if (round_) round_->began_pass = true;
    drop_to_ = LastKeyOf(l1->list());
    drop_from_.clear();
    kept_.StartAnew();
    dropping_ = true;
  }
  Result<bool> more = base::NoThrow([&] { return DropPart(l1->list()); });
  if (!more.ok()) {
    // Nothing is begun: without memory, or a place for another table, it can wait.
    if (more.status().IsOutOfMemory() || more.status().IsOutOfSpace()) return false;
    if (more.status().code() != Status::Code::kAborted) Fail(more.status());
    // The merge that was begun is open: no other step comes before it has ended.
    return !failed();
  }
  dropping_ = *more;
  return true;
}

/// False when the pass ends with this part.
Result<bool> LsmEngine::DropPart(const index::SkipList& list) {
  const base::ActivityScope activity(base::Activity::kCollect);
  const index::LiveViews views = views_->Collect();
  Result<compaction::KeptPart> part = compaction::SurveyKept(
      list, index_ != nullptr ? IndexTree() : nullptr, drop_from_, kDropSlice, views);
  if (!part.ok()) return part.status();
  if (!part->droppable.empty()) {
    base::MemoryCharge charge(&pool_->memory_users());
    charge.Set(part->droppable.capacity() * sizeof part->droppable[0]);
    CopySlot slot;
    if (!TakeCopySlot(&slot)) return Status::OutOfSpace("too many tables wait for their merge");
    if (Status s = BeginEmptyMerge(slot); !s.ok()) return s;
    if (!FinishCopies(nullptr, &part->droppable)) return Status::Aborted("the merge did not end");
    // Once more, from where this part began.
    if (kept_left_ != 0) return true;
  }
  kept_.Add(views, part->kept);
  drop_from_ = std::move(part->next_key);
  return !part->is_last && drop_from_ <= drop_to_;
}

/// Commits an empty table of copies, and that its merge has begun: what the merge drops is known to
/// a recovery by its redo records, as what any other merge does.
Status LsmEngine::BeginEmptyMerge(const CopySlot& slot) {
  if (!BRAID_MUTANT(kEmptyHeadNotWritten)) {
    level::CopiedList(pool_.get())
        .Close(format::kTableHeadsOffset + slot.head * sizeof(format::TableHead));
  }
  const std::lock_guard lock(structure_mutex_);
  if (pool_->failed()) {
    manifest_.ReturnHead(slot.head);
    return pool_->FaultStatus();
  }
  format::ManifestRecord& record = manifest_.record();
  manifest_.AddTable({slot.table_id, 0, format::kTableOfCopies, slot.head, 0, 0});
  record.collected_table_id = slot.table_id;
  record.next_table_id = next_table_id_;
  // Without a source there is nothing to tell how far a merge by pointers would have come.
  CompactionOptions by_records = options_.compaction;
  if (!BRAID_MUTANT(kRevisitByPointers)) by_records.persistence = MergePersistence::kRedoLog;
  Status s = compaction::NoteMergeBegin(pool_.get(), &manifest_, by_records, record.next_merge_id++,
                                        slot.table_id);
  if (s.ok() && !BRAID_MUTANT(kEmptyMergeNotCommitted)) s = manifest_.Commit();
  resumed_merge_ = {};
  if (!s.ok()) Fail(s);  // nobody knows which record counts
  return s;
}

}  // namespace braid::engine
