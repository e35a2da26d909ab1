// Purpose: batches.
// Thread safety, invariants, persistence: see writer.h.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "write/writer.h"

namespace braid::write {

using format::EntryOp;
using pool::AllocationClass;

namespace {

/// The updates of a batch, in order.
struct PendingMaker final : WriteBatch::Handler {
  struct Range {
    size_t before;  // so many entries come before it
    std::optional<Slice> begin;
    std::optional<Slice> end;
  };
  std::vector<log::PendingEntry> entries;
  std::vector<Range> ranges;
  uint64_t bytes = 0;
  Status status;

  void Add(EntryOp op, Slice key, Slice value) {
    if (status.ok()) status = engine::CheckKey(key);
    if (status.ok()) status = engine::CheckValue(value);
    log::PendingEntry pending;
    pending.op = op;
    pending.key = key;
    pending.value = value;
    pending.key_hash = base::Hash64(key);
    entries.push_back(pending);
    bytes += key.size() + value.size();
  }
  void Put(Slice key, Slice value) override { Add(EntryOp::kPut, key, value); }
  void Delete(Slice key) override { Add(EntryOp::kDelete, key, {}); }
  void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    for (const std::optional<Slice>& bound : {begin, end}) {
      if (!bound) continue;
      if (status.ok()) status = engine::CheckKey(*bound);
      bytes += bound->size();
    }
    ranges.push_back({entries.size(), begin, end});
  }
};

/// From the last update to the first: what a later range covers is not written.
Writer::NetUpdates NetOf(PendingMaker* maker) {
  Writer::NetUpdates net;
  std::vector<log::PendingEntry>& entries = maker->entries;
  size_t kept = entries.size();  // where those begin that are written
  size_t next = entries.size();
  const auto keep_from = [&](size_t first) {
    while (next > first) {
      const log::PendingEntry& pending = entries[--next];
      if (!net.ranges.Covers(pending.key)) entries[--kept] = pending;
    }
  };
  for (size_t i = maker->ranges.size(); i-- > 0;) {
    const PendingMaker::Range& range = maker->ranges[i];
    keep_from(range.before);
    net.ranges.Add(range.begin.value_or(Slice()), range.end);
  }
  keep_from(0);
  BRAID_DCHECK(next == 0 && (kept == 0 || !net.ranges.empty()));
  entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(kept));
  net.entries = std::move(entries);
  return net;
}

}  // namespace

Result<Writer::NetUpdates> Writer::UpdatesOf(const WriteBatch& batch) {
  PendingMaker maker;
  batch.Iterate(&maker);
  if (!maker.status.ok()) return maker.status;
  if (maker.bytes > kMaxBatchBytes) {
    return Status::InvalidArgument("the batch has " + std::to_string(maker.bytes) +
                                   " bytes; the limit is " + std::to_string(kMaxBatchBytes));
  }
  counters_.Add(Counter::kBatches);
  counters_.Add(Counter::kBytesPut, maker.bytes);
  return NetOf(&maker);
}

Status Writer::WriteAll(const WriteOptions& options, std::vector<log::PendingEntry> entries,
                        const Unchanged* unchanged) {
  if (entries.empty()) {
    if (closed()) return Status::Closed();
    if (unchanged != nullptr) {
      if (Status s = CheckUnchanged(*unchanged); !s.ok()) return s;
    }
    return options.sync ? AfterWrite(options) : Status::OK();  // what was written before
  }
  if (unchanged == nullptr) {
    if (entries.size() == 1) return Update(options, entries.front());
    return WriteEntries(options, std::move(entries), For::kUser, nullptr);
  }
  Result<BatchCondition> condition = ConditionOf(*unchanged, entries);
  if (!condition.ok()) return condition.status();
  return WriteEntries(options, std::move(entries), For::kUser, &*condition);
}

Status Writer::WriteKept(const WriteOptions& options, std::vector<log::PendingEntry> entries,
                         size_t after, const Unchanged* unchanged) {
  BRAID_DCHECK(kept_range_.IsShown() && after <= entries.size());
  if (entries.empty()) return WriteAll(options, {}, unchanged);
  if (unchanged == nullptr) {
    return WriteEntries(options, std::move(entries), For::kRangeDelete, nullptr);
  }
  Result<BatchCondition> condition = ConditionOf(*unchanged, std::span(entries).last(after));
  if (!condition.ok()) return condition.status();
  return WriteEntries(options, std::move(entries), For::kRangeDelete, &*condition);
}

Status Writer::WriteEntries(const WriteOptions& options, std::vector<log::PendingEntry> entries,
                            For whom, BatchCondition* condition) {
  BRAID_DCHECK(!entries.empty());
  const bool only_deletes =
      std::all_of(entries.begin(), entries.end(),
                  [](const log::PendingEntry& pending) { return pending.op == EntryOp::kDelete; });
  const AllocationClass allocation =
      only_deletes ? AllocationClass::kDelete : AllocationClass::kWrite;
  const base::Stalls::WriteWatch watch(store_.controller->stalls(), LatencyKind::kBatch);
  space::LargeValues::Scope large(store_.large_values, entries);
  Status s = AttemptUntilDone(whom, [&] {
    Status ready = condition != nullptr ? LookBeforeBatch(condition) : Status::OK();
    if (ready.ok() && large.wants_copy()) ready = CopyLarge(&large, allocation);
    return ready.ok() ? TryBatch(&entries, allocation, whom, condition) : ready;
  });
  if (!s.ok()) return s;
  store_.pace->Owe(entries.size() - 1);
  return AfterWrite(options);
}

/// One attempt. TryAgain while a bulk load is shown, or when `condition` (may be null) must look
/// again; Busy when it is not met.
Status Writer::TryBatch(std::vector<log::PendingEntry>* entries, AllocationClass allocation,
                        For whom, const BatchCondition* condition) {
  // Also keeps the memtable from being switched.
  const auto batch_lock = HoldBatchesWatched();
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  memtable::MemTable* target = store_.versions->shown().active.get();
  if (target->is_frozen()) return Status::TryAgain("");
  const uint32_t shard = ShardOfThread();
  const std::vector<base::MutexHold> locks = [this] {
    const base::Stalls::Watch watch(store_.controller->stalls(), StallReason::kLock);
    return LockShards();
  }();

  BRAID_DCHECK(locks.size() == shards_.size());    // invariant 2
  if (failed()) return store_.errors->WhyEnded();  // invariant 3
  if (whom == For::kUser && kept_range_.IsShown() &&
      std::any_of(entries->begin(), entries->end(), [this](const log::PendingEntry& pending) {
        return kept_range_.Covers(pending.key);
      })) {
    return Status::TryAgain("");
  }
  if (condition != nullptr) {
    if (Status s = CheckInMemTables(*condition, whom); !s.ok()) return s;
  }
  bool is_torn = false;
  Status written = target->WriteBatch(shard, *entries, allocation, &is_torn);
  // Its numbers must not be drawn again: writes end here.
  if (is_torn) store_.host->Fail(written);
  return written;
}

}  // namespace braid::write
