// Purpose: the calls of writes and bulk loads to the store: switching memtables, syncing, waiting
// for space.
// Thread safety, invariants, persistence: see scheduler.h.
#include "base/check.h"
#include "base/no_throw.h"
#include "lsm/level_facts.h"
#include "lsm/scheduler.h"

namespace braid::lsm {

namespace {
/// Who waits for space goes on when one of so many parts of the pool has become free.
constexpr uint64_t kPartsOfAPool = 16;
}  // namespace

void Scheduler::SwitchFullMemTable(const memtable::MemTable* full) {
  const engine::CallGate::Call call(&store_.calls);
  if (call.entered()) SwitchMemTable(full);
}

/// Puts an empty memtable in the place of `expected` (null: of whatever is active, unless empty).
void Scheduler::SwitchMemTable(const memtable::MemTable* expected) {
  {
    const auto batches_held = store_.writer.HoldBatchesWatched();
    const level::VersionSet::Locked versions =
        store_.versions.LockWatched(store_.controller.stalls());
    const level::ReadState& current = versions.state();
    if (expected != nullptr && current.active.get() != expected) return;
    if (current.active->entries() == 0) return;
    // The writers wait in Admit until there is room again; those past it write a little more here.
    if (expected != nullptr && store_.WaitsForFlush(current)) {
      if (!store_.errors.blocked()) {
        store_.controller.Update(TablesBehind(store_, current), current.immutables.size(), true);
      }
      return;
    }
    BRAID_DCHECK(current.active->id() < versions.next_table_id());  // invariant 1
    level::NextState next = versions.Next();
    next.SwitchMemTable(store_.NewMemTable(versions.NewTableId(), current.active.get()));
    current.active->Freeze();
    versions.Show(std::move(next));
  }
  if (store_.options.background_threads) {
    Wake();
  } else {
    const base::Stalls::Watch watch(store_.controller.stalls(), StallReason::kBackground);
    RunInline();
  }
}

Status Scheduler::Sync() {
  const base::Stalls::Asked asked;
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  return syncs_.Run([this] {
    counters_.Add(Counter::kSyncs);
    Status s = store_.controller.stalls()->latencies()->Time(
        LatencyKind::kSync, [this] { return store_.pool->media().Sync(media::Site::kPutSync); });
    if (!s.ok()) Fail(s);  // the medium gives the same error to all who sync after this
    return s;
  });
}

/// After a full pool: lets the background give back what it can. True when there is room again, as
/// there is at once when another thread has given some back since the attempt.
bool Scheduler::WaitForSpace(uint64_t reclaimed) {
  const base::Stalls::Timer timer(store_.controller.stalls(), StallReason::kFullPool);
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return false;
  // What is free is counted between two steps of the background: one under way may hold most of it
  // for copies that it gives back. And without the reserve, which a flush of copied logs makes
  // smaller.
  int64_t before = 0;
  if (store_.reclaimer.times() == reclaimed) {
    const base::MutexLock merge_lock(merge_mutex_);
    const auto reclaim_lock = store_.reclaimer.Hold();
    before = store_.pool->spare_chunks();
  }
  if (store_.reclaimer.times() != reclaimed) return true;
  const bool was_blocked = store_.errors.blocked();
  SwitchMemTable(nullptr);
  // Where runs are written aside, all of it would be waited for long, and is made while the next
  // writes go on. Elsewhere a write that does not wait may take what a flush or a rewrite needs for
  // its copies, and so does one that comes before a flush that has found none.
  const bool comes_in_parts =
      store_.options.background_threads && store_.tier_filler.writes_aside();
  const uint64_t times = store_.reclaimer.times();
  const auto part = static_cast<int64_t>(store_.pool->chunks() / kPartsOfAPool + 1);
  bool has_enough = false;
  const std::function<bool()> look = [&] {
    has_enough = has_enough || (store_.reclaimer.times() != times && !store_.errors.blocked() &&
                                store_.pool->spare_chunks() >= before + part);
    return has_enough;
  };
  const Status idle = Drain(NewestTable(), {}, comes_in_parts ? &look : nullptr);
  if (!idle.ok()) return has_enough && !failed();
  if (Status s = WriteBackGroup(); !s.ok()) return false;
  while (RunStep(&Scheduler::Reclaim)) {
  }
  // The background would try again later, and the write be refused meanwhile.
  while (RunStep(&Scheduler::FlushOldest)) {
  }
  const bool is_blocked = store_.errors.blocked();
  if (was_blocked && !is_blocked) return true;
  const base::MutexLock merge_lock(merge_mutex_);
  if (store_.pool->spare_chunks() > before) return true;
  if (!is_blocked && store_.large_values.HasWantedRun()) return true;
  return store_.tier_filler.GiveMore();
}

Status Scheduler::WhyNot() const {
  return store_.reader.closed() || store_.errors.ended() ? store_.errors.WhyEnded() : Status::OK();
}

Status Scheduler::FlushMemTables() {
  SwitchMemTable(nullptr);
  if (Status s = WaitUntilIdle(false); !s.ok()) return s;
  if (Status s = WhyNot(); !s.ok()) return s;
  return store_.errors.block_reason();
}

void Scheduler::LetWork(bool wait) {
  if (!store_.options.background_threads) return RunInline();
  Wake();
  if (!wait) return;
  bool looked = false;
  requests_.Wait([&looked] { return std::exchange(looked, true); });
}

}  // namespace braid::lsm
