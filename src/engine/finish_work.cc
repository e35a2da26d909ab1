// Purpose: waiting for work to be done: for flushes, and for merges and all that comes behind them.
// Who waits, waits for what was there when it asked, however much others write meanwhile: for the
// tables up to the last id, then for one pass of everything else over what there was when the pass
// began. The compaction thread serves all requests of a moment by one round, and while tables to be
// merged keep coming, every other step is the round's. Thread safety, invariants, persistence: see
// lsm_engine.h.
#include <algorithm>
#include <chrono>

#include "base/no_throw.h"
#include "compaction/garbage_collection.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

namespace {
/// A wait is told of what it waits for; should that be missed, it looks after so long.
constexpr auto kLook = std::chrono::milliseconds(10);
/// Indexes may have to be made anew over fewer entries, each time there is no memory for them.
constexpr uint64_t kIndexesAnew = 8;
constexpr uint64_t kIndexedAStep = 32 * 1024;
/// Places for a large value that may turn out to be of no use.
constexpr uint64_t kRoomsTried = 16;
}  // namespace

/// Tables that hold what was written until now have ids up to this one.
uint64_t LsmEngine::LastTableId() const {
  const std::lock_guard lock(structure_mutex_);
  return next_table_id_ - 1;
}

/// Until no sealed memtable with an id up to `tables` is left, or flushes end.
void LsmEngine::AwaitFlushes(std::unique_lock<std::mutex>* work_lock, uint64_t tables) {
  const auto some_are_left = [&] {
    work_lock->unlock();
    bool left = false;
    {
      const std::lock_guard structure(structure_mutex_);
      const auto& sealed = state_owner_->immutables;
      left = !sealed.empty() && sealed.back()->table->id() <= tables;
    }
    work_lock->lock();
    return left;
  };
  while (error_.ok() && !stopping_ && !blocked_.load() && some_are_left()) {
    work_changed_.wait_for(*work_lock, kLook);
  }
  // The last flush shows its table before it is counted and told of; whoever waits for it finds
  // that done.
  work_lock->unlock();
  { const std::lock_guard flushed(flush_mutex_); }
  work_lock->lock();
}

/// Waits until no memtable that is sealed now is left and, if `merged_too`, what was written until
/// now is merged, indexed and collected.
Status LsmEngine::WaitUntilIdle(bool merged_too) {
  const uint64_t tables = LastTableId();
  std::unique_lock lock(work_mutex_);
  finish_all_ += merged_too ? 1 : 0;
  if (options_.background_threads) AwaitFlushes(&lock, tables);
  uint64_t request = 0;
  if (merged_too) {
    request = ++finish_asked_;
    finish_tables_ = std::max(finish_tables_, tables);
  }
  if (!options_.background_threads) {
    lock.unlock();
    RunInline();
    lock.lock();
  } else {
    while (error_.ok() && !stopping_ && finish_done_ < request) {
      WakeLocked();
      work_changed_.wait_for(lock, kLook);
    }
  }
  finish_all_ -= merged_too ? 1 : 0;
  Status outcome = error_;
  if (outcome.ok() && merged_too && finish_done_ >= request) outcome = finish_outcome_;
  lock.unlock();
  if (merged_too && outcome.ok() && options_.background_threads) {
    while (Guarded(&LsmEngine::Reclaim)) {
    }
  }
  return outcome;
}

/// Takes up what was asked for, unless a round is under way.
void LsmEngine::BeginRound() {
  const std::lock_guard lock(work_mutex_);
  if (round_ || finish_asked_ == finish_done_) return;
  round_.emplace();
  round_->request = finish_asked_;
  round_->tables = finish_tables_;
}

/// Who asked before the round, or was to be served by the next one when it can't go on, has his
/// answer.
void LsmEngine::EndRound(const Status& outcome) noexcept {
  const std::lock_guard lock(work_mutex_);
  if (outcome.ok() && !round_) return;
  finish_done_ = outcome.ok() ? round_->request : finish_asked_;
  finish_outcome_ = outcome;
  round_.reset();
  work_changed_.notify_all();
}

/// The next step of the round, when its tables are merged. False when it has none any more.
bool LsmEngine::RoundStep() {
  for (;;) {
    if (round_->phase == Round::Phase::kDone) break;
    if (RoundWork()) return true;
    // What a close has stopped is not done.
    if (stop_merges_.load() || failed() || medium_failed()) return false;
    round_->phase = static_cast<Round::Phase>(static_cast<int>(round_->phase) + 1);
    round_->steps_left.reset();
    round_->began_pass = false;
  }
  EndRound(Status::OK());
  return false;
}

/// False when there is nothing left to do for the phase.
bool LsmEngine::RoundWork() {
  std::optional<uint64_t>& left = round_->steps_left;
  switch (round_->phase) {
    case Round::Phase::kIndex: {
      if (!left) {
        const std::lock_guard lock(structure_mutex_);
        left = pool_->chunks();
        uint64_t entries = state_owner_->version->l1->entries();
        for (const auto& table : state_owner_->version->l0) entries += table->entries();
        *left += kIndexesAnew * (2 + entries / kIndexedAStep);
      }
      return (*left)-- > 0 && (IndexStep() || RemakeIndexStep() || FillLookupStep() || CountStep());
    }
    case Round::Phase::kDrop:
      return DropStep();
    case Round::Phase::kArrange:
      return ArrangeStep();
    case Round::Phase::kCollect: {
      if (!left) {
        const std::lock_guard lock(structure_mutex_);
        left = compaction::SurveyChunks(*pool_, usage_, manifest_.record(),
                                        compaction::kSparseWhenOver)
                   .sparse.size();
      }
      return *left > 0 && (*left)-- > 0 && CollectStep();
    }
    case Round::Phase::kMakeRoom:
      if (!left) left = kRoomsTried;
      return *left > 0 && (*left)-- > 0 && MakeRoomStep();
    case Round::Phase::kDone:
      break;
  }
  return false;
}

}  // namespace braid::engine
