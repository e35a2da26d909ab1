// Purpose: gives a store's parts their work: what is flushed, merged, indexed, reclustered,
// collected and given back, when, and on which thread; callers that wait for work; and what writes
// and loads want done.
// Thread safety: any thread.
// Locks, in the order they may be taken: inline_mutex_, merge_mutex_, and after all of the store's
// (lsm_store.h) that of the set of jobs.
// Invariants:
//   1. Memtables are flushed, and L0 tables merged, in the order of their ids.
//   2. While concurrent reader processes are granted tables, CompactionStep stores nothing to the
//      pool; a merge elsewhere takes the tables back before.
//   3. An error of a step ends writes; a step that throws has done nothing, and comes again.
// Persistence: that of the parts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/check.h"
#include "base/counters.h"
#include "base/function_ref.h"
#include "base/job_set.h"
#include "base/mutex.h"
#include "base/work_clock.h"
#include "base/workers.h"
#include "compaction/picker.h"
#include "lsm/drain_requests.h"
#include "lsm/lsm_store.h"
#include "lsm/merge_crew.h"
#include "lsm/side_job.h"
#include "write/sync_rounds.h"

namespace braid::lsm {

/// All work that was there when somebody asked for it. Compaction thread (drain.cc).
struct FinishRound {
  DrainRequests::Request request;
  compaction::Phase phase = compaction::Phase::kMergeDown;
  uint32_t down_from = 1;              // lists of levels above have been merged down
  std::optional<uint64_t> steps_left;  // of the phase; none: it has not begun
  bool began_pass = false;             // the phase has begun a pass over L1 of its own
  bool has_turn = false;               // the next step is the round's, not a merge
  std::unordered_set<uint64_t> stuck;  // chunks of rooms that could not be emptied
};

/// Tells a caller that waits how far its work is, now and then. Thread of the call.
class DrainProgress {
 public:
  explicit DrainProgress(const std::function<bool(double)>* call,
                         const std::function<bool()>* enough = nullptr)
      : call_(*call), enough_(enough) {}
  bool is_wanted() const noexcept { return static_cast<bool>(call_); }
  /// Whether the caller gives up, or needs no more; so it is from then on. Now and then the caller
  /// gets what share of the work is done.
  bool IsOver(base::FunctionRef<double()> share);
  bool cancelled() const noexcept { return cancelled_; }

 private:
  const std::function<bool(double)>& call_;
  const std::function<bool()>* const enough_;  // may be null
  uint64_t told_at_ = 0;
  double share_ = 0;
  bool cancelled_ = false;
};

class Scheduler final : public write::Writer::Host, public BulkLoader::Host {
 public:
  /// The store may be made later than this, but before any call.
  explicit Scheduler(LsmStore* store) noexcept : store_(*store) {}

  /// Tables that the open has found in L0. Before Start.
  void SetL0Found(uint64_t tables) noexcept {
    BRAID_DCHECK(!jobs_.has_started());
    l0_found_ = tables;
  }
  void Start();
  /// No job runs when it returns, and none begins.
  void Stop();
  /// After Stop: everything that logs hold becomes a table, so that the next open replays nothing.
  Status FlushForClose();

  /// Puts an empty memtable in the place of `expected` (null: of whatever is active, unless empty).
  void SwitchMemTable(const memtable::MemTable* expected);
  /// Of what was written until now: tables that hold it have ids up to this one.
  uint64_t NewestTable() const;
  /// Waits until no memtable that is immutable now is left. Errors: why one is.
  Status WaitForFlushes();
  /// All of it: WaitForFlushes or, if `merged_too`, Drain.
  Status WaitUntilIdle(bool merged_too) {
    return merged_too ? Drain(NewestTable(), {}) : WaitForFlushes();
  }
  /// Waits until tables up to `tables` are merged, and what was there until now is indexed and
  /// collected. `progress` may be empty (CompactOptions). `enough`: the caller needs no more; may
  /// be null. Errors: why it is not; Aborted.
  Status Drain(uint64_t tables, const std::function<bool(double)>& progress,
               const std::function<bool()>* enough = nullptr);
  /// A flush that has found no room is tried again.
  void Unblock();
  /// While it is held nothing is merged.
  base::MutexHold HoldMerges() { return base::MutexHold(merge_mutex_); }
  void Log(const std::string& line) const {
    if (store_.options.logger) store_.options.logger(line);
  }
  void Fill(Statistics* statistics) const;

  // Writer::Host and BulkLoader::Host; scheduler_hosts.cc.
  void Wake() noexcept override;
  void SwitchFullMemTable(const memtable::MemTable* full) override;
  bool WaitForSpace(uint64_t reclaimed) override;
  Status Sync() override;
  void Fail(const Status& reason) noexcept override;
  Status WhyNot() const override;
  std::shared_ptr<memtable::MemTable> NewMemTable(uint64_t id,
                                                  const memtable::MemTable* before) override {
    return store_.NewMemTable(id, before);
  }
  Status FlushMemTables() override;
  bool FlushOldestHeld(const flush::Flusher::Lock& flushes_held) override;
  /// Errors: why writes have ended.
  Status WriteBackGroup() override;
  void LetWork(bool wait) override;
  void TellPressure(bool resume) override;

 private:
  enum class Counter : uint8_t {
    kSyncs,
    kFlushes,
    kFlushedEntries,
    kFlushNanos,
    kMerges,
    kMergedEntries,
    kMergedInOrder,  // of these, those that give no reason to recluster L1
    kMergeNanos,
    kCount
  };
  class BackgroundJob;
  class FlushWork;
  class CompactionWork;
  class SpaceWork;

  bool failed() const noexcept { return store_.errors.failed(); }
  /// Carries out a step of the background.
  bool RunStep(bool (Scheduler::*step)());
  bool RunAnyStep() {
    return RunStep(&Scheduler::FlushOldest) || RunStep(&Scheduler::CompactionStep);
  }
  /// What a step has come to.
  bool Worked(const Result<bool>& step) noexcept {
    if (!step.ok()) Fail(step.status());
    return step.ok() && *step;
  }
  void RunInline(DrainProgress* progress = nullptr);
  void UpdatePressure() { TellPressure(false); }
  /// What reclaims may be busy touching pages for longer than writers need to fill the budget:
  /// where memory is short, the thread that has just retired some does not wait for it.
  void FreeMemoryIfShort() {
    store_.budget.Look(is_sparse_.load(std::memory_order_relaxed));
    if (store_.budget.IsShort()) store_.reclaimer.ReclaimMemory();
  }
  void Block(const Status& reason, uint64_t free_before);
  void BlockIfStopped(uint64_t free_before);
  bool IsBlockedNow() const;

  bool FlushOldest();
  bool CompactionStep();
  compaction::StoreFacts FactsOfNow();
  size_t MostMerges() const;
  size_t MergesNow() const;
  bool CarryOut(const compaction::Plan& plan);
  bool Merge(const compaction::Plan& plan);
  Result<bool> Rewrite(const compaction::Plan& plan);
  Result<compaction::Merger::Merged> MergeTables(const compaction::Plan& plan);
  template <class Job>
  bool PassStep(Job* job);
  bool Reclaim() {
    const bool worked = Worked(store_.reclaimer.Reclaim(failed()));
    if (worked) requests_.Notify();  // who waits for space may find enough
    return worked;
  }
  bool ServeReaders();
  bool IsAtRest();
  compaction::Occasion OccasionOfNow();
  // drain.cc
  Status AwaitFlushes(uint64_t tables, DrainProgress* progress);
  void BeginRound();
  void EndRound(const Status& outcome) noexcept;
  void TellRound(compaction::StoreFacts* facts);
  void BeginPhase(compaction::StoreFacts* facts);
  void CountPhaseStep(const compaction::Plan& plan, const compaction::StoreFacts& facts);
  bool NextPhase(compaction::StoreFacts* facts);

  LsmStore& store_;
  base::Counters<Counter, static_cast<size_t>(Counter::kCount)> counters_;
  base::WorkClock work_clock_;
  DrainRequests requests_;
  write::SyncRounds syncs_;
  std::atomic<bool> stopping_{false};
  base::Mutex inline_mutex_;  // without threads: one runs the work at a time
  base::Mutex merge_mutex_;   // held by merges, indexing, collection
  base::JobSet jobs_;
  MergeCrew crew_;
  SideJob side_{&work_clock_};
  std::atomic<bool> is_sparse_{false};  // the index over L1, for want of memory
  uint64_t l0_found_ = 0;
  // Compaction thread.
  uint64_t writes_seen_ = 0;
  uint64_t idle_since_ = 0;
  std::optional<FinishRound> round_;
};

}  // namespace braid::lsm
