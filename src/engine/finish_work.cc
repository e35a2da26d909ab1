// Purpose: waiting for work to be done: for flushes, and for merges and all that comes behind them.
// Who waits, waits for what was there when it asked, however much others write meanwhile: for the
// tables up to the last id, then for one pass of everything else over what there was when the pass
// began. The compaction thread serves all requests of a moment by one round, and while tables to be
// merged keep coming, every other step is the round's. Thread safety, invariants, persistence: see
// scheduler.h.
#include <algorithm>
#include <chrono>

#include "base/no_throw.h"
#include "compaction/garbage_collection.h"
#include "compaction/picker.h"
#include "engine/scheduler.h"

namespace braid::engine {

namespace {
/// Indexes may have to be made anew over fewer entries, each time there is no memory for them.
constexpr uint64_t kIndexesAnew = 8;
constexpr uint64_t kIndexedAStep = 32 * 1024;
/// Places for a large value that may turn out to be of no use.
constexpr uint64_t kRoomsTried = 16;
}  // namespace

/// Until no sealed memtable with an id up to `tables` is left, or flushes end.
void Scheduler::AwaitFlushes(uint64_t tables) {
  requests_.Wait([this, tables] {
    if (failed() || stopping_.load() || store_.errors.blocked()) return true;
    const auto versions = store_.versions.Lock();
    const auto& sealed = versions.state().immutables;
    return sealed.empty() || sealed.back()->id() > tables;
  });
  // The last flush shows its table before it is counted and told of; whoever waits for it finds
  // that done.
  const Flusher::Lock flushed = store_.flusher.HoldFlushes();
}

/// Waits until no memtable that is sealed now is left and, if `merged_too`, what was written until
/// now is merged, indexed and collected.
Status Scheduler::WaitUntilIdle(bool merged_too) {
  // Tables that hold what was written until now have ids up to this one.
  const uint64_t tables = store_.versions.Lock().next_table_id() - 1;
  if (!merged_too) {
    store_.options.background_threads ? AwaitFlushes(tables) : RunInline();
    return store_.errors.failure();
  }
  std::optional<Status> answer;
  {
    const FinishRequests::Waiter waiter(&requests_);
    if (store_.options.background_threads) AwaitFlushes(tables);
    const uint64_t request = requests_.Ask(tables);
    if (store_.options.background_threads) {
      requests_.Wait([this, request] {
        if (failed() || stopping_.load() || requests_.Answer(request)) return true;
        WakeJobs();
        return false;
      });
    } else {
      RunInline();
    }
    answer = requests_.Answer(request);
  }
  Status outcome = store_.errors.failure();
  if (outcome.ok() && answer) outcome = *answer;
  if (outcome.ok() && store_.options.background_threads) {
    while (Guarded(&Scheduler::Reclaim)) {
    }
  }
  return outcome;
}

/// Takes up what was asked for, unless a round is under way.
void Scheduler::BeginRound() {
  if (round_) return;
  const std::optional<FinishRequests::Request> request = requests_.Unserved();
  if (request) round_.emplace().request = *request;
}

/// Who asked before the round, or was to be served by the next one when it can't go on, has his
/// answer.
void Scheduler::EndRound(const Status& outcome) noexcept {
  if (!outcome.ok()) {
    requests_.GiveUp(outcome);
  } else if (round_) {
    requests_.Served(round_->request);
  }
  round_.reset();
}

/// The next step of the round, when its tables are merged. False when it has none any more.
bool Scheduler::RoundStep() {
  for (;;) {
    if (round_->phase == Round::Phase::kDone) break;
    if (RoundWork()) return true;
    // What a close has stopped is not done.
    if (store_.stop_merges.load() || store_.failed()) return false;
    round_->phase = static_cast<Round::Phase>(static_cast<int>(round_->phase) + 1);
    round_->steps_left.reset();
    round_->began_pass = false;
  }
  EndRound(Status::OK());
  return false;
}

/// False when there is nothing left to do for the phase.
bool Scheduler::RoundWork() {
  std::optional<uint64_t>& left = round_->steps_left;
  switch (round_->phase) {
    case Round::Phase::kIndex: {
      if (!left) {
        left = store_.pool->chunks();
        const auto versions = store_.versions.Lock();
        uint64_t entries = versions.l1()->entries();
        for (const auto& table : versions.state().version->l0) entries += table->entries();
        *left += kIndexesAnew * (2 + entries / kIndexedAStep);
      }
      return (*left)-- > 0 && (IndexStep() || store_.accounts.CountStep());
    }
    case Round::Phase::kDrop:
      return DropStep();
    case Round::Phase::kArrange:
      return ArrangeStep();
    case Round::Phase::kCollect: {
      if (!left) left = store_.accounts.Survey(compaction::kSparseWhenOver).sparse.size();
      return *left > 0 && (*left)-- > 0 && CollectStep();
    }
    case Round::Phase::kMakeRoom:
      if (!left) left = kRoomsTried;
      return *left > 0 && (*left)-- > 0 && Worked(store_.room_maker.Step(&round_->stuck));
    case Round::Phase::kDone:
      break;
  }
  return false;
}

}  // namespace braid::engine
