// Purpose: batches.
// Thread safety, invariants, persistence: see writer.h.
#include <algorithm>

#include "base/check.h"
#include "base/epoch.h"
#include "write/writer.h"

namespace braid::write {

using format::EntryOp;
using pool::AllocationClass;

/// The updates of `batch`, whose bytes they point to; counts them.
Result<std::vector<log::PendingEntry>> Writer::DraftsOf(const WriteBatch& batch) {
  struct DraftMaker final : WriteBatch::Handler {
    std::vector<log::PendingEntry> entries;
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
  } maker;
  batch.Iterate(&maker);
  if (!maker.status.ok()) return maker.status;
  if (maker.bytes > kMaxBatchBytes) {
    return Status::InvalidArgument("the batch has " + std::to_string(maker.bytes) +
                                   " bytes; the limit is " + std::to_string(kMaxBatchBytes));
  }
  counters_.Add(Counter::kBatches);
  counters_.Add(Counter::kBytesPut, maker.bytes);
  return std::move(maker.entries);
}

Status Writer::Write(const WriteOptions& options, const WriteBatch& batch) {
  Result<std::vector<log::PendingEntry>> entries = DraftsOf(batch);
  if (!entries.ok()) return entries.status();
  if (entries->empty()) {
    if (closed()) return Status::Closed();
    return options.sync ? AfterWrite(options) : Status::OK();  // what was written before
  }
  if (entries->size() == 1) return Update(options, entries->front());
  return WriteDrafts(options, std::move(entries).value(), For::kUser, nullptr);
}

Status Writer::WriteDrafts(const WriteOptions& options, std::vector<log::PendingEntry> entries,
                           For whom, BatchCondition* condition) {
  BRAID_DCHECK(!entries.empty());
  const bool only_deletes =
      std::all_of(entries.begin(), entries.end(),
                  [](const log::PendingEntry& pending) { return pending.op == EntryOp::kDelete; });
  const AllocationClass allocation =
      only_deletes ? AllocationClass::kDelete : AllocationClass::kWrite;
  const base::Stalls::WriteWatch watch(store_.controller->stalls());
  space::LargeValues::Scope large(store_.large_values, entries);
  Status s = AttemptUntilDone(whom, [&] {
    Status ready = condition != nullptr ? LookBeforeBatch(condition) : Status::OK();
    if (ready.ok() && large.wants_copy()) ready = CopyLarge(&large, allocation);
    return ready.ok() ? TryBatch(&entries, allocation, whom, condition) : ready;
  });
  return s.ok() ? AfterWrite(options) : s;
}

/// One attempt. TryAgain while a bulk load is shown, or when `condition` (may be null) must look
/// again; Busy when it is not met.
Status Writer::TryBatch(std::vector<log::PendingEntry>* entries, AllocationClass allocation,
                        For whom, const BatchCondition* condition) {
  // Also keeps the memtable from being sealed.
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
    if (Status s = CheckInMemTables(*condition); !s.ok()) return s;
  }
  bool is_torn = false;
  Status written = target->WriteBatch(shard, *entries, allocation, &is_torn);
  // Its numbers must not be drawn again: writes end here.
  if (is_torn) store_.host->Fail(written);
  return written;
}

}  // namespace braid::write
