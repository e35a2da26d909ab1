// Purpose: the ranges of keys that a delete of ranges under way keeps for itself.
// Thread safety: any thread; Show under all shard locks, Covers under one of them.
// Invariants:
//   1. They are one thread's at a time, from Own() on, and live as long as they are shown.
// Persistence: none.
#pragma once

#include <atomic>

#include "base/check.h"
#include "base/key_range_set.h"
#include "base/mutex.h"
#include "braid/status.h"

namespace braid::write {

class KeptRange {
 public:
  /// Held by a delete of ranges from its begin to its end, and by callers that must exclude one.
  base::MutexHold Own() { return base::MutexHold(mutex_); }
  /// Null: none. By who owns it, under all shard locks.
  void Show(const base::KeyRangeSet* ranges) noexcept {
    mutex_.AssertHeld();
    BRAID_DCHECK(ranges == nullptr || !IsShown());  // one delete at a time
    BRAID_DCHECK(ranges == nullptr || !ranges->empty());
    shown_.store(ranges, std::memory_order_relaxed);
  }
  /// Whether there are any. A hint without a shard lock: one relaxed load.
  bool IsShown() const noexcept { return shown_.load(std::memory_order_relaxed) != nullptr; }
  /// Under a shard lock.
  bool Covers(Slice key) const noexcept {
    const base::KeyRangeSet* ranges = shown_.load(std::memory_order_relaxed);
    return ranges != nullptr && ranges->Covers(key);
  }

 private:
  std::atomic<const base::KeyRangeSet*> shown_{nullptr};
  base::Mutex mutex_;
};

}  // namespace braid::write
