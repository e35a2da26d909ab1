// Purpose: the steps of the background: flushing, merging, indexing. Thread safety, invariants,
// persistence: see lsm_engine.h.
#include <algorithm>
#include <chrono>

#include "base/activity.h"
#include "base/clock.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "compaction/picker.h"
#include "engine/lsm_engine.h"
#include "flush/copy_flush.h"
#include "flush/link_flush.h"

namespace braid::engine {

LsmEngine::NextState LsmEngine::CopyState() const {
  NextState next;
  next.state = std::make_shared<ReadState>();
  next.state->active = state_owner_->active;
  next.state->immutables = state_owner_->immutables;
  next.state->version = state_owner_->version;
  next.retired.emplace_back();
  return next;
}

/// Shows `next`; the old state is freed when its readers have left. Under structure_mutex_.
void LsmEngine::SwapState(NextState next) noexcept {
  // Release pairs with the acquire loads of the paths.
  state_.store(next.state.get(), std::memory_order_release);
  relinks_.fetch_add(2, std::memory_order_release);
  next.retired.front() = std::move(state_owner_);
  state_owner_ = std::move(next.state);
  reclaimer_.RetireMemory(std::move(next.retired));
}

void LsmEngine::UpdatePressure() {
  const std::lock_guard lock(structure_mutex_);
  const ReadState& state = *state_owner_;
  if (blocked_.load()) return controller_.Update(0, 0, false);  // writers get the reason
  controller_.Update(state.version->l0.size(), state.immutables.size(), IsFull(*state.active));
}

void LsmEngine::Fail(const Status& status) noexcept {
  bool first = false;
  {
    const std::lock_guard lock(work_mutex_);
    first = error_.ok();
    if (first) error_ = status;
  }
  failed_.store(true);
  if (first) {
    if (options_.listener != nullptr) options_.listener->OnBackgroundError(status);
    base::Try([&] { Log("writes end until the database is opened again: " + status.ToString()); });
  }
  controller_.Release();
  Wake();
}

Status LsmEngine::background_error() const {
  const std::lock_guard lock(work_mutex_);
  return error_;
}

void LsmEngine::Log(const std::string& line) const {
  if (options_.logger) options_.logger(line);
}

bool LsmEngine::Guarded(bool (LsmEngine::*step)()) {
  bool worked = false;
  const Status s = base::NoThrow([&] {
    worked = (this->*step)();
    return Status::OK();
  });
  if (medium_failed()) {
    if (!failed()) Fail(base::NoThrow([&] { return MediumStatus(); }));
    return false;
  }
  if (s.ok()) return worked;
  // Nothing was changed: later again, when there is more memory. Who waits for it gets the reason.
  base::Try([&] { Log("background work waits: " + s.ToString()); });
  if (step == &LsmEngine::CompactionStep) EndRound(s);
  return false;
}

/// To the manifest's record, which the caller commits. Under structure_mutex_.
void LsmEngine::AddTable(const format::TableRecord& record) {
  manifest_.AddTable(record);
  if (!BRAID_MUTANT(kFlushedIdNotRaised)) manifest_.record().flushed_table_id = record.id;
  manifest_.record().next_table_id = std::max(manifest_.record().next_table_id, next_table_id_);
  manifest_.record().last_sequence =
      std::max(manifest_.record().last_sequence, record.max_sequence);
}

/// Shows the table that `memtable` has become to readers in the memtable's place. `table` is one
/// node: it waits for its checkpoint from here on, or is committed at once.
Status LsmEngine::ShowFlushed(LoggedMemTable& memtable, std::list<flush::WaitingTable>* table) {
  const std::lock_guard lock(structure_mutex_);
  // All that may fail comes before the commit.
  const format::TableRecord& record = table->front().record;
  auto shown = std::make_shared<level::PmemTable>(pool_.get(), record, options_.verify_checksums);
  // Where memory is short the table does without, as FitMemory would decide.
  if (MemoryToCome(*state_owner_) <= MemoryGoal()) shown->set_tree(memtable.table->tree(), 1);
  auto version = std::make_shared<level::Version>(*state_owner_->version);
  version->l0.insert(version->l0.begin(), std::move(shown));
  NextState next = CopyState();
  next.state->immutables.pop_back();
  next.state->version = std::move(version);
  if (pool_->failed()) return pool_->FaultStatus();
  if (Waits(memtable)) {
    if (BRAID_MUTANT(kCheckpointBoundaryEarly)) manifest_.record().flushed_table_id = record.id;
    waiting_.splice(waiting_.end(), *table);
    ChargeWaiting();
  } else {
    AddTable(record);
    if (Status s = manifest_.Commit(); !s.ok()) return s;
  }
  memtable.table->Advance(memtable::State::kFlushed);
  SwapState(std::move(next));
  return Status::OK();
}

/// Turns the oldest sealed memtable into an L0 table. False when there is nothing to do.
bool LsmEngine::FlushOldest() {
  const std::lock_guard flush_lock(flush_mutex_);
  return FlushOldestLocked();
}

/// Under flush_mutex_.
bool LsmEngine::FlushOldestLocked() {
  if (failed() || medium_failed()) return false;
  std::shared_ptr<LoggedMemTable> oldest;
  uint32_t head = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    if (state_owner_->immutables.empty()) return false;
    if (IsBlockedNow()) return false;
    Result<uint32_t> free_head = manifest_.TakeHead();
    if (!free_head.ok()) {  // a merge will free one
      if (*options_.compaction.kind == MergeKind::kNone) Block(L0IsFull());
      return false;
    }
    head = *free_head;
    oldest = state_owner_->immutables.back();
  }
  const uint64_t begin = NowNanos();
  // Not even lack of memory is waited out: the flush marks entries as it goes.
  const Status s = base::NoThrow([&] { return FlushTable(oldest, head); });
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(EngineCounter::kFlushNanos, nanos);
  if (s.IsOutOfSpace() && oldest->is_copied) {  // nothing has changed
    const std::lock_guard lock(structure_mutex_);
    manifest_.ReturnHead(head);
    Block(s);
    return false;
  }
  if (!s.ok()) Fail(s);
  if (!s.ok()) return false;
  Unblock();
  if (options_.listener != nullptr) {
    options_.listener->OnFlush({.entries = oldest->table->entries(), .nanos = nanos});
  }
  return true;
}

Status LsmEngine::FlushTable(const std::shared_ptr<LoggedMemTable>& oldest, uint32_t head) {
  const base::ActivityScope activity(base::Activity::kFlush);
  // Writers that found the memtable before it was sealed have left after this.
  pmem::SynchronizeEpoch();
  if (oldest->table->state() == memtable::State::kSealed) {  // not if a flush found no room
    oldest->table->Advance(memtable::State::kFlushing);
  }
  // On page-cache media a version must be on the medium before the one it replaces is marked dead,
  // and a batch whole before it counts as flushed. Links need no sync: a rebuild makes them anew.
  if (Status s = SyncUnless(BRAID_MUTANT(kFlushEntriesNotSynced)); !s.ok()) return s;
  const index::LiveViews views = views_->Collect();
  format::TableRecord record{};
  record.id = oldest->table->id();
  record.level = 0;
  record.head = head;
  if (BRAID_MUTANT(kManifestBeforeLinks)) {
    record.entries = oldest->table->entries();
    record.max_sequence = sequence_.load();
    const std::lock_guard lock(structure_mutex_);
    AddTable(record);
    if (Status s = manifest_.Commit(); !s.ok()) Fail(s);
    manifest_.RemoveTable(record.id);
  }
  Result<flush::FlushResult> flushed = LinkOrCopy(*oldest, views, head);
  if (!flushed.ok()) return flushed.status();
  record.entries = flushed->entries;
  record.max_sequence = flushed->max_sequence;
  std::list<flush::WaitingTable> table(1);
  table.front() = {record, std::move(flushed->touched), std::move(flushed->dead_extents)};
  if (BRAID_MUTANT(kWaitingExtentsFreed)) {
    reclaimer_.Retire({.chunks = {}, .extents = std::move(table.front().dead_extents)});
  }
  if (Status s = ShowFlushed(*oldest, &table); !s.ok()) return s;
  if (!table.empty() && !table.front().dead_extents.empty()) {
    reclaimer_.Retire({.chunks = {}, .extents = std::move(table.front().dead_extents)});
  }
  RetireWriteAheadChunks();
  counters_.Add(EngineCounter::kFlushes);
  counters_.Add(EngineCounter::kFlushedEntries, record.entries);
  UpdatePressure();
  FreeMemoryIfShort();
  return GroupIsComplete() ? Checkpoint() : Status::OK();
}

/// Makes a list of the memtable's entries behind head `head`: durable, unless the table waits.
Result<flush::FlushResult> LsmEngine::LinkOrCopy(const LoggedMemTable& memtable,
                                                 const index::LiveViews& views, uint32_t head) {
  const uint64_t place = format::kTableHeadsOffset + head * sizeof(format::TableHead);
  if (!memtable.is_copied) {
    flush::LinkFlush flush(pool_.get(), &usage_, lookup_cache_.get(),
                           Waits(memtable) ? flush::WriteBack::kLater : flush::WriteBack::kNow);
    return flush.Run(*memtable.table->tree(), views, place);
  }
  flush::CopyFlush flush(pool_.get(), &usage_, lookup_cache_.get(), memtable.table->id());
  Result<flush::FlushResult> flushed = flush.Run(memtable.table->tree().get(), views, place);
  if (!flushed.ok()) return flushed;
  // On page-cache media copies, and chunks that stay, must be on the medium before their table is
  // named: a rebuild frees what the log still has of it.
  if (Status s = SyncUnless(BRAID_MUTANT(kCopyFlushNotSynced)); !s.ok()) return s;
  return flushed;
}

/// Merges the oldest L0 table into L1. False when there is nothing to do.
bool LsmEngine::MergeOldest() {
  {
    const std::lock_guard lock(structure_mutex_);
    if (state_owner_->version->l0.empty()) return false;
  }
  const uint64_t begin = NowNanos();
  const Status s = base::NoThrow([&] { return MergeTable(); });
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(EngineCounter::kMergeNanos, nanos);
  if (!s.ok() && s.code() != Status::Code::kAborted) Fail(s);
  if (s.ok() && options_.listener != nullptr) {
    options_.listener->OnMerge({.entries = merged_last_, .nanos = nanos});
  }
  return s.ok();
}

Status LsmEngine::MergeTable() {
  std::shared_ptr<level::PmemTable> source;
  std::shared_ptr<level::PmemTable> target;
  compaction::BatchProgress resumed;
  std::unique_ptr<compaction::CompactionJob> job;
  bool adopts = false;
  if (OldestWaits()) {
    if (Status s = Checkpoint(); !s.ok()) return s;
  }
  if (*options_.compaction.kind == MergeKind::kCopy) {
    if (Status s = CopyOldest(); !s.ok()) return s;
  }
  {
    const std::lock_guard lock(structure_mutex_);
    const level::Version& version = *state_owner_->version;
    source = version.l0.back();
    target = version.l1;
    if (manifest_.record().merge_id != 0) resumed = resumed_merge_;
    adopts = CanAdopt(*source, *target);
    if (adopts) StartIndexAnew(target.get());
    job = std::make_unique<compaction::CompactionJob>(pool_.get(), &manifest_, source, target,
                                                      IndexTree(), options_.compaction);
    const compaction::TargetTree trees = TreesOfL1();
    job->SetNextTree(trees.next, trees.next_min_height);
    if (adopts) job->Adopt();
    if (Status s = job->Begin(resumed); !s.ok()) return s;
  }
  if (Status s = RunMerge(job.get(), resumed); !s.ok()) return s;
  const std::vector<uint64_t> originals = MarkCopiedOriginals(*source);
  {
    const std::lock_guard lock(structure_mutex_);
    auto version = std::make_shared<level::Version>(*state_owner_->version);
    version->l0.pop_back();
    NextState next = CopyState();
    next.state->version = std::move(version);
    if (pool_->failed()) return pool_->FaultStatus();
    if (Status s = job->Finish(); !s.ok()) return s;
    resumed_merge_ = {};
    SwapState(std::move(next));
  }
  counters_.Add(EngineCounter::kMerges);
  merged_last_ = job->merged_entries();
  // What is adopted is in order: it gives no reason to arrange L1.
  if (!adopts) counters_.Add(EngineCounter::kMergedEntries, merged_last_);
  AccountDead(job->dead());
  AccountDead(originals);
  RetireEmptyChunks();
  FitMemory();
  UpdatePressure();
  return Status::OK();
}

/// Whether all of the source may become L1 as it is. Under structure_mutex_.
bool LsmEngine::CanAdopt(const level::PmemTable& source, const level::PmemTable& target) const {
  return source.is_load() && target.is_counted() && target.entries() == 0 &&
         manifest_.record().merge_id == 0 && second_chance_ == nullptr &&
         *options_.compaction.persistence == MergePersistence::kRedoLog;
}

/// L1 gets entries that its index does not know. Under structure_mutex_.
void LsmEngine::StartIndexAnew(level::PmemTable* l1) {
  if (index_ == nullptr || BRAID_MUTANT(kAdoptionKeepsIndex)) return;
  auto fresh = std::make_unique<cache::DramIndex>(pool_.get(), 1);
  std::list<std::shared_ptr<const void>> old{index_->tree()};
  // Before L1 shows the entries: a complete index would say that there are none.
  l1->set_tree(nullptr, 1);
  next_index_.reset();  // nobody reads it yet
  index_.swap(fresh);
  reclaimer_.RetireMemory(std::move(old));
}

/// The merge that is open, be it of copies or of a table; else the oldest table.
bool LsmEngine::MergeNext() {
  bool copies_are_open = false;
  bool merge_is_open = false;
  {
    const std::lock_guard lock(structure_mutex_);
    const format::ManifestRecord& record = manifest_.record();
    merge_is_open = record.merge_id != 0;
    for (uint32_t i = 0; i < record.table_count; ++i) {
      copies_are_open = copies_are_open || (record.tables[i].flags & format::kTableOfCopies) != 0;
    }
  }
  if (copies_are_open) return FinishCopies();
  return *options_.compaction.kind != MergeKind::kNone || merge_is_open ? MergeOldest() : false;
}

/// One piece of work of the compaction thread, the most urgent first.
bool LsmEngine::CompactionStep() {
  const std::lock_guard merge_lock(merge_mutex_);
  if (stop_merges_.load() || failed() || medium_failed()) return false;
  FitMemory();
  FreeMemoryIfShort();
  BeginRound();
  compaction::StoreFacts facts;
  facts.unindexed = LacksIndexes();
  facts.l0_found = l0_found_;
  bool merge_is_open = false;
  {
    const std::lock_guard lock(structure_mutex_);
    const auto& l0 = state_owner_->version->l0;
    facts.l0_tables = l0.size();
    if (round_) {
      facts.l0_awaited = static_cast<uint64_t>(std::count_if(
          l0.begin(), l0.end(), [&](const auto& table) { return table->id() <= round_->tables; }));
    }
    merge_is_open = manifest_.record().merge_id != 0;
    // How much a merge by pointers has done before a crash is only known by counting after it.
    if ((manifest_.record().merge_flags & format::kMergeByPointers) != 0) facts.unindexed = false;
  }
  {
    const std::lock_guard lock(work_mutex_);
    facts.finish_all = finish_all_ > 0;
  }
  if (ReadersHold(facts)) return facts.unindexed && IndexStep();
  compaction::CompactionPlan plan = compaction::Pick(facts, options_.compaction);
  if (plan == compaction::CompactionPlan::kIndex) {
    if (IndexStep()) return true;
    facts.unindexed = false;
    plan = compaction::Pick(facts, options_.compaction);
  }
  // Its redo would be made again after a crash: nothing that it marked dead may be freed before it
  // ends.
  if (merge_is_open && !BRAID_MUTANT(kOpenMergeWaits)) return MergeNext();
  // Every other step is that of who waits: beside a busy writer there are always tables to merge.
  if (round_ && facts.l0_awaited == 0) round_->has_turn = !round_->has_turn;
  const bool merges_first = !round_ || facts.l0_awaited > 0 || !round_->has_turn;
  if (plan == compaction::CompactionPlan::kMergeOldest && merges_first) return MergeOldest();
  if (round_) return RoundStep();
  if (IndexStep()) return true;
  if (RemakeIndexStep()) return true;
  if (FillLookupStep()) return true;
  if (CountStep()) return true;
  if (DropStep()) return true;
  // First: it empties the chunks that a collection would copy from.
  return ArrangeStep() || CollectStep();
}

bool LsmEngine::IsStopping() const {
  const std::lock_guard lock(work_mutex_);
  return stopping_;
}

/// Without threads: does all work there is.
void LsmEngine::RunInline() {
  const std::lock_guard lock(inline_mutex_);
  while (GuardedStep() || Guarded(&LsmEngine::Reclaim)) {
  }
}

Status LsmEngine::Flush() {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  SealActive(nullptr);
  Status idle = WaitUntilIdle(false);
  if (idle.ok()) idle = Checkpoint();
  if (idle.ok() && closed()) return Status::Closed();  // it may have come in between
  return idle.ok() ? BlockedReason() : idle;
}

Status LsmEngine::Compact() {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  SealActive(nullptr);
  Status idle = WaitUntilIdle(true);
  if (idle.ok()) idle = Checkpoint();
  if (idle.ok() && closed()) return Status::Closed();
  return idle.ok() ? BlockedReason() : idle;
}

}  // namespace braid::engine
