// Purpose: the DRAM in use, and the limits that follow from the budget.
// Thread safety, persistence: see memory_budget.h.
#include "level/memory_budget.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "level/level_sizes.h"

namespace braid::level {

namespace {
/// What may be added between two looks at a budget that is large.
constexpr uint64_t kMostHeadroom = 32 << 20;
/// And where it is small, since a thread that loses its processor looks late; a quarter at most.
constexpr uint64_t kLeastHeadroom = 4 << 20;
static_assert(kLeastHeadroom < kMostHeadroom);
}  // namespace

MemoryBudget::MemoryBudget(const Options& options, const pool::PmemPool* pool,
                           const cache::LookupCache* lookup_cache, std::unique_ptr<Share> share,
                           std::function<void()> changed)
    : pool_(pool),
      lookup_cache_(lookup_cache),
      memtable_bytes_(options.memtable.bytes),
      persistent_bytes_(PersistentBytes(options)),
      memtables_(options.memtable.max_immutable + 1),
      parts_(kPartOfMemTables * memtables_),
      watched_below_(kLeastMemTable < memtable_bytes_ ? memtable_bytes_ * parts_ : 0),
      share_(std::move(share)) {
  share_->Attach([this] { return Used(); }, std::move(changed));
}

uint64_t MemoryBudget::Used() const {
  const uint64_t usage = pool_->chunks() * sizeof(int64_t);  // pool::ChunkUsage
  const uint64_t used = pool_->memory_users().Sum() + pool_->memory_bytes() + usage;
  return lookup_cache_ != nullptr ? used + lookup_cache_->memory_bytes() : used;
}

uint64_t MemoryBudget::Goal() const noexcept {
  const uint64_t all = bytes();
  const uint64_t headroom = std::max(all / 8, std::min(all / 4, kLeastHeadroom));
  BRAID_DCHECK(headroom <= all / 4);  // most of it is for use, however small it is
  return all - std::min(headroom, kMostHeadroom);
}

uint64_t MemoryBudget::ToCome(const ReadState& state) const {
  const uint64_t now = Used();
  if (!WatchesMemTables()) return now;
  uint64_t memtables = state.active->memory_bytes();
  for (const auto& table : state.immutables) memtables += table->memory_bytes();
  const uint64_t most = MemTableMemory() * memtables_;
  return now + most - std::min(memtables, most);
}

}  // namespace braid::level
