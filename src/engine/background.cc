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

namespace braid::engine {

namespace {
/// Without a write for so long, the store is taken to be at rest.
constexpr uint64_t kQuietNanos = 1'000'000'000;
}  // namespace

void LsmEngine::TellPressure(bool let_go) {
  const auto versions = versions_.Lock();
  const ReadState& state = versions.state();
  const auto tell = [&](uint64_t l0, uint64_t sealed, bool full) {
    let_go ? controller_.LetGo(l0, sealed, full) : controller_.Update(l0, sealed, full);
  };
  if (errors_.blocked()) return tell(0, 0, false);  // writers get the reason
  tell(state.version->l0.size(), state.immutables.size(), budget_.IsFull(*state.active));
}

void LsmEngine::Fail(const Status& status) noexcept {
  if (errors_.Fail(status)) {
    if (options_.listener != nullptr) options_.listener->OnBackgroundError(status);
    base::Try([&] { Log("writes end until the database is opened again: " + status.ToString()); });
  }
  controller_.Release();
  Wake();
}

/// A flush finds no room: no chunk for the copies of a write-ahead log, or no head for another
/// table when nothing is merged. Unlike a failure it ends when there is room again.
void LsmEngine::Block(const Status& reason) {
  errors_.Block(reason, pool_->free_chunks());
  controller_.Update(0, 0, false);  // whoever waits gets the reason
  Wake();
}

void LsmEngine::Unblock() {
  if (errors_.Unblock()) UpdatePressure();
}

/// Whether trying again is of no use.
bool LsmEngine::IsBlockedNow() const {
  // Where nothing is merged, asking for a head is cheap.
  return *options_.compaction.kind != MergeKind::kNone && errors_.IsBlockedAt(pool_->free_chunks());
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

/// Turns the oldest sealed memtable into an L0 table. False when there is nothing to do.
bool LsmEngine::FlushOldest() { return FlushOldestHeld(flusher_.HoldFlushes()); }

bool LsmEngine::FlushOldestHeld(const Flusher::Lock& flushes_held) {
  if (failed() || medium_failed() || IsBlockedNow()) return false;
  using State = Flusher::Outcome::State;
  const uint64_t begin = NowNanos();
  const Result<Flusher::Outcome> flushed = flusher_.FlushOldest(flushes_held);
  if (!flushed.ok()) {
    Fail(flushed.status());
    return false;
  }
  if (flushed->state == State::kNoRoom) Block(flushed->reason);
  if (flushed->state != State::kFlushed) return false;
  counters_.Add(EngineCounter::kFlushes);
  counters_.Add(EngineCounter::kFlushedEntries, flushed->table_entries);
  UpdatePressure();
  FreeMemoryIfShort();
  if (flusher_.GroupIsComplete() && !Checkpoint().ok()) return false;
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(EngineCounter::kFlushNanos, nanos);
  Unblock();
  if (options_.listener != nullptr) {
    options_.listener->OnFlush({.entries = flushed->entries, .nanos = nanos});
  }
  return true;
}

Status LsmEngine::Checkpoint() {
  const Flusher::Lock checkpoints_held = flusher_.HoldCheckpoints();
  // Close, too, checkpoints: what stopped the store is the answer, not that it is closed.
  if (medium_failed()) return MediumStatus();
  if (failed()) return errors_.failure();
  Status s = flusher_.Checkpoint(checkpoints_held);
  if (!s.ok()) Fail(s);
  return s;
}

/// Merges the oldest L0 table into L1. False when there is nothing to do.
bool LsmEngine::MergeOldest() {
  if (versions_.Lock().state().version->l0.empty()) return false;
  const uint64_t begin = NowNanos();
  const Result<Merger::Merged> merged = base::NoThrow([&] { return MergeTable(); });
  const uint64_t nanos = NowNanos() - begin;
  counters_.Add(EngineCounter::kMergeNanos, nanos);
  if (!merged.ok()) {
    if (merged.status().code() != Status::Code::kAborted) Fail(merged.status());
    return false;
  }
  if (options_.listener != nullptr) {
    options_.listener->OnMerge({.entries = merged->entries, .nanos = nanos});
  }
  return true;
}

Result<Merger::Merged> LsmEngine::MergeTable() {
  if (versions_.Lock().OldestWaits()) {
    if (Status s = Checkpoint(); !s.ok()) return s;
  }
  Result<Merger::Merged> merged = merger_.MergeOldest();
  if (!merged.ok()) return merged;
  counters_.Add(EngineCounter::kMerges);
  // What is adopted is in order: it gives no reason to arrange L1.
  if (!merged->adopted) counters_.Add(EngineCounter::kMergedEntries, merged->entries);
  indexes_.Fit();
  UpdatePressure();
  return merged;
}

/// The merge that is open, be it of copies or of a table; else the oldest table.
bool LsmEngine::MergeNext() {
  const Merger::OpenMerge open = merger_.FindOpenMerge();
  if (open == Merger::OpenMerge::kOfCopies) return Worked(merger_.FinishCopies());
  const bool may = *options_.compaction.kind != MergeKind::kNone;
  return (may || open == Merger::OpenMerge::kOfTable) && MergeOldest();
}

/// Gives back what no reader and no view can reach. False when nothing could be.
bool LsmEngine::Reclaim() { return Worked(reclaimer_.Reclaim(failed())); }

/// Whether writes have ended for now, or somebody waits for all work to be done.
bool LsmEngine::IsAtRest() {
  if (requests_.AnyWaits()) return true;
  if (!options_.background_threads) return false;
  const uint64_t writes = sequence_.load(std::memory_order_relaxed);
  const uint64_t now = NowNanos();
  if (writes != writes_seen_) {
    writes_seen_ = writes;
    quiet_since_ = now;
  }
  return now - quiet_since_ >= kQuietNanos;
}

Occasion LsmEngine::OccasionOfNow() {
  return {.at_rest = IsAtRest(),
          .awaited = requests_.AnyWaits(),
          .in_round = round_.has_value(),
          .may_begin = !round_ || !round_->began_pass,
          .merged = counters_.Sum(EngineCounter::kMergedEntries)};
}

bool LsmEngine::DropStep() {
  const uint64_t passes = dropper_.passes();
  const bool worked = Worked(dropper_.Step(OccasionOfNow()));
  if (round_ && dropper_.passes() != passes) round_->began_pass = true;
  return worked;
}

bool LsmEngine::ArrangeStep() {
  const uint64_t passes = arranger_.passes();
  const bool worked = Worked(arranger_.Step(OccasionOfNow()));
  if (round_ && arranger_.passes() != passes) round_->began_pass = true;
  return worked;
}

bool LsmEngine::CollectStep() { return Worked(collector_.Step(OccasionOfNow())); }

/// What makes reads faster. False when there is nothing to do.
bool LsmEngine::IndexStep() {
  return Worked(indexes_.BuildStep()) || Worked(indexes_.RemakeStep()) ||
         Worked(lookup_filler_.Step());
}

/// One piece of work of the compaction thread, the most urgent first.
bool LsmEngine::CompactionStep() {
  const std::lock_guard merge_lock(merge_mutex_);
  if (stop_merges_.load() || failed() || medium_failed()) return false;
  indexes_.Fit();
  FreeMemoryIfShort();
  BeginRound();
  compaction::StoreFacts facts;
  facts.unindexed = indexes_.LackSome();
  facts.l0_found = l0_found_;
  bool merge_is_open = false;
  {
    const auto versions = versions_.Lock();
    const auto& l0 = versions.state().version->l0;
    facts.l0_tables = l0.size();
    if (round_) {
      facts.l0_awaited =
          static_cast<uint64_t>(std::count_if(l0.begin(), l0.end(), [&](const auto& table) {
            return table->id() <= round_->request.tables;
          }));
    }
    merge_is_open = versions.record().merge_id != 0;
    // How much a merge by pointers has done before a crash is only known by counting after it.
    if ((versions.record().merge_flags & format::kMergeByPointers) != 0) facts.unindexed = false;
  }
  facts.finish_all = requests_.AnyWaits();
  if (readers_.Hold(!facts.finish_all && !errors_.blocked(), facts.l0_tables))
    return facts.unindexed && Worked(indexes_.BuildStep());
  compaction::CompactionPlan plan = compaction::Pick(facts, options_.compaction);
  if (plan == compaction::CompactionPlan::kIndex) {
    if (Worked(indexes_.BuildStep())) return true;
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
  if (accounts_.CountStep()) return true;
  if (DropStep()) return true;
  // First: it empties the chunks that a collection would copy from.
  return ArrangeStep() || CollectStep();
}

/// Answers processes that read beside this one. Always false: it is no work that others wait for.
bool LsmEngine::ServeReaders() {
  if (!readers_.AnyAsks()) return false;
  if (failed() || medium_failed()) {
    readers_.Tell(pmem::GrantWaitsFor::kFailure);
    return false;
  }
  if (stop_merges_.load()) return false;  // it closes
  if (readers_.WantSeal()) {
    const uint64_t newest = versions_.Lock().state().active->table->id();
    SealActive(nullptr);
    readers_.AwaitFlush(newest);
  }
  if (!readers_.MayGrant(requests_.AnyWaits())) return false;
  if (Checkpoint().ok()) readers_.Grant();
  readers_.EndRequest();
  return false;
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
  return idle.ok() ? errors_.block_reason() : idle;
}

Status LsmEngine::Compact() {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  SealActive(nullptr);
  Status idle = WaitUntilIdle(true);
  if (idle.ok()) idle = Checkpoint();
  if (idle.ok() && closed()) return Status::Closed();
  return idle.ok() ? errors_.block_reason() : idle;
}

}  // namespace braid::engine
