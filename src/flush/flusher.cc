// Purpose: the steps of a flush and of a checkpoint. Thread safety, invariants, persistence: see
// flusher.h.
#include "flush/flusher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/activity.h"
#include "base/check.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/write_errors.h"
#include "flush/copy_flush.h"
#include "pmem/epoch.h"

namespace braid::flush {

Result<Flusher::Outcome> Flusher::FlushOldest(const Lock&) {
  std::shared_ptr<memtable::MemTable> oldest;
  uint32_t head = 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.state().immutables.empty()) return Outcome{};
    const Result<uint32_t> free_head = versions.manifest().TakeHead();
    if (!free_head.ok()) {  // a merge will free one
      if (*store_.options->compaction.kind != MergeKind::kNone) return Outcome{};
      return Outcome{Outcome::State::kNoRoom, 0, 0, engine::L0IsFull()};
    }
    head = *free_head;
    oldest = versions.state().immutables.back();
    BRAID_DCHECK(oldest->is_frozen() && oldest->id() < versions.state().active->id());
  }
  const uint64_t entries = oldest->entries();
  // Not even lack of memory is waited out: the flush marks entries as it goes.
  const Result<uint64_t> flushed =
      base::CatchToStatus([&] { return FlushTable(oldest.get(), head); });
  if (flushed.status().IsOutOfSpace() && oldest->flush_source().is_copied) {
    // Nothing has changed.
    store_.versions->Lock().manifest().ReturnHead(head);
    return Outcome{Outcome::State::kNoRoom, 0, 0, flushed.status()};
  }
  if (!flushed.ok()) return flushed.status();
  return Outcome{Outcome::State::kFlushed, entries, *flushed, Status::OK()};
}

/// Returns how many entries the table has.
Result<uint64_t> Flusher::FlushTable(memtable::MemTable* memtable, uint32_t head) {
  const base::ActivityScope activity(base::Activity::kFlush);
  // Writers that found the memtable before it was sealed have left after this.
  pmem::SynchronizeEpoch();
  if (memtable->state() == memtable::State::kSealed) {  // not if a flush found no room
    memtable->Advance(memtable::State::kFlushing);
  }
  // On page-cache media a version must be on the medium before the one it replaces is marked dead,
  // and a batch whole before it counts as flushed. Links need no sync: a rebuild makes them anew.
  if (Status s = SyncUnless(BRAID_MUTANT(kFlushEntriesNotSynced)); !s.ok()) return s;
  format::TableRecord record{};
  record.id = memtable->id();
  record.level = 0;
  record.head = head;
  if (BRAID_MUTANT(kManifestBeforeLinks)) {
    record.entries = memtable->entries();
    record.max_sequence = store_.sequence->load();
    const level::VersionSet::Locked versions = store_.versions->Lock();
    versions.AddTable(record);
    if (Status s = versions.manifest().Commit(); !s.ok()) return s;
    versions.manifest().RemoveTable(record.id);
  }
  Result<flush::FlushResult> flushed = LinkOrCopy(*memtable, head);
  if (!flushed.ok()) return flushed.status();
  record.entries = flushed->entries;
  record.max_sequence = flushed->max_sequence;
  std::list<level::WaitingTable> table(1);
  table.front() = {record, std::move(flushed->touched), std::move(flushed->dead_extents)};
  if (BRAID_MUTANT(kWaitingExtentsFreed)) {
    store_.reclaimer->Retire({.chunks = {}, .extents = std::move(table.front().dead_extents)});
  }
  if (Status s = Show(memtable, &table); !s.ok()) return s;
  if (!table.empty() && !table.front().dead_extents.empty()) {
    store_.reclaimer->Retire({.chunks = {}, .extents = std::move(table.front().dead_extents)});
  }
  store_.accounts->RetireLogs();
  return record.entries;
}

/// Makes a list of the memtable's entries behind head `head`: durable, unless the table waits.
Result<flush::FlushResult> Flusher::LinkOrCopy(const memtable::MemTable& memtable, uint32_t head) {
  const index::LiveViews views = store_.views->Collect();
  const memtable::MemTable::FlushSource source = memtable.flush_source();
  const uint64_t place = pool_.HeadOffset(head);
  if (!source.is_copied) {
    flush::LinkFlush flush(&pool_, store_.usage, store_.lookup_cache,
                           Waits(memtable) ? flush::WriteBack::kLater : flush::WriteBack::kNow);
    return flush.Run(*source.entries, views, place);
  }
  flush::CopyFlush flush(&pool_, store_.usage, store_.lookup_cache, memtable.id());
  Result<flush::FlushResult> flushed = flush.Run(source.entries.get(), views, place);
  if (!flushed.ok()) return flushed;
  // On page-cache media copies, and chunks that stay, must be on the medium before their table is
  // named: a rebuild frees what the log still has of it.
  if (Status s = SyncUnless(BRAID_MUTANT(kCopyFlushNotSynced)); !s.ok()) return s;
  return flushed;
}

/// Shows the table that `memtable` has become to readers in the memtable's place. `table` is one
/// node: it waits for its checkpoint from here on, or is committed at once.
Status Flusher::Show(memtable::MemTable* memtable, std::list<level::WaitingTable>* table) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  // All that may fail comes before the commit.
  const format::TableRecord& record = table->front().record;
  BRAID_DCHECK(table->size() == 1 && versions.state().immutables.back().get() == memtable);
  auto shown = std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums);
  // Where memory is short the table does without, as TableIndexes::Fit would decide.
  if (store_.budget->ToCome(versions.state()) <= store_.budget->Goal()) {
    shown->set_tree(memtable->flush_source().entries, 1);
  }
  level::NextState next = versions.Next();
  next.DropOldestSealed();
  next.AddNewest(std::move(shown));
  if (pool_.failed()) return pool_.FaultStatus();
  if (Waits(*memtable)) {
    if (BRAID_MUTANT(kCheckpointBoundaryEarly)) versions.record().flushed_table_id = record.id;
    versions.AddWaiting(table);
  } else {
    versions.AddTable(record);
    if (Status s = versions.manifest().Commit(); !s.ok()) return s;
  }
  memtable->Advance(memtable::State::kFlushed);
  versions.Show(std::move(next));
  return Status::OK();
}

bool Flusher::GroupIsComplete() const {
  const size_t group = std::max(store_.options->flush.checkpoint_tables, 1u);
  return store_.versions->Lock().waiting().size() >= group;
}

Status Flusher::Checkpoint(const Lock&) {
  return base::CatchToStatus([&] { return CommitWaiting(); });
}

Status Flusher::CommitWaiting() {
  // Only checkpoints take them out, so they stay where they are.
  std::vector<const level::WaitingTable*> group;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    for (const level::WaitingTable& table : versions.waiting()) group.push_back(&table);
  }
  if (group.empty()) return Status::OK();
  const base::ActivityScope activity(base::Activity::kFlush);
  if (!BRAID_MUTANT(kCheckpointBeforeWriteBack)) flush::WriteBackTables(&pool_, group);
  std::list<level::WaitingTable> committed;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (pool_.failed()) return pool_.FaultStatus();
    if (Status s = versions.CommitWaiting(group.size(), &committed); !s.ok()) return s;
    BRAID_DCHECK(committed.size() == group.size());
  }
  if (BRAID_MUTANT(kCheckpointBeforeWriteBack)) flush::WriteBackTables(&pool_, group);
  space::Retired retired;
  for (const level::WaitingTable& table : committed) {
    retired.extents.insert(retired.extents.end(), table.dead_extents.begin(),
                           table.dead_extents.end());
  }
  if (!retired.extents.empty()) store_.reclaimer->Retire(std::move(retired));
  store_.accounts->RetireLogs();
  return Status::OK();
}

}  // namespace braid::flush
