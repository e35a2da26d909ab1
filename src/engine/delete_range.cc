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

}  // namespace

Status LsmEngine::DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                              uint64_t* deleted) {
  *deleted = 0;
  if (Status s = CheckKey(begin); !s.ok()) return s;
  if (end && *end <= begin) return closed() ? Status::Closed() : Status::OK();
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
  const std::lock_guard wait(range_mutex_);
}

Status LsmEngine::DeleteKeys(const WriteOptions& options, const KeyRange& range,
                             uint64_t* deleted) {
  // The view keeps the memory of the keys until their deletes are written.
  const ViewRegistry::Handle handle = RegisterView(&reclaim_clock_);
  index::ReadView view;
  view.sequence = handle.sequence();
  view.published = &sequence_;
  std::shared_ptr<const ReadState> state;
  {
    const pmem::EpochGuard guard;
    if (closed()) return Status::Closed();
    state = state_.load(std::memory_order_acquire)->shared_from_this();
  }
  level::MergingIterator keys = MergeOf(*state, view);
  keys.SetBounds(range.begin, range.end);
  for (bool begun = false, more = true; more;) {
    std::vector<log::Draft> drafts;
    drafts.reserve(std::min<size_t>(kStep, 256));
    {
      const pmem::EpochGuard guard;
      if (closed()) return Status::Closed();
      if (!begun) keys.SeekGE(range.begin);
      begun = true;
      for (more = false; keys.Valid() && range.Covers(keys.key()); keys.Next()) {
        if (drafts.size() == kStep) {
          more = true;
          break;
        }
        log::Draft draft;
        draft.op = format::EntryOp::kDelete;
        draft.key = keys.key();
        draft.key_hash = base::Hash64(draft.key);
        const uint64_t offset = pool_->OffsetOf(keys.entry());
        if (options_.verify_checksums &&
            !index::KeyIsIntact(*pool_, *keys.entry(), offset, draft.key_hash)) {
          return pool_->CorruptionAt(offset, "entry", "its check does not match");
        }
        drafts.push_back(draft);
      }
      if (Status s = keys.status(); !s.ok()) return s;
    }
    if (drafts.empty()) break;
    const uint64_t count = drafts.size();
    counters_.Add(EngineCounter::kDeletes, count);
    if (Status s = WriteDrafts(options, std::move(drafts), Writer::kRangeDelete, nullptr);
        !s.ok()) {
      return s;
    }
    *deleted += count;
  }
  return Status::OK();
}

}  // namespace braid::engine
