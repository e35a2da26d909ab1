// Purpose: lets a lookup that finds an obsolete entry tell a concurrent merge, after which it
// retries, from damage.
// Thread safety: any thread.
// Invariants:
//   1. The low bits count the merges that are changing links, obsolete marks or trees; the high
//      bits change with each such change, and whenever a new state is published.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"

namespace braid::index {

class MergeEpoch {
 public:
  /// Acquire and release on both sides of the changes: see Reader::LookupInPool. `of_copies`: what
  /// it marks has copies, which are the same; such a merge goes alone.
  void Begin(bool of_copies) noexcept {
    of_copies_.store(of_copies, std::memory_order_relaxed);
    const uint64_t before = word_.fetch_add(1, std::memory_order_acq_rel);
    BRAID_CHECK(before % kOne != kOne - 1);  // one more would carry into the changes
  }
  void End() noexcept {
    const uint64_t before = word_.fetch_add(kOne - 1, std::memory_order_acq_rel);
    BRAID_CHECK(AnyAtWork(before));
  }
  /// Another state is shown.
  void Shown() noexcept { word_.fetch_add(kOne, std::memory_order_release); }

  /// Of the merges that are changing something, where Now() is the same before and behind this.
  bool IsOfCopies() const noexcept { return of_copies_.load(std::memory_order_relaxed); }
  uint64_t Now() const noexcept { return word_.load(std::memory_order_acquire); }
  /// Whether any merge was changing something then.
  static bool AnyAtWork(uint64_t word) noexcept { return word % kOne != 0; }

 private:
  static constexpr uint64_t kOne = 256;  // more than there are merges
  std::atomic<uint64_t> word_{0};
  std::atomic<bool> of_copies_{false};
};

}  // namespace braid::index
