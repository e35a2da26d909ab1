// Purpose: the redo log of a merge: a bounded batch of absolute updates that is durable before any
// of them is made, so that a merge needs two fences a batch instead of two a pointer.
// Thread safety: one thread; each merge has a log of its own, in chunks of its own.
// Invariants:
//   1. Batches alternate between two chunks; a batch's chunk is overwritten only after all updates
//      of that batch, and of the one after it, are durable.
//   2. Updates are absolute, so that replaying them any number of times gives the same.
// Persistence: a batch commits when its record is durable (one fence; a torn one fails its check).
// Before: the merge has not touched the links it names. After: recovery makes all its updates.
// Source: persistence of a zipper's stack; replaces the per-pointer persist of ListDB Algorithm 6.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/check.h"
#include "format/manifest.h"
#include "pool/pool.h"

namespace braid::merge {

/// What a batch leaves behind, besides its updates.
struct BatchProgress {
  uint64_t batch = 0;           // number of the batch, from 1
  uint64_t boundary = 0;        // offset of the first source entry that is merged
  int64_t entries_delta = 0;    // of the target so far
  uint64_t merged_entries = 0;  // of the source so far
  bool counted = true;          // false: both counts leave out what was merged before a crash
};

/// How far the merges are that the manifest says are open, by the ids of the tables merged.
using OpenMerges = std::map<uint64_t, BatchProgress>;

/// Corruption when one of the updates changes what is no link of an entry or head, and no state of
/// an entry, or makes it what is no link.
Status CheckUpdates(const pool::PmemPool& pool, const std::vector<format::RedoUpdate>& updates);
/// Stores one of them. Returns the offset of what is to be written back; 0: nothing, under a fault.
uint64_t StoreUpdate(pool::PmemPool* pool, const format::RedoUpdate& update);
/// Stores and flushes one of them.
void MakeUpdate(pool::PmemPool* pool, const format::RedoUpdate& update);

class RedoLog {
 public:
  /// Of an open merge.
  RedoLog(pool::PmemPool* pool, const format::MergeRecord& merge) : pool_(pool), merge_(merge) {
    BRAID_DCHECK(merge.redo_chunks[0] != merge.redo_chunks[1]);  // invariant 1
  }

  /// Updates that fit one batch.
  size_t capacity() const noexcept {
    return (pool_->chunk_bytes() - sizeof(format::RedoHeader)) / sizeof(format::RedoUpdate);
  }
  /// Makes the batch durable, then makes its updates, in order, and makes them durable. Corruption,
  /// and nothing is done, when there are more updates than fit or one that Apply would refuse: both
  /// come of lists that were made by hand.
  Status Commit(const std::vector<format::RedoUpdate>& updates, const BatchProgress& progress);
  /// The newest batch of this merge that is in the pool, with its updates; batch 0 when there is
  /// none.
  Result<BatchProgress> Newest(std::vector<format::RedoUpdate>* updates) const;
  /// Makes updates in order and flushes and fences them. Corruption, and nothing is done, when one
  /// changes what is no link of an entry or head, or makes it what is no link.
  Status Apply(const std::vector<format::RedoUpdate>& updates);

 private:
  void Make(const std::vector<format::RedoUpdate>& updates);
  void NoteLine(uint64_t offset) noexcept;
  uint64_t ChunkFor(uint64_t batch) const noexcept;

  pool::PmemPool* pool_;
  format::MergeRecord merge_;
  // Of the batch that is being made: lines to write back, and the last ones noted, by their number.
  std::vector<uint64_t> lines_;
  std::array<uint64_t, 256> noted_{};
};

}  // namespace braid::merge
