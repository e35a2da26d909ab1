// Purpose: frees what merges and flushes have retired, once no reader can reach it any more: chunks
// and extents of the pool, and DRAM.
// Thread safety: any thread.
// Locks, in the order they may be taken: that of Hold() and Reclaim(), then the one over the lists;
// neither is held while another object's is waited for, but views'.
// Invariants:
//   1. What is retired is freed after a grace period (base/epoch.h), and after the views whose pin
//      is older than it are gone.
//   2. What was unlinked before the clock moves can't be found by views that read the clock
//      afterwards: their pins let it go.
//   3. On media that need it, the obsolete marks are on the medium before what they guard against
//      is reused.
// Persistence: states of chunks, by PmemPool; a crash before that leaves them to the next open.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "braid/status.h"
#include "pool/pool.h"

namespace braid::space {

/// DRAM that readers may be using; views own what they use.
using RetiredMemory = std::list<std::shared_ptr<const void>>;

/// What may be reused in the pool once the views and readers of its time are gone.
struct Retired {
  std::vector<pool::ChunkId> chunks;
  std::vector<uint64_t> extents;

  bool empty() const noexcept { return chunks.empty() && extents.empty(); }
};

class Reclaimer {
 public:
  /// `oldest_pin`: the oldest value of clock() that a view holds, ~0 without views. `wake`: there
  /// is something to be given back; called without locks of this object.
  Reclaimer(pool::PmemPool* pool, std::function<uint64_t()> oldest_pin, std::function<void()> wake)
      : pool_(pool), oldest_pin_(std::move(oldest_pin)), wake_(std::move(wake)) {}
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  /// What views pin. Read it before anything is looked up.
  const std::atomic<uint64_t>& clock() const noexcept { return clock_; }

  void Retire(Retired retired);
  void RetireMemory(RetiredMemory memory) noexcept;

  /// Gives back what no reader and no view can reach. `in_doubt`: the medium has failed, and what
  /// it says to be obsolete may not be; then DRAM alone. False when there was nothing. Errors: a
  /// sync's, and nothing was given back.
  Result<bool> Reclaim(bool in_doubt);
  /// DRAM alone, by a thread that needs it now.
  void ReclaimMemory() noexcept;
  /// While it is held nothing is given back to the pool.
  base::MutexHold Hold() const { return base::MutexHold(reclaim_mutex_); }

  /// How often space was given back, here or elsewhere (CountRoom): a caller that found no room
  /// looks whether that has changed since. One load.
  uint64_t times() const noexcept {
    // Relaxed: a writer that waits for space looks under Hold(); an earlier look that misses the
    // last one leads to one attempt more.
    return times_.load(std::memory_order_relaxed);
  }
  void CountRoom() noexcept { times_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t chunks_given_back() const noexcept {
    return chunks_given_back_.load(std::memory_order_relaxed);
  }

  bool HasRetired() const;
  bool HasRetiredMemory() const;
  bool IsRetired(const pool::ChunkId& chunk) const;
  /// Chunks that wait to be given back, those of extents not among them.
  uint64_t RetiredChunks() const;
  /// Extents that wait to be given back.
  std::unordered_set<uint64_t> RetiredExtents() const;

 private:
  struct Batch {
    uint64_t clock;
    Retired retired;
  };

  pool::PmemPool* const pool_;
  const std::function<uint64_t()> oldest_pin_;
  const std::function<void()> wake_;
  std::atomic<uint64_t> clock_{1};
  std::atomic<uint64_t> times_{0};
  std::atomic<uint64_t> chunks_given_back_{0};
  mutable base::Mutex reclaim_mutex_;
  mutable base::Mutex mutex_;
  // Lists, so that what is taken out or put in needs no memory at that moment.
  std::list<Batch> batches_ BRAID_GUARDED_BY(mutex_);
  RetiredMemory memory_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::space
