// Purpose: the steps of a flush and of the write-back of a group.
// Thread safety, invariants, persistence: see flusher.h.
#include "flush/flusher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/activity.h"
#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "engine/write_errors.h"
#include "flush/copy_flush.h"
#include "flush/in_place_flush.h"

namespace braid::flush {

Result<Flusher::Outcome> Flusher::FlushOldest(const Lock& flushes_held) {
  BRAID_DCHECK(flushes_held.owns_lock() && flushes_held.mutex() == &flush_mutex_);
  std::shared_ptr<memtable::MemTable> oldest;
  uint32_t head = 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.state().immutables.empty()) return Outcome{};
    if (*store_.options->compaction.kind == MergeKind::kRewrite &&
        !versions.manifest().HasHeadForFlush()) {
      return Outcome{};  // a rewrite will give some back
    }
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
  // Writers that found the memtable while it was active have left after this.
  base::SynchronizeEpoch();
  if (memtable->state() == memtable::State::kImmutable) {  // not if a flush found no room
    memtable->Advance(memtable::State::kFlushing);
  }
  BRAID_CHECK(memtable->state() == memtable::State::kFlushing);
  // On page-cache media a version must be on the medium before the one it replaces is marked
  // obsolete, and a batch whole before it counts as flushed. Links need no sync: a rebuild sets
  // them again.
  if (Status s = pool_.media().Sync(media::Site::kFlushEntriesSync); !s.ok()) return s;
  format::TableRecord record{};
  record.id = memtable->id();
  record.level = 0;
  record.head = head;
  Result<flush::FlushResult> flushed = LinkOrCopy(*memtable, head);
  if (!flushed.ok()) return flushed.status();
  record.entries = flushed->entries;
  record.max_sequence = flushed->max_sequence;
  const bool is_plain = flushed->is_plain;
  std::list<level::WaitingTable> table(1);
  table.front() = {record, std::move(flushed->touched), std::move(flushed->obsolete_extents)};
  if (Status s = Show(memtable, &table, is_plain); !s.ok()) return s;
  BRAID_DCHECK(table.empty() == Waits(*memtable));
  if (!table.empty() && !table.front().obsolete_extents.empty()) {
    store_.reclaimer->Retire({.chunks = {}, .extents = std::move(table.front().obsolete_extents)});
  }
  store_.accounts->RetireLogs();
  return record.entries;
}

/// Makes a list of the memtable's entries behind head `head`: durable, unless the table waits.
Result<flush::FlushResult> Flusher::LinkOrCopy(const memtable::MemTable& memtable, uint32_t head) {
  const index::LiveViews views = store_.views->Collect();
  const memtable::MemTable::FlushSource source = memtable.flush_source();
  const uint64_t place = pool_.HeadOffset(head);
  if (source.list != nullptr) {
    return KeepInPlace(&pool_, store_.usage, store_.lookup_cache, *source.list, place);
  }
  if (!source.is_copied) {
    flush::LinkFlush flush(&pool_, store_.usage, store_.lookup_cache,
                           Waits(memtable) ? flush::WriteBack::kLater : flush::WriteBack::kNow);
    return flush.Run(*source.entries, views, place);
  }
  flush::CopyFlush flush(&pool_, store_.usage, store_.lookup_cache, memtable.id());
  const auto log =
      source.only_copies ? flush::CopyFlush::Log::kGoes : flush::CopyFlush::Log::kMayStay;
  Result<flush::FlushResult> flushed = flush.Run(source.entries.get(), views, place, log);
  if (!flushed.ok()) return flushed;
  // On page-cache media copies, and chunks that stay, must be on the medium before their table is
  // named: a rebuild frees what the log still has of it.
  if (Status s = pool_.media().Sync(media::Site::kCopyFlushSync); !s.ok()) return s;
  return flushed;
}

/// Shows the table that `memtable` has become to readers in the memtable's place. `table` is one
/// node: it waits for its group from here on, or is committed at once.
Status Flusher::Show(memtable::MemTable* memtable, std::list<level::WaitingTable>* table,
                     bool is_plain) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  // All that may fail comes before the commit.
  const format::TableRecord& record = table->front().record;
  BRAID_DCHECK(table->size() == 1 && versions.state().immutables.back().get() == memtable);
  auto shown = std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums);
  if (is_plain) shown->set_is_plain();
  // Where memory is short the table does without, as TableIndexes::Fit would decide.
  const std::shared_ptr<index::EntryIndex> tree = memtable->flush_source().entries;
  if (tree != nullptr && store_.budget->ToCome(versions.state()) <= store_.budget->Goal()) {
    shown->set_tree(tree, 1);
  }
  memtable->BecomeTable(shown);
  level::NextState next = versions.Next();
  next.DropOldestImmutable();
  next.AddNewest(std::move(shown));
  if (pool_.failed()) return pool_.FaultStatus();
  if (Waits(*memtable)) {
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
  const size_t group = std::max(store_.options->flush.group_tables, 1u);
  return store_.versions->Lock().waiting().size() >= group;
}

Status Flusher::WriteBackGroup(const Lock& groups_held) {
  BRAID_DCHECK(groups_held.owns_lock() && groups_held.mutex() == &group_mutex_);
  return base::CatchToStatus([&] { return CommitWaiting(); });
}

Status Flusher::CommitWaiting() {
  // Only the write-back of a group takes them out, so they stay where they are.
  std::vector<const level::WaitingTable*> group;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    for (const level::WaitingTable& table : versions.waiting()) {
      BRAID_DCHECK(group.empty() || group.back()->record.id < table.record.id);  // invariant 1
      group.push_back(&table);
    }
  }
  if (group.empty()) return Status::OK();
  const base::ActivityScope activity(base::Activity::kFlush);
  flush::WriteBackTables(&pool_, group);
  std::list<level::WaitingTable> committed;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (pool_.failed()) return pool_.FaultStatus();
    if (Status s = versions.CommitWaiting(group.size(), &committed); !s.ok()) return s;
    BRAID_DCHECK(committed.size() == group.size());
  }
  space::Retired retired;
  for (const level::WaitingTable& table : committed) {
    retired.extents.insert(retired.extents.end(), table.obsolete_extents.begin(),
                           table.obsolete_extents.end());
  }
  if (!retired.extents.empty()) store_.reclaimer->Retire(std::move(retired));
  store_.accounts->RetireLogs();
  return Status::OK();
}

}  // namespace braid::flush
