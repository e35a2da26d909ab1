// Purpose: deletes all keys of a range. Thread safety, invariants, persistence: see lsm_engine.h.
//
// The keys are read and then deleted in batches, not covered by one mark: a mark would have to be
// asked for by every later read of the range, and outlive every table that it covers. So deleting
// costs by the number of keys, and nothing afterwards.
//
// Why writes to the range cannot slip in between. The range is shown to writers while all shard
// locks are held, when no write is under way; from then on a writer whose key it covers finds it
// under its shard lock, and waits (range_mutex_). So no key of the range changes from the read to
// the last delete, and the whole is one step among writes: each other write to the range comes
// before all of it or after all of it. It ends in the same way, so that nobody looks at a range
// that is gone. Reads and snapshots beside it see a batch whole or not at all.
#include "engine/delete_range.h"

#include <algorithm>

#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"
#include "level/merging_iterator.h"

namespace braid::engine {

using format::EntryHeader;

namespace {

/// Deletes of one batch. All writers wait for a batch, some hundred nanoseconds a delete.
constexpr size_t kStep = 8192;
/// Bytes of their keys, which are copied.
constexpr uint64_t kStepBytes = 16u << 20;
/// Where there is no room for a batch, so many times fewer may find some.
constexpr size_t kFewer = 16;

}  // namespace

Status LsmEngine::DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                              uint64_t* deleted) {
  *deleted = 0;
  if (Status s = CheckKey(begin); !s.ok()) return s;
  if (end && *end <= begin) return closed() ? Status::Closed() : Status::OK();
  if (Status s = AdmitWrite(); !s.ok()) return s;  // it may find nothing to delete
  const std::lock_guard one_at_a_time(range_mutex_);
  const KeyRange range{begin, end};
  if (!BRAID_MUTANT(kRangeNotKept)) ShowRange(&range);
  const Status s = base::NoThrow([&] { return DeleteKeys(options, range, deleted); });
  ShowRange(nullptr);
  return s;
}

/// When this returns, no write is under way that has not seen `range`.
void LsmEngine::ShowRange(const KeyRange* range) {
  const std::lock_guard batch_lock(batch_mutex_);
  // One at a time would do as well, but for a batch, which holds them all.
  for (ShardLock& each : shards_) each.mutex.lock();
  deleting_.store(range, std::memory_order_relaxed);  // read under a shard lock
  for (ShardLock& each : shards_) each.mutex.unlock();
}

bool LsmEngine::IsBeingDeleted(Slice key) const noexcept {
  const KeyRange* range = deleting_.load(std::memory_order_relaxed);
  return range != nullptr && range->Covers(key);
}

/// Before another attempt of a write that was told to try again.
void LsmEngine::AwaitRange() {
  // Relaxed: who misses the range meets it again under the shard lock.
  if (deleting_.load(std::memory_order_relaxed) == nullptr) return;
  const Stalls::Timer timer(controller_.stalls(), StallReason::kRange);
  const std::lock_guard wait(range_mutex_);
}

/// No view is held while a batch is written: merges that make room for it would keep what the
/// batches before it have deleted. Nobody else changes the range, so each batch finds what is left.
Status LsmEngine::DeleteKeys(const WriteOptions& options, const KeyRange& range,
                             uint64_t* deleted) {
  std::string from(range.begin);
  size_t step = kStep;
  for (KeysToDelete keys; !keys.is_last;) {
    if (Status s = ReadKeys(range, from, step, &keys); !s.ok()) return s;
    const size_t count = keys.ends.size();
    if (count == 0) break;
    Status s = WriteDrafts(options, keys.Drafts(), Writer::kRangeDelete, nullptr);
    if (s.IsOutOfSpace() && count > 1) {
      step = std::max<size_t>(count / kFewer, 1);
      keys.is_last = false;
      continue;
    }
    if (!s.ok()) return s;
    counters_.Add(EngineCounter::kDeletes, count);
    *deleted += count;
    from.assign(keys.Key(count - 1));
  }
  return Status::OK();
}

/// The first `step` keys of the range from the key `from` on.
Status LsmEngine::ReadKeys(const KeyRange& range, const std::string& from, size_t step,
                           KeysToDelete* keys) {
  keys->Clear();
  const ViewRegistry::Handle handle = RegisterView(&reclaimer_.clock());
  index::ReadView view;
  view.sequence = handle.sequence();
  view.published = &sequence_;
  const pmem::EpochGuard guard;
  if (closed()) return Status::Closed();
  const std::shared_ptr<const ReadState> state =
      state_.load(std::memory_order_acquire)->shared_from_this();
  level::MergingIterator merged = MergeOf(*state, view);
  merged.SetBounds(range.begin, range.end);
  for (merged.SeekGE(from); merged.Valid() && range.Covers(merged.key()); merged.Next()) {
    if (keys->ends.size() == step || keys->bytes.size() >= kStepBytes) return merged.status();
    const uint64_t offset = pool_->OffsetOf(merged.entry());
    if (options_.verify_checksums &&
        !index::KeyIsIntact(*pool_, *merged.entry(), offset, base::Hash64(merged.key()))) {
      return pool_->CorruptionAt(offset, "entry", "its check does not match");
    }
    keys->Add(merged.key());
  }
  keys->is_last = true;
  return merged.status();
}

}  // namespace braid::engine
