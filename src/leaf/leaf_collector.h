// Purpose: copies entries out of chunks of which little counts, and out of the way of a large
// value, so that the reclaimer can give whole chunks back.
// Thread safety: any thread.
// Locks, in the order they may be taken: LeafReclaimer::Hold, mutexes of leaves, locks of heap,
// list and pool. The one over the counts is held for a moment, without any other.
// Invariants:
//   1. An entry is moved under LeafReclaimer::Hold and the mutex of the leaf that names it: nobody
//      replaces or frees it meanwhile.
//   2. A collection that gained no chunk is not repeated before more is sparse, or less of it live.
// Persistence: the copy is durable before the leaf's slot names it, and that before the original is
// marked obsolete. A crash in between leaves either, and a copy that nothing names, which is swept.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "leaf/leaf_list.h"
#include "leaf/leaf_reclaimer.h"
#include "log/entry_heap.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"
#include "space/large_values.h"

namespace braid::leaf {

class LeafCollector {
 public:
  /// What is collected, and outlives the collector.
  struct Store {
    pool::PmemPool* pool;
    const pool::ChunkUsage* usage;
    log::EntryHeap* heap;
    LeafList* list;
    space::LargeValues* large_values;
    LeafReclaimer* reclaimer;
    double live_ratio;  // a chunk of which less is live is sparse
  };

  explicit LeafCollector(const Store& store) : store_(store), pool_(*store.pool) {}
  LeafCollector(const LeafCollector&) = delete;
  LeafCollector& operator=(const LeafCollector&) = delete;

  /// Copies what is live in sparse chunks together; they are then the reclaimer's. `drain`: however
  /// few there are. False when it is not worth it.
  bool CollectStep(bool drain);
  /// For a write that has found no run of neighbouring chunks for its value: empties the cheapest
  /// one, large values included (compaction/room.h).
  void MakeRoom();
  std::vector<uint64_t> SparseChunks() const {
    return store_.heap->SparseChunks(store_.live_ratio);
  }

 private:
  bool WasFutile(size_t chunks, int64_t live) const;
  bool Collect(const std::vector<uint64_t>& sparse);
  Status MoveEntry(uint64_t entry, bool* moved);
  Status TryMove(uint64_t entry, log::PendingEntry* pending, const space::LargeValues::Scope& large,
                 bool* moved);
  int64_t LiveIn(const std::vector<uint64_t>& chunks) const noexcept;

  const Store store_;
  pool::PmemPool& pool_;
  mutable base::Mutex mutex_;
  // What a collection left sparse that gained no chunk; 0 chunks: the last one gained some.
  size_t futile_chunks_ BRAID_GUARDED_BY(mutex_) = 0;
  int64_t futile_live_ BRAID_GUARDED_BY(mutex_) = 0;
};

}  // namespace braid::leaf
