// Purpose: how many live bytes each chunk of entries holds, for reclamation and collection. Known
// for chunks flushed in this session; chunks of earlier sessions are counted in the background.
// Thread safety: Add and Remove from any thread; MarkKnown by the background thread.
// Invariants:
//   1. A chunk whose count is known and zero holds no entry that a table links.
// Persistence: none; entries carry their own obsolete marks, from which counts are rebuilt.
#pragma once

#include <atomic>
#include <cstdint>

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

  void Add(uint64_t chunk, uint64_t bytes) noexcept {
    bytes_[chunk].fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  void Remove(uint64_t chunk, uint64_t bytes) noexcept {
    bytes_[chunk].fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  void Set(uint64_t chunk, int64_t bytes) noexcept {
    bytes_[chunk].store(bytes, std::memory_order_relaxed);
  }
  /// Live bytes; meaningless (far below zero) while unknown.
  int64_t Live(uint64_t chunk) const noexcept {
    return bytes_[chunk].load(std::memory_order_relaxed);
  }
  bool IsKnown(uint64_t chunk) const noexcept { return Live(chunk) >= 0; }

 private:
  media::SparseTable<std::atomic<int64_t>> bytes_;
};

}  // namespace braid::pool
