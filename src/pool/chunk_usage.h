// Purpose: how many live bytes each chunk of entries holds, for reclamation and collection. Known
// for chunks flushed in this session; chunks of earlier sessions are counted in the background.
// Thread safety: Add and Remove from any thread; MarkKnown by the background thread.
// Invariants:
//   1. A chunk whose count is known and zero holds no entry that a table links.
//   2. The sum is that of all counts that are known, once those who change some have returned.
// Persistence: none; entries carry their own obsolete marks, from which counts are rebuilt.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/counters.h"
#include "media/sparse_table.h"

namespace braid::pool {

class ChunkUsage {
 public:
  static constexpr int64_t kUnknown = INT64_MIN / 2;
  // What is added while a count is not known never makes it look known: offsets have 48 bits, so
  // this is more than all the bytes of a pool.
  static_assert(kUnknown < -(int64_t{1} << 48));

  explicit ChunkUsage(uint64_t capacity) : bytes_(capacity) {}

  /// False: there was no memory for the table, and nothing else may be called.
  bool ok() const noexcept { return bytes_.ok(); }

  void Add(uint64_t chunk, uint64_t bytes) noexcept { Move(chunk, static_cast<int64_t>(bytes)); }
  void Remove(uint64_t chunk, uint64_t bytes) noexcept {
    Move(chunk, -static_cast<int64_t>(bytes));
  }
  void Set(uint64_t chunk, int64_t bytes) noexcept {
    const int64_t before = bytes_[chunk].exchange(bytes, std::memory_order_relaxed);
    AddToSum(Known(bytes) - Known(before));
  }
  /// Live bytes; meaningless (far below zero) while unknown.
  int64_t Live(uint64_t chunk) const noexcept {
    return bytes_[chunk].load(std::memory_order_relaxed);
  }
  bool IsKnown(uint64_t chunk) const noexcept { return Live(chunk) >= 0; }
  /// Live bytes of all chunks that are known. Cost: a look at each thread's share; no chunk.
  uint64_t KnownLive() const noexcept {
    // Below zero while a thread is between a count and the sum.
    return static_cast<uint64_t>(
        std::max(static_cast<int64_t>(sum_.Sum(Counter::kLive)), int64_t{0}));
  }

 private:
  enum class Counter : uint8_t { kLive, kCount };

  static int64_t Known(int64_t live) noexcept { return std::max(live, int64_t{0}); }
  void Move(uint64_t chunk, int64_t by) noexcept {
    const int64_t before = bytes_[chunk].fetch_add(by, std::memory_order_relaxed);
    AddToSum(Known(before + by) - Known(before));
  }
  /// What threads add up modulo 2^64.
  void AddToSum(int64_t change) noexcept {
    if (change != 0) sum_.Add(Counter::kLive, static_cast<uint64_t>(change));
  }

  media::SparseTable<std::atomic<int64_t>> bytes_;
  base::Counters<Counter, static_cast<size_t>(Counter::kCount)> sum_;  // a share a thread
};

}  // namespace braid::pool
