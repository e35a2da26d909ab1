// Purpose: one step of each background job, and when the job is polled again.
// Thread safety, invariants, persistence: see background_jobs.h and scheduler.h.
#include "lsm/background_jobs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/no_throw.h"
#include "base/resources.h"
#include "lsm/early_flush.h"
#include "media/memory_blocks.h"

namespace braid::lsm {

namespace {

using std::chrono::milliseconds;

/// Longer than it takes a store to be reclustered once it rests (Scheduler::IsAtRest).
constexpr uint64_t kRestNanos = 2'000'000'000;

/// What is written no more is flushed early, before the store rests.
constexpr uint64_t kStillNanos = 1'000'000'000;
static_assert(kStillNanos < kRestNanos);

/// A segment takes tens of milliseconds to be made, and a writer that finds no chunk waits for it.
/// So as much is kept free as was taken in so long.
constexpr uint64_t kAheadNanos = 200'000'000;

}  // namespace

base::Workers::Next Scheduler::BackgroundJob::Run() noexcept {
  if (rests_) {
    rests_ = false;
    BRAID_DCHECK(scheduler_->store_.jobs_asleep.load() > 0);  // this one is counted
    scheduler_->store_.jobs_asleep.fetch_sub(1);
    since_ = 0;
  }
  Next next = Next::After(milliseconds(50));  // where a step fails that is not guarded itself
  base::IgnoreExceptions([&] { next = Step(); });
  return next;
}

bool Scheduler::BackgroundJob::IsUrgent() const noexcept {
  return scheduler_->store_.limit.IsUrgent();
}

/// Whether nothing was done or written, nor is left to be done, for a while.
bool Scheduler::BackgroundJob::HasRested(bool idle) {
  const uint64_t writes = scheduler_->store_.sequence.load();
  const bool still = idle && writes == writes_;
  writes_ = writes;
  if (!still) {
    since_ = 0;
    return false;
  }
  const uint64_t now = NowNanos();
  if (since_ == 0) since_ = now;
  // A clock that goes back restarts the rest.
  if (now < since_) since_ = now;
  BRAID_DCHECK(since_ != 0 && since_ <= now);
  return now - since_ >= kRestNanos;
}

bool Scheduler::BackgroundJob::HasBeenStill(uint64_t nanos) const noexcept {
  return since_ != 0 && NowNanos() >= since_ + nanos;
}

base::Workers::Next Scheduler::BackgroundJob::Pause(base::FunctionRef<bool()> is_idle,
                                                    milliseconds look_again, const void* word,
                                                    uint32_t seen) {
  if (!HasRested(is_idle())) return Next::After(look_again);
  BRAID_DCHECK(!rests_);  // a job that runs does not rest
  rests_ = true;
  scheduler_->store_.jobs_asleep.fetch_add(1);
  // What was written or retired before anybody could know of this rest. What was asked for is
  // followed by a wake in any case, which a job that still runs remembers.
  if (scheduler_->store_.sequence.load() != writes_ || !is_idle()) return Next::Now();
  return Next::WhenWoken(word, seen);
}

base::Workers::Next Scheduler::FlushWork::Step() {
  if (const auto wait = scheduler().store_.limit.Wait(); wait.count() != 0) {
    return Next::After(wait);
  }
  base::IgnoreExceptions([&] {
    const memtable::MemTable* const due =
        MemTableToFlushEarly(scheduler().store_, HasBeenStill(kStillNanos));
    // Another may have taken its place since, at the same address, too: no harm is done then.
    if (due != nullptr) scheduler().SwitchMemTable(due);
  });
  if (scheduler().RunStep(&Scheduler::FlushOldest)) {
    scheduler().Wake();
    return Next::Now();
  }
  return Pause([this] { return !scheduler().store_.versions.AnyImmutable(); }, milliseconds(10));
}

base::Workers::Next Scheduler::CompactionWork::Step() {
  Scheduler& owner = scheduler();
  owner.RunStep(&Scheduler::ServeReaders);
  if (const auto wait = owner.store_.limit.Wait(); wait.count() != 0) {
    owner.store_.pace.End();
    return Next::After(wait);
  }
  if (owner.RunStep(&Scheduler::CompactionStep)) {
    owner.Wake();
    return Next::Now();
  }
  owner.store_.pace.End();
  // What a view keeps from being dropped, it lets go of without a word.
  const media::WriterSlots& slots = owner.store_.readers.slots();
  return Pause(
      [&owner] { return !owner.store_.readers.IsBusy() && owner.store_.views->count() == 0; },
      milliseconds(20), slots.AsksWord(), slots.seen_asks());
}

Scheduler::SpaceWork::SpaceWork(Scheduler* scheduler)
    : BackgroundJob(scheduler),
      // Beside the budget, so a small part of it: 8 MiB of 1 GiB.
      blocks_(scheduler->store_.options.memory_budget_bytes / (128 * media::MemoryBlocks::kBytes)),
      taken_(kAheadNanos, NowNanos(), scheduler->store_.pool->chunks_taken()) {}

/// Touches pages of the pool ahead of those that are in use: the first touch takes a microsecond or
/// two, better here than in a put. In pieces, so that a close needs not wait for the rest. False
/// when there are enough of them.
bool Scheduler::SpaceWork::Prefault() {
  constexpr uint64_t kPiece = 8ull << 20;
  constexpr uint64_t kMost = 256ull << 20;
  constexpr uint64_t kFirst = 1ull << 20;
  pool::PmemPool& pool = *scheduler().store_.pool;
  // Twice what is in use: a store that fills is ahead of its writers soon, one that stays small
  // does not take the memory of a large one.
  const uint64_t used = pool.used_chunks() * pool.chunk_bytes();
  const uint64_t wanted = std::min({pool.pool_bytes(), kMost, 2 * used + kFirst});
  if (touched_ >= wanted) return false;
  const uint64_t bytes = std::min(kPiece, wanted - touched_);
  pool.Prefault(touched_, bytes);
  touched_ += bytes;
  BRAID_DCHECK(touched_ <= pool.pool_bytes());
  return true;
}

base::Workers::Next Scheduler::SpaceWork::Step() {
  Scheduler& owner = scheduler();
  const uint64_t demand = taken_.Update(NowNanos(), owner.store_.pool->chunks_taken());
  bool worked = owner.RunStep(&Scheduler::Reclaim);
  if (!owner.failed()) {
    worked = owner.store_.pool->GrowAhead(demand) || worked;
    if (Status s = owner.store_.pool->media().SyncError(); !s.ok()) owner.Fail(s);
  }
  worked = Prefault() || worked;
  if (!owner.failed()) owner.store_.trimmer.Step(NowNanos());
  media::MemoryBlocks::Prepare(blocks_);
  if (worked) return Next::Now();
  return Pause(
      [&] {
        return demand == 0 && !owner.store_.reclaimer.HasRetired() &&
               (owner.failed() || owner.store_.trimmer.IsSettled());
      },
      milliseconds(10));
}

void Scheduler::Start() {
  if (store_.options.read_only) return;
  if (!store_.options.background_threads) return store_.pool->media().RefuseReaders();
  store_.pace.Watch({.by_all = [this] { return store_.reader.reads(); },
                     .by_thread = [this] { return store_.reader.reads_of_thread(); }});
  // Before the thread that answers.
  store_.readers.Begin(media::WriterSlots(store_.pool->media().AnswerReaders()));
  base::JobSet::Jobs jobs;
  jobs.emplace_back(std::make_unique<FlushWork>(this), base::JobSet::Lane::kFlush);
  jobs.emplace_back(std::make_unique<CompactionWork>(this), base::JobSet::Lane::kMerge);
  jobs.emplace_back(std::make_unique<SpaceWork>(this), base::JobSet::Lane::kSpace);
  const std::shared_ptr<base::Workers> workers = base::WorkersOf(store_.options);
  jobs_.Start(workers, std::move(jobs), [&] {
    crew_.Start(workers);
    store_.merger.SetCrew(&crew_);
    if (!store_.tier_filler.is_wanted()) return;
    side_.Start(workers, [this] { Wake(); });
    store_.tier_filler.SetSideTasks(&side_);
  });
}

void Scheduler::Stop() {
  store_.stop_merges.store(true);
  stopping_.store(true);
  const bool ran = jobs_.Close();
  requests_.Notify();
  if (!ran) return;
  jobs_.Remove();
  crew_.Stop();
  side_.Stop();
}

/// There is something to be done.
void Scheduler::Wake() noexcept {
  jobs_.Wake();
  requests_.Notify();
}

}  // namespace braid::lsm
