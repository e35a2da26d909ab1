// Purpose: the DRAM that the store takes, and its limit (memory_budget_bytes).
// Thread safety: any thread; nothing here changes.
// Persistence: none.
#pragma once

#include <cstdint>

#include "cache/lookup_cache.h"
#include "level/read_state.h"
#include "pool/pool.h"

namespace braid::level {

class MemoryBudget {
 public:
  /// `lookup_cache` may be null.
  MemoryBudget(const Options& options, const pool::PmemPool* pool,
               const cache::LookupCache* lookup_cache);

  uint64_t bytes() const noexcept { return bytes_; }
  /// Taken now.
  uint64_t Used() const;
  /// What background work keeps it at: the budget minus what may be added until the next look.
  uint64_t Goal() const noexcept;
  bool IsShort() const { return Used() > Goal(); }
  /// What is taken, and what memtables may still add to it.
  uint64_t ToCome(const ReadState& state) const;
  /// Whether a memtable is to become immutable. Those that there may be take a sixth of the budget
  /// at most, so that they need not give way, which they can't. Some loads.
  bool IsFull(const memtable::MemTable& memtable) const noexcept {
    return memtable.bytes() >= (memtable.is_persistent() ? persistent_bytes_ : memtable_bytes_) ||
           (watches_memtables_ && memtable.memory_bytes() >= memtable_memory_);
  }

 private:
  const pool::PmemPool* const pool_;
  const cache::LookupCache* const lookup_cache_;
  const uint64_t bytes_;
  const uint64_t memtable_bytes_;    // of its log
  const uint64_t persistent_bytes_;  // of one that is persistent
  const uint64_t memtables_;         // that there may be
  const uint64_t memtable_memory_;   // DRAM at which one is full
  const bool watches_memtables_;     // its log reaches its own limit no later than that otherwise
};

}  // namespace braid::level
