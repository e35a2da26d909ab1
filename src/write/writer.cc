// Purpose: writes of one key.
// Thread safety, invariants, persistence: see writer.h.
#include "write/writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "base/thread_random.h"

namespace braid::write {

using format::EntryOp;
using pool::AllocationClass;

Writer::Writer(const Store& store, uint32_t shards)
    : store_(store), pool_(*store.pool), shards_(shards) {
  BRAID_CHECK(shards > 0);
}

Status Writer::Put(const WriteOptions& options, Slice key, Slice value) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (Status s = engine::CheckValue(value); !s.ok()) return s;
  counters_.Add(Counter::kPuts);
  counters_.Add(Counter::kBytesPut, key.size() + value.size());
  log::PendingEntry pending;
  pending.op = EntryOp::kPut;
  pending.key = key;
  pending.value = value;
  return Update(options, pending);
}

Status Writer::Delete(const WriteOptions& options, Slice key) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  counters_.Add(Counter::kDeletes);
  log::PendingEntry pending;
  pending.op = EntryOp::kDelete;
  pending.key = key;
  return Update(options, pending);
}

/// Before each attempt of a write, of whatever kind.
Status Writer::Admit() {
  store_.controller->Admit();
  store_.pace->Admit();
  const engine::WriteErrors& errors = *store_.errors;
  if (errors.ended()) return errors.WhyEnded();
  return errors.blocked() ? errors.block_reason() : Status::OK();
}

/// A write may be the first to meet what ends all of them.
Status Writer::WhyRefused(Status status) {
  if (!failed() && !closed()) {
    // Of a growth: the pool was given back to what it was, but the medium is not to be trusted.
    if (Status s = pool_.media().SyncError(); !s.ok()) store_.host->Fail(s);
  }
  return failed() ? store_.errors->WhyEnded() : std::move(status);
}

Status Writer::Update(const WriteOptions& options, log::PendingEntry pending) {
  pending.key_hash = base::Hash64(pending.key);
  const base::Stalls::WriteWatch watch(store_.controller->stalls());
  space::LargeValues::Scope large(store_.large_values, {&pending, 1});
  Status s = AttemptUntilDone(For::kUser, [&] {
    Status copied =
        large.wants_copy() ? CopyLarge(&large, pool::ClassOf(pending.op)) : Status::OK();
    return copied.ok() ? TryUpdate(&pending) : copied;
  });
  return s.ok() ? AfterWrite(options) : s;
}

/// One attempt. TryAgain when the memtable became immutable meanwhile.
Status Writer::TryUpdate(log::PendingEntry* pending) {
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  return Insert(store_.versions->shown().active.get(), pending, nullptr);
}

/// Inside an EpochGuard. TryAgain when `target` became immutable, or does not meet the condition
/// (null: none), or the key is in a range that is being deleted.
Status Writer::Insert(memtable::MemTable* target, log::PendingEntry* pending,
                      const memtable::MemTable::Condition* condition) {
  const uint32_t shard = ShardOfThread();
  BRAID_DCHECK(shard < shards_.size() && pending->key_hash == base::Hash64(pending->key));
  const auto lock =
      base::LockWatched(shards_[shard].mutex, store_.controller->stalls(), base::kShortLockSpins);
  if (failed()) return store_.errors->WhyEnded();  // invariant 3
  if (kept_range_.Covers(pending->key)) return Status::TryAgain("");
  return target->Write(shard, pending, condition);
}

/// All of them, in order.
std::vector<base::MutexHold> Writer::LockShards() {
  std::vector<base::MutexHold> locks;
  locks.reserve(shards_.size());
  for (ShardLock& each : shards_) locks.emplace_back(each.mutex);
  return locks;
}

// In loops, which clang does not follow.
void Writer::ShowKeptRange(const base::KeyRangeSet* ranges) noexcept BRAID_NO_THREAD_CHECK {
  const auto batches_held = HoldBatches();
  // One at a time would do as well, if a batch did not hold them all. Without a list of them: there
  // may be no memory to take back what is shown.
  for (ShardLock& each : shards_) each.mutex.lock();
  kept_range_.Show(ranges);
  for (ShardLock& each : shards_) each.mutex.unlock();
}

/// Before another attempt of a write that got TryAgain.
void Writer::AwaitRange() {
  // Who misses the range meets it again under the shard lock.
  if (!kept_range_.IsShown()) return;
  const base::Stalls::Timer timer(store_.controller->stalls(), StallReason::kRange);
  const auto wait = kept_range_.Own();
}

Status Writer::DeleteKept(const WriteOptions& options, std::vector<log::PendingEntry> entries) {
  BRAID_DCHECK(kept_range_.IsShown());
  BRAID_DCHECK(std::all_of(entries.begin(), entries.end(), [](const log::PendingEntry& pending) {
    return pending.op == EntryOp::kDelete;
  }));
  return WriteEntries(options, std::move(entries), For::kRangeDelete, nullptr);
}

Status Writer::CopyLarge(space::LargeValues::Scope* large, AllocationClass allocation) {
  const base::Stalls::Asked asked;  // a large value takes its time
  return large->Copy(ShardOfThread() % pool_.regions(), allocation);
}

Status Writer::AfterWrite(const WriteOptions& options) {
  // Sequentially consistent, behind the number of the write: either this sees who goes to sleep, or
  // that one sees the write.
  if (store_.jobs_asleep->load() != 0) [[unlikely]]
    store_.host->Wake();
  const memtable::MemTable* full = nullptr;
  {
    const base::EpochGuard guard;
    const memtable::MemTable* active = store_.versions->shown().active.get();
    if (store_.budget->IsFull(*active)) full = active;
  }
  if (full != nullptr) {
    // The write is done. Where memory for the next memtable is missing, the next write tries again.
    base::IgnoreExceptions([&] { store_.host->SwitchFullMemTable(full); });
  }
  if (options.sync && pool_.ops().media_class() == MediaClass::kPage) return store_.host->Sync();
  return Status::OK();
}

void Writer::Fill(Statistics* statistics) const {
  statistics->puts = counters_.Sum(Counter::kPuts);
  statistics->deletes = counters_.Sum(Counter::kDeletes);
  statistics->batches = counters_.Sum(Counter::kBatches);
  statistics->bytes_put = counters_.Sum(Counter::kBytesPut);
}

}  // namespace braid::write
