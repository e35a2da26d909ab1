// Purpose: beginning, running and ending merges.
// Thread safety, invariants, persistence: see merger.h.
#include "compaction/merger.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/activity.h"
#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "level/copied_list.h"
#include "merge/copy_merge.h"

namespace braid::compaction {

StoreFacts::OpenMerge Merger::OpenMergeOf(const level::VersionSet::ConstLocked& versions) {
  using OpenMerge = StoreFacts::OpenMerge;
  const format::ManifestState& record = versions.record();
  if (record.Copies() != nullptr) return OpenMerge::kOfCopies;
  return record.AnyMerge() ? OpenMerge::kOfTable : OpenMerge::kNone;
}

std::shared_ptr<level::PmemTable> InputOf(const level::ReadState& state, const Plan& plan) {
  const level::Level& level = state.version->levels[plan.from];
  BRAID_CHECK(!plan.inputs.empty() && !level.empty() && level.back()->id() == plan.inputs.back());
  return level::ListOf(level.back());
}

/// The caller calls Begin.
std::unique_ptr<merge::MergeJob> Merger::NewJob(const level::VersionSet::Locked& versions,
                                                std::shared_ptr<level::PmemTable> source,
                                                std::shared_ptr<level::PmemTable> target) {
  BRAID_DCHECK(source->level() < target->level());
  // Copies of a collection are no table of L0, and newer than what is written now.
  const bool are_copies = (source->record().flags & format::kTableOfCopies) != 0;
  const bool is_of_l0 = source->level() == 0 && !are_copies;
  if (is_of_l0) store_.versions->NoteMergeOf(source->id());
  const uint64_t source_id = source->id();
  // There are trees over the bottom only.
  const bool is_bottom = target == versions.bottom();
  auto job = std::make_unique<merge::MergeJob>(
      &pool_, &versions.manifest(), std::move(source), std::move(target),
      is_bottom ? store_.indexes->tree() : nullptr, store_.options->compaction);
  if (is_of_l0) {
    job->SetNewer(std::make_unique<index::NewerVersions>(
        &pool_, [this, source_id] { return store_.overwrites->NewerThan(source_id); }));
  }
  if (!is_bottom) return job;
  if (store_.tier != nullptr) {
    job->SetBelow([tier = store_.tier](std::string_view key) { return tier->MayHold(key); });
  }
  const merge::TargetTree trees = store_.indexes->MergeTarget();
  job->SetNextTree(trees.next, trees.next_min_height);
  return job;
}

/// Keeps DRAM within the budget between the batches of a merge that runs alone; empty where there
/// is no tree.
std::function<merge::TargetTree()> Merger::FitTree(const merge::MergeJob& job) {
  if (store_.indexes->tree() == nullptr) return {};
  return [this, has_tree = job.has_tree()]() -> merge::TargetTree {
    // Without memory for a smaller one it stays as it is, until the next batch.
    base::IgnoreExceptions([&] { store_.indexes->Fit(); });
    if (store_.budget->IsShort()) store_.reclaimer->ReclaimMemory();
    store_.indexes->FitCache();
    return has_tree ? store_.indexes->MergeTarget() : merge::TargetTree{};
  };
}

Status Merger::Start(merge::MergeJob* job, const std::function<merge::TargetTree()>& fit_tree) {
  return job->Start(
      store_.views->Collect(), &store_.versions->merge_epoch(),
      [this] {
        // A batch stores some two lines an entry.
        store_.limit->Charge(uint64_t{store_.options->compaction.batch_entries} * 128);
        store_.limit->Pause(*store_.stop);
        return store_.stop->load();
      },
      fit_tree);
}

/// `counts`: what it keeps for views is counted.
Status Merger::Run(merge::MergeJob* job, uint64_t source_id, bool counts) {
  const base::ActivityScope activity(base::Activity::kMerge);
  store_.indexes->ForgetCount();
  std::vector<uint64_t> obsolete;
  const Status s = base::CatchToStatus([&] {
    if (Status started = Start(job, FitTree(*job)); !started.ok()) return started;
    for (;;) {
      const Result<bool> more = job->Step();
      // While the step's entries are in the cache.
      job->TakeObsolete(&obsolete);
      store_.accounts->Died(obsolete);
      if (!more.ok() || !*more) return more.status();
    }
  });
  Conclude(*job, source_id, s.ok(), counts);
  return s;
}

/// After the last step. `ran`: to the end.
void Merger::Conclude(const merge::MergeJob& job, uint64_t source_id, bool ran, bool counts) {
  if (job.revisits()) left_by_revisit_ = ran ? job.kept().left : 0;
  // A part that is looked at once more is counted then.
  if (ran && counts && !job.keeps_deletes() && (!job.revisits() || left_by_revisit_ == 0)) {
    kept_.Add(job.views(), job.kept());
  }
  // Until the merge has ended in the manifest, a check of the tables must know how far it is.
  if (job.progress().batch != 0) open_[source_id] = job.progress();
}

/// Whether all of the source may become L1 as it is, where no merge is open.
bool Merger::CanAdopt(const level::ReadState& state, const level::PmemTable& source,
                      const level::PmemTable& target) const {
  return source.is_plain() && target.is_counted() && target.entries() == 0 &&
         !store_.indexes->HasCache() &&
         *store_.options->compaction.persistence == MergePersistence::kRedoLog &&
         (source.is_load() || !store_.overwrites->IsOverwritten(state, source));
}

Result<Merger::Merged> Merger::Merge(const Plan& plan) {
  if (plan.method == MergeMethod::kFull) return MergeFully(plan);
  return plan.inputs.size() > 1 ? MergeGroup(plan) : MergeOldest(plan);
}

/// Where all of the oldest table is overwritten, or a full merge came to nothing, as others.
Result<Merger::Merged> Merger::MergeFully(const Plan& plan) {
  const std::shared_ptr<const level::ReadState> state = store_.versions->Lock().Keep();
  if (!store_.overwrites->IsObsolete(*state)) {
    const Result<uint64_t> entries = store_.full_merger->Run(plan.inputs);
    if (!entries.ok()) return entries.status();
    if (*entries != 0) {
      kept_.StartAnew();  // there are no others
      return Merged{plan.inputs.size(), *entries, true};
    }
  }
  Plan oldest = plan;
  oldest.inputs = {plan.inputs.back()};
  oldest.method = MergeMethod::kLink;
  return MergeOldest(oldest);
}

Result<Merger::Merged> Merger::MergeOldest(const Plan& plan) {
  if (plan.method == MergeMethod::kCopyAndLink) {
    if (Status s = plan.from == 0 ? CopyInput(plan) : CopyList(plan); !s.ok()) return s;
  } else if (plan.from == 0 && plan.is_bottom) {
    if (Status s = EmptyObsoleteInput(plan); !s.ok()) return s;
  }
  std::shared_ptr<level::PmemTable> source;
  std::shared_ptr<level::PmemTable> target;
  merge::BatchProgress resumed;
  std::unique_ptr<merge::MergeJob> job;
  Merged merged;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    source = InputOf(versions.state(), plan);
    BRAID_DCHECK(plan.to == plan.from + 1 && versions.record().Copies() == nullptr);  // invariant 1
    target = versions.state().version->KeepList(plan.to);
    const bool is_open = versions.record().MergeOf(source->id()) != nullptr;
    if (!is_open) open_.erase(source->id());
    resumed = open_[source->id()];
    const bool adopts = !is_open && plan.is_bottom && CanAdopt(versions.state(), *source, *target);
    if (adopts) store_.indexes->StartAnew(target.get());
    job = NewJob(versions, source, target);
    if (!plan.is_bottom) job->KeepDeletes();
    if (adopts) job->Adopt();
    // The records of a merge that waits may name links of a border: it must not be given back.
    const bool others_wait = versions.record().open_merges() > (is_open ? 1u : 0u);
    if (others_wait) job->StayWithinBorders(0);
    if (is_open || plan.from == 0) {
      if (Status s = job->Begin(resumed); !s.ok()) return s;
    } else {
      Result<level::NextState> sealed = Seal(versions, plan.from);
      if (!sealed.ok()) return sealed.status();
      if (Status s = job->Begin(resumed); !s.ok()) return s;
      versions.Show(std::move(*sealed));
    }
  }
  if (Status s = Run(job.get(), source->id()); !s.ok()) return s;
  // Not before that: what is merged after all may not be all of the source.
  BRAID_DCHECK(!job->adopted() || plan.is_bottom);
  if (job->adopted()) store_.indexes->TakeOver(target.get(), *source);
  merged.is_in_order = job->adopted() && source->is_load();
  const std::vector<uint64_t> originals = MarkCopiedOriginals(*source);
  store_.limit->Charge(originals.size() * media::kLineBytes);
  if (Status s = EndMerge(job.get(), source); !s.ok()) return s;
  const bool was_obsolete = source->entries() == 0 && !originals.empty();
  merged.entries = was_obsolete ? originals.size() : job->merged_entries();
  was_obsolete ? store_.accounts->DiedHidden(originals) : store_.accounts->Died(originals);
  if (was_obsolete) overwritten_tables_.fetch_add(1, std::memory_order_relaxed);
  store_.accounts->RetireEmptyChunks();
  return merged;
}

/// The source, the oldest table of its level, is there no more.
Status Merger::EndMerge(merge::MergeJob* job, const std::shared_ptr<level::PmemTable>& source) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const level::Level& level = versions.state().version->levels[source->level()];
  BRAID_CHECK(!level.empty() && level.back()->id() == source->id());
  level::NextState next = versions.Next();
  next.DropOldest(source->level());
  if (source->level() > 0) versions.KeepHead(source);
  if (pool_.failed()) return pool_.FaultStatus();
  if (Status s = job->Finish(); !s.ok()) return s;
  open_.erase(source->id());
  versions.Show(std::move(next));
  return Status::OK();
}

/// Puts copies in the place of the input and begins its merge. Where that can't be done the merge
/// links the table's own entries.
Status Merger::CopyInput(const Plan& plan) {
  std::shared_ptr<level::PmemTable> source;
  CopySlot slot;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.record().AnyMerge()) return Status::OK();  // a merge goes on
    const Result<uint32_t> taken = versions.manifest().TakeHead();
    if (!taken.ok()) return Status::OK();
    source = InputOf(versions.state(), plan);
    slot = {*taken, versions.NewTableId()};
  }
  const Result<bool> copied = CopyEntriesOf(*source, slot);
  if (!copied.ok() || !*copied) return copied.status();
  return BeginCopied(store_.versions->Lock(), plan, *source, slot);
}

/// Where newer tables have all that the input holds, puts an empty list in its place and begins its
/// merge, as if all of its entries had been copied to nowhere: the end of the merge marks them.
Status Merger::EmptyObsoleteInput(const Plan& plan) {
  if (*store_.options->compaction.persistence != MergePersistence::kRedoLog) return Status::OK();
  std::shared_ptr<const level::ReadState> state;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.record().AnyMerge()) return Status::OK();  // one goes on
    state = versions.Keep();
  }
  if (!store_.overwrites->IsObsolete(*state)) return Status::OK();
  // Durable before the manifest says of a table what older programs would not understand.
  if (Status s = pool_.AnnounceIncompat(format::kIncompatCopies); !s.ok()) return s;
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const Result<uint32_t> head = versions.manifest().TakeHead();
  if (!head.ok()) return Status::OK();
  level::CopiedList(&pool_).Close(pool_.HeadOffset(*head));
  return BeginCopied(versions, plan, *InputOf(versions.state(), plan), {*head, 0});
}

/// The list at the head of `slot` takes the place of the input, whose merge begins: of copies, or,
/// without an id, of nothing.
Status Merger::BeginCopied(const level::VersionSet::Locked& versions, const Plan& plan,
                           const level::PmemTable& source, const CopySlot& slot) {
  level::Manifest& manifest = versions.manifest();
  format::ManifestState& record = manifest.record();
  const bool are_copies = slot.table_id != 0;
  format::TableRecord swapped = source.record();
  swapped.head = slot.head;
  swapped.flags |= format::kTableWasCopied;
  if (!are_copies) swapped.entries = 0;
  BRAID_DCHECK(source.level() == plan.from && !source.is_copies());
  BRAID_DCHECK(!record.AnyMerge() && manifest.FindTable(source.id()) != nullptr);
  level::NextState next = versions.Next();
  next.ReplaceOldest(plan.from, std::make_shared<level::PmemTable>(
                                    &pool_, swapped, store_.options->verify_checksums));
  const uint64_t target_id = versions.state().version->levels[plan.to].front()->id();
  Result<format::MergeRecord*> begun = manifest.BeginMerge(source.id(), target_id);
  if (!begun.ok()) return begun.status();
  *manifest.FindTable(source.id()) = swapped;
  manifest.ReturnHead(slot.head);  // the record names it now
  if (are_copies) {
    record.collected_table_id = slot.table_id;
    record.next_table_id = std::max(record.next_table_id, versions.next_table_id());
  }
  if (Status s = manifest.Commit(); !s.ok()) return s;
  versions.Show(std::move(next));
  return Status::OK();
}

/// Before the end of a merge of copies of a table: what they were copied from is obsolete.
std::vector<uint64_t> Merger::MarkCopiedOriginals(const level::PmemTable& source) {
  // Those of a list were marked when it was copied.
  if (source.level() > 0 || (source.record().flags & format::kTableWasCopied) == 0) return {};
  const uint64_t after = store_.versions->Lock().merged_table_id();
  return merge::MarkOriginals(&pool_, after, source.id());
}

bool Merger::TakeSlot(CopySlot* slot) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  if (store_.errors->failed() || pool_.failed()) return false;
  // The step before may have left its merge open, and the manifest tells of one only.
  if (versions.record().AnyMerge()) return false;
  const Result<uint32_t> taken = versions.manifest().TakeHead();
  if (!taken.ok()) return false;
  *slot = {*taken, versions.NewTableId()};
  return true;
}

void Merger::ReturnSlot(const CopySlot& slot) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  versions.manifest().ReturnHead(slot.head);
}

Result<bool> Merger::CommitCopies(const CopySlot& slot, Result<format::TableRecord> copies) {
  BRAID_DCHECK(!copies.ok() || (copies->id == slot.table_id && copies->head == slot.head));
  BRAID_DCHECK(!copies.ok() || (copies->flags & format::kTableOfCopies) != 0);
  if (copies.ok() && pool_.failed()) copies = pool_.FaultStatus();
  // On page-cache media the copies must be on the medium before the originals are marked obsolete.
  Status s = copies.ok() ? pool_.media().Sync(media::Site::kCollectedCopiesSync) : copies.status();
  const bool empty = !s.ok() || copies->entries == 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    level::Manifest& manifest = versions.manifest();
    if (empty) {
      manifest.ReturnHead(slot.head);
    } else {
      format::ManifestState& record = manifest.record();
      BRAID_DCHECK(record.Copies() == nullptr);  // the manifest may name one such table
      manifest.AddTable(*copies);
      record.collected_table_id = slot.table_id;
      record.next_table_id = versions.next_table_id();
      s = merge::NoteMergeBegin(&pool_, &manifest, store_.options->compaction, slot.table_id,
                                versions.state().version->bottom().id());
      if (s.ok()) s = manifest.Commit();
    }
  }
  // The room of copies that came to nothing is a writer's again.
  if (empty) store_.reclaimer->CountRoom();
  // Copies that found no room were given back. A sync or commit that failed is another matter, for
  // want of space too: what it covers may be on the medium.
  if (!s.ok() && !copies.status().IsOutOfSpace()) return s;
  return s.ok() && !empty;
}

Status Merger::CommitNoCopies(const CopySlot& slot) {
  level::CopiedList(&pool_).Close(pool_.HeadOffset(slot.head));
  const level::VersionSet::Locked versions = store_.versions->Lock();
  level::Manifest& manifest = versions.manifest();
  if (pool_.failed()) {
    manifest.ReturnHead(slot.head);
    return pool_.FaultStatus();
  }
  format::ManifestState& record = manifest.record();
  BRAID_DCHECK(record.Copies() == nullptr && slot.table_id < versions.next_table_id());
  manifest.AddTable({slot.table_id, 0, format::kTableOfCopies, slot.head, 0, 0});
  record.collected_table_id = slot.table_id;
  record.next_table_id = versions.next_table_id();
  // Without a source there is nothing to tell how far a merge by pointers would have come.
  CompactionOptions by_records = store_.options->compaction;
  by_records.persistence = MergePersistence::kRedoLog;
  Status s = merge::NoteMergeBegin(&pool_, &manifest, by_records, slot.table_id,
                                   versions.state().version->bottom().id());
  if (s.ok()) s = manifest.Commit();
  return s;
}

Result<bool> Merger::FinishCopies(const Copies& copies) {
  const Status s = base::CatchToStatus([&] { return MergeCopies(copies); });
  if (s.code() == Status::Code::kAborted || s.IsNotFound()) return false;
  if (!s.ok()) return s;
  return true;
}

/// NotFound when no merge of copies is open.
Status Merger::MergeCopies(const Copies& what) {
  std::unique_ptr<merge::MergeJob> job;
  uint64_t copies_id = 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    const format::TableRecord* found = versions.record().Copies();
    if (found == nullptr) return Status::NotFound();
    copies_id = found->id;
    // They are about the copies that were made just now, and not about those of a crash.
    BRAID_DCHECK(what.moved == nullptr || what.moved->size() == found->entries);
    BRAID_DCHECK(what.revisited == nullptr || found->entries == 0);
    auto copies =
        std::make_shared<level::PmemTable>(&pool_, *found, store_.options->verify_checksums);
    job = NewJob(versions, std::move(copies), versions.bottom());
    job->SetMoved(what.moved);
    job->SetRevisited(what.revisited);
    if (what.takes_out) job->TakeOut();
    if (what.are_borders && what.revisited == nullptr) job->BringBorders();
    if (Status s = job->Begin(open_[copies_id]); !s.ok()) return s;
  }
  const bool counts = !what.are_borders && !what.takes_out;
  if (Status s = Run(job.get(), copies_id, counts); !s.ok()) return s;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (pool_.failed()) return pool_.FaultStatus();
    if (Status s = job->Finish(); !s.ok()) return s;
    open_.erase(copies_id);
  }
  BRAID_DCHECK(what.moved != nullptr || job->replaced().empty());
  for (const auto& [begin, end] : job->replaced()) {
    BRAID_DCHECK(begin < end && end <= what.moved->size());
    store_.accounts->Moved(&(*what.moved)[begin], end - begin);
  }
  store_.accounts->RetireEmptyChunks();
  return Status::OK();
}

}  // namespace braid::compaction
