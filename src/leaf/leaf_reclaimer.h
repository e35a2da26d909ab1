// Purpose: gives back what no leaf leads to any more, once nobody can be reading it: entries, by
// the chunk, with their extents, and leaves that were replaced.
// Thread safety: any thread; Retire under the mutex of the leaf that named the entry.
// Locks, in the order they may be taken: that of Hold() and Reclaim(), then those of heap and list,
// and the one over the extents. Not inside an EpochGuard, except for the last one.
// Invariants:
//   1. What no leaf names any more is reused only after a grace period.
//   2. An entry that no leaf names is marked obsolete and its extent is in extents_ before its
//      bytes are taken off its chunk: a chunk without live bytes may be freed.
// Persistence: states of chunks, by PmemPool. An obsolete mark is durable with the next fence of
// anybody: only a salvage looks at it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <unordered_set>

#include "base/mutex.h"
#include "leaf/leaf_list.h"
#include "log/entry_heap.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::leaf {

class LeafReclaimer {
 public:
  /// What is given back to, and outlives the reclaimer.
  struct Store {
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    log::EntryHeap* heap;
    LeafList* list;
  };
  /// What a write must do once it has counted; made before, where memory may be missing.
  struct RetiredEntry {
    std::list<uint64_t> extent;  // one place, or none
  };

  explicit LeafReclaimer(const Store& store) : store_(store), pool_(*store.pool) {}
  LeafReclaimer(const LeafReclaimer&) = delete;
  LeafReclaimer& operator=(const LeafReclaimer&) = delete;

  RetiredEntry PrepareToRetire(uint64_t entry) const;
  /// An entry that no leaf names any more, once that is durable.
  void Retire(uint64_t entry, RetiredEntry* retired) noexcept;

  /// Gives back what nothing leads to. `open_too`: chunks that are being filled and hold nothing as
  /// well. False when there was nothing.
  bool Reclaim(bool open_too);
  /// Whether so much counts no longer that it is worth looking for what can be given back.
  bool IsDue() const noexcept {
    static_assert(format::kMaxChunkBytes <= kMostGarbage);  // the limits are in order
    return garbage_bytes_.load(std::memory_order_relaxed) >=
           std::clamp(pool_.pool_bytes() / 32, pool_.chunk_bytes(), kMostGarbage);
  }
  /// While it is held nothing is given back, and what is retired or replaced stays as it is.
  base::MutexHold Hold() const { return base::MutexHold(reclaim_mutex_); }
  /// This thread has Hold().
  void AssertHeld() const noexcept { reclaim_mutex_.AssertHeld(); }

  /// How often space was given back: a caller that found no room looks whether that has changed
  /// since. One load.
  uint64_t times() const noexcept {
    // Relaxed: a writer that waits for space looks under Hold(); an earlier look that misses the
    // last one leads to one attempt more.
    return times_.load(std::memory_order_relaxed);
  }
  uint64_t chunks_given_back() const noexcept {
    return chunks_given_back_.load(std::memory_order_relaxed);
  }
  /// Extents that wait to be given back.
  std::unordered_set<uint64_t> RetiredExtents() const;

 private:
  static constexpr uint64_t kMostGarbage = uint64_t{64} << 20;

  const Store store_;
  pool::PmemPool& pool_;
  alignas(64) std::atomic<uint64_t> garbage_bytes_{0};  // retired since the last Reclaim
  std::atomic<uint64_t> times_{0};
  std::atomic<uint64_t> chunks_given_back_{0};
  mutable base::Mutex reclaim_mutex_;
  mutable base::Mutex mutex_;
  // A list, so that what is put in needs no memory at that moment.
  std::list<uint64_t> extents_ BRAID_GUARDED_BY(mutex_);  // of entries that no leaf names
};

}  // namespace braid::leaf
