// Purpose: the DRAM that the store takes, and its limit: memory_budget_bytes, or its share of what
// several databases have together (braid/shared_resources.h).
// Thread safety: any thread; the limit may change at any time.
// Persistence: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/shared_budget.h"
#include "cache/lookup_cache.h"
#include "level/read_state.h"
#include "pool/pool.h"

namespace braid::level {

class MemoryBudget {
 public:
  using Share = base::SharedBudget::Share;

  /// `lookup_cache` may be null. `changed` is called when the share is another one and the store
  /// at rest is to look; may be empty.
  MemoryBudget(const Options& options, const pool::PmemPool* pool,
               const cache::LookupCache* lookup_cache, std::unique_ptr<Share> share,
               std::function<void()> changed = {});
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  uint64_t bytes() const noexcept { return share_->bytes(); }
  /// See base::SharedBudget::Share.
  void Look(bool wants_more) const noexcept { share_->Look(wants_more); }
  void Close() const noexcept { share_->Close(); }
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
           (WatchesMemTables() && IsFullOfMemory(memtable.memory_bytes()));
  }

 private:
  /// DRAM that each memtable may have, whatever the budget.
  static constexpr uint64_t kLeastMemTable = 2 << 10;
  /// All memtables together take one of so many parts of the budget.
  static constexpr uint64_t kPartOfMemTables = 6;

  /// DRAM at which a memtable is full.
  uint64_t MemTableMemory() const noexcept {
    const uint64_t part = bytes() / parts_;
    return part > kLeastMemTable ? part : kLeastMemTable;
  }
  /// memory >= MemTableMemory(), which each write asks, without its division.
  bool IsFullOfMemory(uint64_t memory) const noexcept {
    return memory >= kLeastMemTable && (memory + 1) * parts_ > bytes();
  }
  /// Whether that may come before its log reaches its own limit.
  bool WatchesMemTables() const noexcept { return bytes() < watched_below_; }

  const pool::PmemPool* const pool_;
  const cache::LookupCache* const lookup_cache_;
  const uint64_t memtable_bytes_;       // of its log
  const uint64_t persistent_bytes_;     // of one that is persistent
  const uint64_t memtables_;            // that there may be
  const uint64_t parts_;                // of the budget, of which a memtable may take one
  const uint64_t watched_below_;        // budgets
  const std::unique_ptr<Share> share_;  // which asks the others
};

}  // namespace braid::level
