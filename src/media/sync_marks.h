// Purpose: which parts of a pool on page-cache media a sync has to do with: those where something
// was flushed since the last one. A pool is several files, and a system call for each that is clean
// is not cheap, since it waits for the device all the same.
// Thread safety: any thread; one thread at a time takes marks.
// Invariants:
//   1. What must survive a power loss is flushed (persist.h) before the sync that is to see to it.
//   2. A mark is set before the Flush that sets it returns, and taken before the files are synced:
//      so a sync that begins behind a Flush syncs what that has flushed, or a sync that has ended
//      did.
// Persistence: none. At an open everything is marked: the process before may have died.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "media/sparse_table.h"

namespace braid::media {

class SyncMarks {
 public:
  /// Of the `bytes` at `base`, all marked. Cost: address space of two bytes a mark, of which what a
  /// pool grows to takes memory.
  SyncMarks(const char* base, uint64_t bytes);

  /// False: there was no address space for the marks, and nothing may be asked of them.
  bool ok() const noexcept { return is_clean_.ok() && was_taken_.ok(); }

  /// Marks what lies in [first, end), addresses. Cost: a load, and a store where there was no mark.
  void Mark(uintptr_t first, uintptr_t end) noexcept {
    BRAID_DCHECK(first >= base_ && first < end && end - base_ <= count_ * kBytesAMark);
    // The compiler's order is enough: Take sees to that of the processors.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const uint64_t last = (end - 1 - base_) / kBytesAMark;
    for (uint64_t i = (first - base_) / kBytesAMark; i <= last; ++i) {
      if (is_clean_[i].load(std::memory_order_relaxed) != 0) {
        is_clean_[i].store(0, std::memory_order_relaxed);
      }
    }
  }

  /// Takes the marks of the first `bytes`: what other threads flush behind this is marked again,
  /// and what they have flushed before is stored. Cost: a system call that interrupts the other
  /// threads.
  void Take(uint64_t bytes) noexcept;
  /// Whether a mark was taken in [begin, end), offsets.
  bool WasTaken(uint64_t begin, uint64_t end) const noexcept;

 private:
  static constexpr uint64_t kBytesAMark = 16ull << 20;

  const uintptr_t base_;
  const uint64_t count_;
  SparseTable<std::atomic<uint8_t>> is_clean_;  // zero: marked, as all of a new table is
  SparseTable<uint8_t> was_taken_;              // by the last Take
};

}  // namespace braid::media
