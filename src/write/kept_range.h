// Purpose: the range of keys that a DeleteRange under way keeps for itself.
// Thread safety: any thread; Show under all shard locks, Covers under one of them.
// Invariants:
//   1. It is one thread's at a time, from Own() on; the range lives as long as it is shown.
// Persistence: none.
#pragma once

#include <atomic>
#include <optional>

#include "base/check.h"
#include "base/mutex.h"
#include "braid/status.h"

namespace braid::write {

struct KeyRange {
  Slice begin;
  std::optional<Slice> end;  // exclusive; none: to the last key

  bool Covers(Slice key) const noexcept { return key >= begin && (!end || key < *end); }
};

class KeptRange {
 public:
  /// Held by a DeleteRange from its begin to its end, and by callers that must exclude one.
  base::MutexHold Own() { return base::MutexHold(mutex_); }
  /// Null: none. By who owns it, under all shard locks.
  void Show(const KeyRange* range) noexcept {
    mutex_.AssertHeld();
    BRAID_DCHECK(range == nullptr || !IsShown());  // one at a time
    BRAID_DCHECK(range == nullptr || !range->end || range->begin < *range->end);
    shown_.store(range, std::memory_order_relaxed);
  }
  /// Whether there is one. A hint without a shard lock: one relaxed load.
  bool IsShown() const noexcept { return shown_.load(std::memory_order_relaxed) != nullptr; }
  /// Under a shard lock.
  bool Covers(Slice key) const noexcept {
    const KeyRange* range = shown_.load(std::memory_order_relaxed);
    return range != nullptr && range->Covers(key);
  }

 private:
  std::atomic<const KeyRange*> shown_{nullptr};
  base::Mutex mutex_;
};

}  // namespace braid::write
