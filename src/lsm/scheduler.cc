// Purpose: what the background does next.
// Thread safety, invariants, persistence: see scheduler.h.
#include "lsm/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/no_throw.h"
#include "lsm/level_facts.h"

namespace braid::lsm {

namespace {
/// Without a write for so long, the store is taken to be at rest.
constexpr uint64_t kQuietNanos = 1'000'000'000;
/// Tables of L0 that make merging them urgent: each get asks all of them.
constexpr uint64_t kManyTables = 8;

/// Bytes that a step of the kind writes, where nobody counts them: those that copy fill about a
/// chunk, and merges are charged batch by batch.
uint64_t GuessOf(compaction::Action action, uint64_t chunk_bytes) noexcept {
  using compaction::Action;
  const bool copies =
      action == Action::kRecluster || action == Action::kCollect || action == Action::kMakeRoom;
  if (action == Action::kFillTier) return 0;  // its merge is charged
  return copies ? chunk_bytes : 0;
}

}  // namespace

void Scheduler::TellPressure(bool resume) {
  const auto versions = store_.versions.Lock();
  const level::ReadState& state = versions.state();
  const auto tell = [&](uint64_t l0, uint64_t immutables, bool full) {
    resume ? store_.controller.Resume(l0, immutables, full)
           : store_.controller.Update(l0, immutables, full);
  };
  if (store_.errors.blocked()) return tell(0, 0, false);  // writers get the reason
  const uint64_t behind = TablesBehind(store_, state);
  store_.limit.SetUrgent(behind >= kManyTables || state.immutables.size() > 1);
  tell(behind, state.immutables.size(), store_.HoldsWritersUp(state));
}

void Scheduler::Fail(const Status& status) noexcept {
  if (store_.errors.Fail(status)) {
    if (store_.options.listener != nullptr) store_.options.listener->OnBackgroundError(status);
    base::IgnoreExceptions(
        [&] { Log("writes are refused until the database is reopened: " + status.ToString()); });
  }
  store_.controller.Release();
  Wake();
}

/// A flush finds no room: no chunk for the copies of a write-ahead log, or no head for another
/// table when nothing is merged. Or a rewrite finds none, and writers wait for it. Unlike a failure
/// it ends when there is room again.
void Scheduler::Block(const Status& reason, uint64_t free_before) {
  store_.errors.Block(reason, free_before, store_.pool->free_chunks());
  store_.controller.Update(0, 0, false);  // callers that wait get the reason
  Wake();
}

void Scheduler::Unblock() {
  if (store_.errors.Unblock()) UpdatePressure();
}

/// Whether trying again is of no use.
bool Scheduler::IsBlockedNow() const {
  // Where nothing is merged, asking for a head is cheap.
  return *store_.options.compaction.kind != MergeKind::kNone &&
         store_.errors.IsBlockedAt(store_.pool->free_chunks());
}

bool Scheduler::RunStep(bool (Scheduler::*step)()) {
  bool worked = false;
  const Status s = base::CatchToStatus([&] {
    worked = (this->*step)();
    return Status::OK();
  });
  if (store_.pool->failed()) {
    if (!failed()) Fail(base::CatchToStatus([&] { return store_.pool->FaultStatus(); }));
    return false;
  }
  if (s.ok()) return worked;
  // Nothing was changed: later again, when there is more memory. Callers that wait for it get the
  // reason.
  base::IgnoreExceptions([&] { Log("background work waits: " + s.ToString()); });
  if (step == &Scheduler::FlushOldest) requests_.FlushFailed(s);
  if (step == &Scheduler::CompactionStep) EndRound(s);
  return false;
}

/// Turns the oldest immutable memtable into an L0 table. False when there is nothing to do.
bool Scheduler::FlushOldest() { return FlushOldestHeld(store_.flusher.HoldFlushes()); }

bool Scheduler::FlushOldestHeld(const flush::Flusher::Lock& flushes_held) {
  if (store_.errors.ended() || IsBlockedNow()) return false;
  using State = flush::Flusher::Outcome::State;
  const uint64_t begin = NowNanos();
  store_.limit.Begin();
  const base::WorkClock::Scope work(&work_clock_, BackgroundWork::kFlush);
  const uint64_t free_before = store_.pool->free_chunks();
  const Result<flush::Flusher::Outcome> flushed = store_.flusher.FlushOldest(flushes_held);
  if (!flushed.ok()) {
    Fail(flushed.status());
    return false;
  }
  if (flushed->state == State::kNoRoom) Block(flushed->reason, free_before);
  if (flushed->state != State::kFlushed) return false;
  counters_.Add(Counter::kFlushes);
  counters_.Add(Counter::kFlushedEntries, flushed->table_entries);
  UpdatePressure();
  FreeMemoryIfShort();
  if (store_.flusher.GroupIsComplete() && !WriteBackGroup().ok()) return false;
  store_.limit.Charge(flushed->table_entries * 64);  // a line with links an entry
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(Counter::kFlushNanos, nanos);
  store_.controller.stalls()->latencies()->Record(LatencyKind::kFlush, nanos);
  Unblock();
  if (store_.options.listener != nullptr) {
    store_.options.listener->OnFlush({.entries = flushed->entries, .nanos = nanos});
  }
  return true;
}

Status Scheduler::WriteBackGroup() {
  const flush::Flusher::Lock groups_held = store_.flusher.HoldGroups();
  // Close writes the group back, too: what stopped the store is the answer, not that it is closed.
  if (store_.pool->failed()) return store_.pool->FaultStatus();
  if (failed()) return store_.errors.failure();
  Status s = store_.flusher.WriteBackGroup(groups_held);
  if (!s.ok()) Fail(s);
  return s;
}

/// False when it was stopped, or has failed.
bool Scheduler::Merge(const compaction::Plan& plan) {
  const uint64_t begin = NowNanos();
  const Result<compaction::Merger::Merged> merged =
      base::CatchToStatus([&] { return MergeTables(plan); });
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(Counter::kMergeNanos, nanos);
  store_.controller.stalls()->latencies()->Record(LatencyKind::kMerge, nanos);
  if (!merged.ok()) {
    if (merged.status().code() != Status::Code::kAborted) Fail(merged.status());
    return false;
  }
  if (store_.options.listener != nullptr) {
    store_.options.listener->OnMerge(
        {.tables = merged->tables, .entries = merged->entries, .nanos = nanos});
  }
  return true;
}

Result<compaction::Merger::Merged> Scheduler::MergeTables(const compaction::Plan& plan) {
  BRAID_DCHECK(!plan.inputs.empty() && plan.from < plan.to);
  if (store_.versions.Lock().Waits(plan.inputs.front())) {
    if (Status s = WriteBackGroup(); !s.ok()) return s;
  }
  Result<compaction::Merger::Merged> merged = store_.merger.Merge(plan);
  if (!merged.ok()) return merged;
  if (plan.from > 0 && plan.is_bottom) {
    store_.collector.ForgetPinned();
    store_.tier_filler.ForgetStuck();
  }
  counters_.Add(Counter::kMerges, merged->tables);
  counters_.Add(Counter::kMergedEntries, merged->entries);
  if (merged->is_in_order) counters_.Add(Counter::kMergedInOrder, merged->entries);
  store_.indexes.Fit();
  UpdatePressure();
  return merged;
}

/// False when there was nothing, or no room.
Result<bool> Scheduler::Rewrite(const compaction::Plan& plan) {
  if (plan.from == 0) {
    const uint64_t newest = store_.versions.Lock().Keep()->version->l0().front()->id();
    if (store_.versions.Lock().Waits(newest)) {
      if (Status s = WriteBackGroup(); !s.ok()) return s;
    }
  }
  const uint64_t begin = NowNanos();
  const uint64_t free_before = store_.pool->free_chunks();
  compaction::Merger::Merged merged{.tables = 0};
  Result<bool> done = store_.rewriter.Step(plan.from, plan.is_awaited, &merged);
  // A list that finds no room must not keep deletes that are in L0 from making some.
  const bool waits =
      done.ok() && !*done && plan.from > 0 && !plan.is_awaited && !store_.stop_merges.load();
  if (waits) done = store_.rewriter.Step(0, false, &merged);
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(Counter::kMergeNanos, nanos);
  store_.controller.stalls()->latencies()->Record(LatencyKind::kMerge, nanos);
  if (done.ok() && !*done) BlockIfStopped(free_before);
  if (!done.ok() || !*done) return done;
  Unblock();
  store_.collector.ForgetPinned();
  counters_.Add(Counter::kMerges);
  counters_.Add(Counter::kMergedEntries, merged.entries);
  store_.indexes.Fit();
  UpdatePressure();
  if (store_.options.listener != nullptr) {
    store_.options.listener->OnMerge(
        {.tables = merged.tables, .entries = merged.entries, .nanos = nanos});
  }
  return true;
}

/// After a step that has found no room. Where L0 has as many tables as stop writers, these would
/// wait for good.
void Scheduler::BlockIfStopped(uint64_t free_before) {
  if (store_.stop_merges.load() || store_.errors.ended()) return;
  const size_t tables = store_.versions.Lock().Keep()->version->l0().size();
  if (tables < store_.options.compaction.l0_stop) return;
  // The tier may take more.
  if (!store_.tier_filler.GiveMore()) Block(store_.pool->FullError(), free_before);
}

/// Whether writes have ended for now, or somebody waits for all work to be done.
bool Scheduler::IsAtRest() {
  if (requests_.AnyWaits()) return true;
  if (!store_.options.background_threads) return false;
  const uint64_t writes = store_.sequence.load(std::memory_order_relaxed);
  const uint64_t now = NowNanos();
  if (writes != std::exchange(writes_seen_, writes)) idle_since_ = now;
  return now - idle_since_ >= kQuietNanos;
}

compaction::Occasion Scheduler::OccasionOfNow() {
  return {
      .at_rest = IsAtRest(),
      .awaited = requests_.AnyWaits(),
      .in_round = round_.has_value(),
      .may_begin = !round_ || !round_->began_pass,
      .merged = counters_.Sum(Counter::kMergedEntries) - counters_.Sum(Counter::kMergedInOrder)};
}

/// A step of a job that goes over L1 in passes; the round has one of its own.
template <class Job>
bool Scheduler::PassStep(Job* job) {
  const uint64_t passes = job->passes();
  const bool worked = Worked(job->Step(OccasionOfNow()));
  if (round_ && job->passes() != passes) round_->began_pass = true;
  return worked;
}

/// As many as there are threads for them; without threads a constant: crash runs can be repeated.
size_t Scheduler::MostMerges() const {
  if (!store_.options.background_threads) return format::kMaxMerges;
  return crew_.helpers() + 1;
}

/// On threads that no other store's work waits for.
size_t Scheduler::MergesNow() const {
  const size_t most = MostMerges();
  return store_.options.background_threads ? std::min(most, 1 + crew_.SpareThreads()) : most;
}

/// What the next plan is made from, except the round.
compaction::StoreFacts Scheduler::FactsOfNow() {
  compaction::StoreFacts facts;
  facts.lacks_index = store_.indexes.LackSome();
  facts.has_tier = store_.tier_filler.is_wanted();
  facts.tier_presses = store_.tier_filler.Presses();
  facts.tier_writes = store_.tier_filler.IsWriting();
  facts.l0_found = l0_found_;
  facts.drain = requests_.AnyWaits();
  TellOfMerges(&store_, &facts);
  const auto versions = store_.versions.Lock();
  const bool side_by_side = MayMergeSideBySide(store_, versions, MostMerges());
  facts.most_merges = side_by_side ? MergesNow() : 1;
  BRAID_DCHECK(facts.most_merges >= 1 && facts.most_merges <= format::kMaxMerges);
  TellOfTables(store_, versions, round_ ? std::optional(round_->request.tables) : std::nullopt,
               side_by_side, &facts);
  TellOfLists(store_, versions, &facts);
  facts.open_merge = compaction::Merger::OpenMergeOf(versions);
  // How much a merge by pointers has done before a crash is only known by counting after it.
  for (const format::MergeRecord& merge : versions.record().merges) {
    if ((merge.flags & format::kMergeByPointers) != 0) facts.lacks_index = false;
  }
  return facts;
}

/// One piece of work of the compaction thread, the most urgent first.
bool Scheduler::CompactionStep() {
  const base::MutexLock merge_lock(merge_mutex_);
  if (store_.stop_merges.load() || store_.errors.ended()) return false;
  store_.indexes.Fit();
  is_sparse_.store(store_.indexes.IsSparse(), std::memory_order_relaxed);
  FreeMemoryIfShort();
  BeginRound();
  compaction::StoreFacts facts = FactsOfNow();
  const bool may_hold = !facts.drain && !store_.errors.blocked();
  facts.is_granted = store_.readers.Hold(may_hold, facts.levels.front().size());
  TellRound(&facts);
  for (;;) {
    const compaction::Plan plan = compaction::Pick(facts, store_.options.compaction);
    if (plan.action == compaction::Action::kNothing) return false;
    if (plan.action == compaction::Action::kNextPhase) {
      if (!NextPhase(&facts)) return false;
      continue;
    }
    CountPhaseStep(plan, facts);
    store_.limit.Begin();
    const bool worked = CarryOut(plan);
    store_.limit.Charge(worked ? GuessOf(plan.action, store_.pool->chunk_bytes()) : 0);
    if (worked) return true;
    // What a close has stopped is not done.
    if (store_.stop_merges.load() || store_.errors.ended()) return false;
    facts.tried.Add(plan.action);
  }
}

/// False when it comes to nothing.
bool Scheduler::CarryOut(const compaction::Plan& plan) {
  using compaction::Action;
  const base::WorkClock::Scope work(&work_clock_, compaction::WorkOf(plan.action));
  switch (plan.action) {
    case Action::kMerge:
      // Each list has its turn once, whatever comes into it behind that.
      if (plan.is_awaited) round_->down_from = plan.from + 1;
      return Merge(plan);
    case Action::kFinishCopies:
      return Worked(store_.merger.FinishCopies());
    case Action::kRewrite:
      if (plan.is_awaited) round_->down_from = plan.from + 1;
      return Worked(base::CatchToStatus([&] { return Rewrite(plan); }));
    case Action::kMarkOriginals:
      return Worked(store_.Rewrites() ? store_.rewriter.DropOriginals()
                                      : store_.merger.DropOriginals());
    case Action::kIndex:
      return Worked(store_.indexes.BuildStep());
    case Action::kRemakeIndex:
      return Worked(store_.indexes.RemakeStep());
    case Action::kFillLookups:
      return Worked(store_.lookup_filler.Step());
    case Action::kCount:
      return store_.accounts.CountStep();
    case Action::kDrop:
      if (store_.Rewrites()) return Worked(store_.rewriter.DropKept(OccasionOfNow()));
      return PassStep(&store_.dropper);
    case Action::kRecluster:
      return PassStep(&store_.reclusterer);
    case Action::kCollect:
      return Worked(store_.Rewrites() ? store_.rewriter.Collect(OccasionOfNow())
                                      : store_.collector.Step(OccasionOfNow()));
    case Action::kFillTier:
      return PassStep(&store_.tier_filler);
    case Action::kMakeRoom:
      BRAID_DCHECK(round_.has_value());  // room is made in a round only
      return Worked(store_.room_maker.Step(&round_->stuck));
    case Action::kNothing:
    case Action::kNextPhase:
      break;
  }
  return false;
}

/// Answers concurrent reader processes. Always false: it is no work that others wait for.
bool Scheduler::ServeReaders() {
  if (!store_.readers.AnyAsks()) return false;
  if (store_.errors.ended()) {
    store_.readers.Tell(media::GrantWaitsFor::kFailure);
    return false;
  }
  if (store_.stop_merges.load()) return false;  // it closes
  if (store_.readers.WantSeal()) {
    const uint64_t newest = store_.versions.Lock().Keep()->active->id();
    SwitchMemTable(nullptr);
    store_.readers.AwaitFlush(newest);
  }
  if (!store_.readers.MayGrant(requests_.AnyWaits())) return false;
  if (WriteBackGroup().ok()) store_.readers.Grant();
  store_.readers.EndRequest();
  return false;
}

/// Without threads: does all work there is.
void Scheduler::RunInline(DrainProgress* progress) {
  const base::MutexLock lock(inline_mutex_);
  while (RunAnyStep() || RunStep(&Scheduler::Reclaim)) {
    // Once more with the share that it had: how much is left is not known.
    if (progress != nullptr && progress->IsOver([] { return 0.0; })) return;
  }
  if (!failed()) store_.trimmer.TrimInline();
}

/// Everything the log holds becomes a table, so that the next open replays nothing.
Status Scheduler::FlushForClose() {
  {
    const level::VersionSet::Locked versions = store_.versions.Lock();
    const std::shared_ptr<memtable::MemTable> active = versions.state().active;
    if (active->entries() != 0) {
      level::NextState next = versions.Next();
      next.SwitchMemTable(store_.NewMemTable(versions.NewTableId(), active.get()));
      active->Freeze();
      versions.Show(std::move(next));
    }
  }
  store_.stop_merges.store(false);
  // When no head is free for another table, a merge makes one.
  const auto merge = [this] {
    store_.readers.Revoke();
    compaction::StoreFacts facts = FactsOfNow();
    facts.most_merges = 1;
    const compaction::Plan plan = compaction::PickMerge(facts, store_.options.compaction);
    return plan.action != compaction::Action::kNothing && CarryOut(plan);
  };
  while (FlushOldest() || (store_.versions.AnyImmutable() && !failed() && merge())) {
  }
  if (!failed()) {
    if (Status s = WriteBackGroup(); !s.ok()) return s;
    if (Status s = store_.errors.block_reason(); !s.ok()) return s;
  }
  while (RunStep(&Scheduler::Reclaim)) {
  }
  return store_.errors.failure();
}

void Scheduler::Fill(Statistics* statistics) const {
  work_clock_.Fill(statistics);
  statistics->syncs = counters_.Sum(Counter::kSyncs);
  statistics->flushes = counters_.Sum(Counter::kFlushes);
  statistics->flushed_entries = counters_.Sum(Counter::kFlushedEntries);
  statistics->flush_micros = counters_.Sum(Counter::kFlushNanos) / 1000;
  statistics->merges = counters_.Sum(Counter::kMerges);
  statistics->merged_entries = counters_.Sum(Counter::kMergedEntries);
  statistics->merge_micros = counters_.Sum(Counter::kMergeNanos) / 1000;
}

}  // namespace braid::lsm
