// Purpose: waiting for work to be done: for flushes, and for merges and all that comes behind them.
// A caller waits for what was there when it asked, however much others write meanwhile: for the
// tables up to the last id, then for one pass of everything else over what there was when the pass
// began. The compaction thread serves all requests of a moment by one round, and while tables to be
// merged keep coming, every other step is the round's.
// Thread safety, invariants, persistence: see scheduler.h.
#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "compaction/garbage_collection.h"
#include "lsm/scheduler.h"
#include "lsm/unmerged.h"

namespace braid::lsm {

namespace {
/// Indexes may have to be rebuilt over fewer entries, each time there is no memory for them.
constexpr uint64_t kIndexesAnew = 8;
constexpr uint64_t kIndexedAStep = 32 * 1024;
/// Places for a large value that may turn out to be of no use.
constexpr uint64_t kRoomsTried = 16;
/// Share of a drain that is done when its tables are merged; the rest is that of what comes behind.
constexpr double kShareOfMerges = 0.8;
constexpr uint64_t kTellEvery = 50'000'000;
}  // namespace

bool DrainProgress::IsOver(base::FunctionRef<double()> share) {
  if (cancelled_) return true;
  if (call_ && NowNanos() - told_at_ >= kTellEvery) {
    told_at_ = NowNanos();
    share_ = std::clamp(share(), share_, 1.0);
    cancelled_ = !call_(share_);
  }
  cancelled_ = cancelled_ || (enough_ != nullptr && (*enough_)());
  return cancelled_;
}

uint64_t Scheduler::NewestTable() const { return store_.versions.Lock().next_table_id() - 1; }

/// Until no immutable memtable with an id up to `tables` is left, or flushes end, or the caller
/// gives up. Errors: a flush finds no memory.
Status Scheduler::AwaitFlushes(uint64_t tables, DrainProgress* progress) {
  const uint64_t seen = requests_.flush_failures();
  Status outcome;
  const auto is_flushed = [this, tables] {
    const auto versions = store_.versions.Lock();
    const auto& immutables = versions.state().immutables;
    return immutables.empty() || immutables.back()->id() > tables;
  };
  const auto is_over = [&] {
    if (failed() || stopping_.load() || store_.errors.blocked() || is_flushed()) return true;
    if (progress->IsOver([] { return 0.0; })) return true;
    outcome = requests_.WhyFlushFailed(seen);
    return !outcome.ok();
  };
  if (store_.options.background_threads) {
    requests_.Wait(is_over);
  } else {
    RunInline(progress);
    (void)is_over();
  }
  // The last flush shows its table before it is counted and reported; a thread that waits for it
  // finds that done.
  const flush::Flusher::Lock flushed = store_.flusher.HoldFlushes();
  return outcome;
}

Status Scheduler::WaitForFlushes() {
  const std::function<bool(double)> nobody;
  DrainProgress progress(&nobody);
  const Status flushed = AwaitFlushes(NewestTable(), &progress);
  return failed() ? store_.errors.failure() : flushed;
}

Status Scheduler::Drain(uint64_t tables, const std::function<bool(double)>& told,
                        const std::function<bool()>* enough) {
  DrainProgress progress(&told, enough);
  const uint64_t entries = progress.is_wanted() ? EntriesToMerge(&store_.versions, tables) : 0;
  const auto share_done = [&] {
    const uint64_t left = entries == 0 ? 0 : EntriesToMerge(&store_.versions, tables);
    if (left != 0) {
      const double done = 1 - static_cast<double>(left) / static_cast<double>(entries);
      return kShareOfMerges * std::max(done, 0.0);
    }
    return kShareOfMerges + (1 - kShareOfMerges) * requests_.stage();
  };
  std::optional<Status> answer;
  {
    const DrainRequests::Waiter waiter(&requests_);
    if (Status s = AwaitFlushes(tables, &progress); !s.ok()) return s;
    if (progress.cancelled()) return engine::CompactionCancelled();
    const uint64_t request = requests_.Ask(tables);
    if (store_.options.background_threads) {
      requests_.Wait([&] {
        if (failed() || stopping_.load() || requests_.Answer(request)) return true;
        if (progress.IsOver(share_done)) return true;
        jobs_.Wake();
        return false;
      });
    } else {
      RunInline(&progress);
    }
    if (progress.cancelled()) {
      requests_.Withdraw(request);
      return engine::CompactionCancelled();
    }
    answer = requests_.Answer(request);
  }
  Status outcome = store_.errors.failure();
  if (outcome.ok() && answer) outcome = *answer;
  if (outcome.ok() && store_.options.background_threads) {
    while (RunStep(&Scheduler::Reclaim)) {
    }
  }
  return outcome;
}

/// Takes up what was asked for, unless a round is under way for those who still wait.
void Scheduler::BeginRound() {
  if (round_ && requests_.IsOver(round_->request)) round_.reset();
  if (round_) return;
  const std::optional<DrainRequests::Request> request = requests_.Unserved();
  if (!request) return;
  requests_.TellStage(0);
  round_.emplace().request = *request;
}

/// Who asked before the round, or was to be served by the next one when it can't go on, has his
/// answer.
void Scheduler::EndRound(const Status& outcome) noexcept {
  if (!outcome.ok()) {
    requests_.GiveUp(outcome);
  } else if (round_) {
    BRAID_DCHECK(round_->phase == compaction::Phase::kDone);
    requests_.Served(round_->request);
  }
  round_.reset();
}

/// What the next plan has to know of the round, of which a step begins.
void Scheduler::TellRound(compaction::StoreFacts* facts) {
  if (!round_) return;
  BRAID_DCHECK(!facts->levels.empty() && !facts->phase);
  const auto& l0 = facts->levels.front();
  const bool awaited =
      std::any_of(l0.begin(), l0.end(), [](const auto& table) { return table.awaited; });
  // Steps of what is open, or begun, are nobody's turn: else the round might never have one.
  const bool is_free = !facts->is_granted && !awaited && !facts->l0_is_begun &&
                       facts->open_merge == compaction::StoreFacts::OpenMerge::kNone;
  if (is_free) round_->has_turn = !round_->has_turn;
  facts->phase_has_turn = round_->has_turn;
  BeginPhase(facts);
}

void Scheduler::BeginPhase(compaction::StoreFacts* facts) {
  BRAID_DCHECK(round_ && round_->phase < compaction::Phase::kDone);
  std::optional<uint64_t>& left = round_->steps_left;
  if (!left) {
    switch (round_->phase) {
      case compaction::Phase::kIndex: {
        left = store_.pool->chunks();
        const auto versions = store_.versions.Lock();
        uint64_t entries = 0;
        for (const level::Level& level : versions.state().version->levels) {
          for (const auto& table : level) entries += table->entries();
        }
        *left += kIndexesAnew * (2 + entries / kIndexedAStep);
        break;
      }
      case compaction::Phase::kCollect:
        left = store_.accounts.Survey(compaction::kSparseWhenOver).sparse.size();
        break;
      case compaction::Phase::kMakeRoom:
        left = kRoomsTried;
        break;
      case compaction::Phase::kMergeDown:
      case compaction::Phase::kDrop:
      case compaction::Phase::kFillTier:
      case compaction::Phase::kRecluster:
      case compaction::Phase::kDone:
        left = ~0ull;  // a pass ends
        break;
    }
  }
  facts->down_from = round_->down_from;
  facts->phase = round_->phase;
  facts->phase_is_over = *left == 0;
}

/// Of the phase's actions that are tried in one step, all together are one.
void Scheduler::CountPhaseStep(const compaction::Plan& plan, const compaction::StoreFacts& facts) {
  using compaction::Action;
  constexpr Action kMerges[] = {Action::kMerge, Action::kFinishCopies, Action::kRewrite};
  // The tier may be filled in the phase of something else.
  const bool is_of_phase =
      std::ranges::find(kMerges, plan.action) == std::end(kMerges) &&
      (plan.action != Action::kFillTier || facts.phase == compaction::Phase::kFillTier);
  BRAID_DCHECK(!facts.phase || (round_ && round_->steps_left));
  if (facts.phase && is_of_phase && facts.tried.none()) --*round_->steps_left;
}

/// False: that was the last, and who waits has his answer.
bool Scheduler::NextPhase(compaction::StoreFacts* facts) {
  BRAID_DCHECK(round_ && facts->phase == round_->phase);
  round_->phase = static_cast<compaction::Phase>(static_cast<int>(round_->phase) + 1);
  requests_.TellStage(static_cast<double>(round_->phase) /
                      static_cast<double>(compaction::Phase::kDone));
  round_->steps_left.reset();
  round_->began_pass = false;
  if (round_->phase == compaction::Phase::kDone) {
    EndRound(Status::OK());
    return false;
  }
  facts->tried = {};
  BeginPhase(facts);
  return true;
}

}  // namespace braid::lsm
