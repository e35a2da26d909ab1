// Purpose: the DRAM in use, and the limits that follow from the budget.
// Thread safety, persistence: see memory_budget.h.
#include "level/memory_budget.h"

#include <algorithm>

#include "base/check.h"
#include "level/level_sizes.h"

namespace braid::level {

namespace {
/// DRAM that each memtable may have, whatever the budget.
constexpr uint64_t kLeastMemTable = 2 << 10;
/// All memtables together take one of so many parts of the budget.
constexpr uint64_t kPartOfMemTables = 6;
/// What may be added between two looks at a budget that is large.
constexpr uint64_t kMostHeadroom = 32 << 20;
/// And where it is small, since a thread that loses its processor looks late; a quarter at most.
constexpr uint64_t kLeastHeadroom = 4 << 20;
static_assert(kLeastHeadroom < kMostHeadroom);
}  // namespace

MemoryBudget::MemoryBudget(const Options& options, const pool::PmemPool* pool,
                           const cache::LookupCache* lookup_cache)
    : pool_(pool),
      lookup_cache_(lookup_cache),
      bytes_(options.memory_budget_bytes),
      memtable_bytes_(options.memtable.bytes),
      persistent_bytes_(PersistentBytes(options)),
      memtables_(options.memtable.max_immutable + 1),
      memtable_memory_(std::max(kLeastMemTable, bytes_ / (kPartOfMemTables * memtables_))),
      watches_memtables_(memtable_memory_ < memtable_bytes_) {}

uint64_t MemoryBudget::Used() const {
  const uint64_t usage = pool_->chunks() * sizeof(int64_t);  // pool::ChunkUsage
  const uint64_t used = pool_->memory_users().Sum() + pool_->memory_bytes() + usage;
  return lookup_cache_ != nullptr ? used + lookup_cache_->memory_bytes() : used;
}

uint64_t MemoryBudget::Goal() const noexcept {
  const uint64_t headroom = std::max(bytes_ / 8, std::min(bytes_ / 4, kLeastHeadroom));
  BRAID_DCHECK(headroom <= bytes_ / 4);  // most of it is for use, however small it is
  return bytes_ - std::min(headroom, kMostHeadroom);
}

uint64_t MemoryBudget::ToCome(const ReadState& state) const {
  const uint64_t now = Used();
  if (!watches_memtables_) return now;
  uint64_t memtables = state.active->memory_bytes();
  for (const auto& table : state.immutables) memtables += table->memory_bytes();
  const uint64_t most = memtable_memory_ * memtables_;
  return now + most - std::min(memtables, most);
}

}  // namespace braid::level
