// Purpose: the conditional batch: write unless one of the keys was written since a snapshot.
// Thread safety, invariants, persistence: see writer.h.
//
// Why it is one step. The state that is shown is taken first, and then every key is looked up in
// all its tables; a version newer than the snapshot ends the attempt. Then all shard locks are
// taken, so that no write is under way. If the state is still the one that was taken, versions that
// came after the lookups can be in its memtables only: tables get new ones only by a flush or a
// bulk load, and both show another state. So the memtables are asked once more, the immutable ones
// too, since a write that drew its number before the seal may have ended after the first lookup.
// What neither lookup finds is not there, and the batch, which draws its numbers under the same
// locks, comes directly behind the state in which that was so. A key in a range that the batch
// itself keeps (range_deleter.h) can't be written by others meanwhile. What is looked up under the
// locks is in DRAM; lists in persistent memory are read before them.
//
// A key whose newer versions are all gone again (a put and its delete that a merge has dropped) is
// as it was: it was missing, and is missing.
#include "base/check.h"
#include "base/epoch.h"
#include "write/writer.h"

namespace braid::write {

using format::EntryHeader;
using index::LookupResult;

Status ChangedMeanwhile() {
  return Status::Busy(
      "another write came between this transaction's begin and its commit; begin it again");
}

Result<Writer::BatchCondition> Writer::ConditionOf(const Unchanged& unchanged,
                                                   std::span<const log::PendingEntry> entries) {
  BatchCondition condition{{}, unchanged.since->sequence(), nullptr};
  condition.keys.reserve(unchanged.keys.size() + entries.size());
  for (const Slice key : unchanged.keys) {
    if (Status s = engine::CheckKey(key); !s.ok()) return s;
    condition.keys.push_back({key, base::Hash64(key)});
  }
  for (const log::PendingEntry& pending : entries) {
    condition.keys.push_back({pending.key, pending.key_hash});
  }
  return condition;
}

/// Of a batch that writes nothing: at the moment of a snapshot that is taken here, which needs no
/// locks.
Status Writer::CheckUnchanged(const Unchanged& unchanged) const {
  if (unchanged.keys.empty()) return Status::OK();
  Result<BatchCondition> condition = ConditionOf(unchanged, {});
  if (!condition.ok()) return condition.status();
  const std::shared_ptr<const Snapshot> now = store_.reader->GetSnapshot();
  BRAID_DCHECK(now->sequence() >= condition->since);
  index::ReadView view = store_.reader->ViewOfNow();
  view.sequence = now->sequence();
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  return LookUp(*condition, view);
}

/// Takes the current state and looks the keys up. Busy when one was written.
Status Writer::LookBeforeBatch(BatchCondition* condition) const {
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  condition->state = store_.versions->shown().shared_from_this();
  return LookUp(*condition, store_.reader->ViewOfNow());
}

/// Inside an EpochGuard. Busy when one of the keys was written.
Status Writer::LookUp(const BatchCondition& condition, const index::ReadView& view) const {
  for (const index::LookupKey& key : condition.keys) {
    Status status;
    const LookupResult newest = store_.reader->LookupEntry(key.key, view, &status, nullptr);
    if (!status.ok()) return status;
    if (newest.has_version() && newest.sequence > condition.since) return ChangedMeanwhile();
  }
  return Status::OK();
}

/// Under all shard locks. TryAgain when the keys must be looked up again, or one of them is in a
/// range that is being deleted; Busy when one was written.
Status Writer::CheckInMemTables(const BatchCondition& condition, For whom) const {
  BRAID_DCHECK(condition.state != nullptr);  // LookBeforeBatch has taken it
  // The state that was taken is kept: no other has its address.
  const level::ReadState* const state = &store_.versions->shown();
  if (state != condition.state.get()) return Status::TryAgain("");
  const index::ReadView view = store_.reader->ViewOfNow();
  const auto check = [&](const memtable::MemTable& table, const index::LookupKey& key) {
    const LookupResult newest = table.Get(key, view);
    if (newest.state == LookupResult::State::kCorrupt) {
      return index::DamageStatus(pool_, newest.value.offset());
    }
    return newest.sequence > condition.since ? ChangedMeanwhile() : Status::OK();
  };
  for (const index::LookupKey& key : condition.keys) {
    if (whom == For::kUser && kept_range_.Covers(key.key)) return Status::TryAgain("");
    if (Status s = check(*state->active, key); !s.ok()) return s;
    for (const auto& table : state->immutables) {
      if (Status s = check(*table, key); !s.ok()) return s;
    }
  }
  return Status::OK();
}

}  // namespace braid::write
