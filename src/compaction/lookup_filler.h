// Purpose: fills the lookup cache from L1, a part at a time, where no flush of this session has
// done so: after an open, and after a bulk load.
// Thread safety: the compaction thread, except StartAnew; what they share is under the lock of the
// VersionSet, which is passed as a proof.
// Invariants:
//   1. What was found before a bulk load does not get into the cache after it.
// Persistence: none.
#pragma once

#include <cstdint>
#include <memory>

#include "cache/lookup_cache.h"
#include "cache/lookup_fill.h"
#include "level/version_set.h"

namespace braid::compaction {

class LookupFiller {
 public:
  /// `cache` may be null: then there is nothing to do.
  LookupFiller(const pool::PmemPool* pool, level::VersionSet* versions,
               cache::LookupCache* cache) noexcept
      : pool_(pool), versions_(versions), cache_(cache) {}

  /// The newest table of L0 that an open has found, before others know it; 0: none.
  void Begin(uint64_t table_id) noexcept { lookup_cache_floor_id_ = table_id; }
  /// A bulk load shows its table, the newest of L0: what the cache knows is of no use any more.
  void StartAnew(const level::VersionSet::Locked& versions, uint64_t table_id) noexcept;
  /// L1 becomes another list, with the same keys: what was not looked at yet is looked for there.
  void StartOver(const level::VersionSet::Locked&) noexcept { begins_ = true; }
  /// Fills in the next part of L1. False when the cache knows all, or the step has to wait. Errors:
  /// L1 is damaged. Throws std::bad_alloc.
  Result<bool> Step();

 private:
  const pool::PmemPool* const pool_;
  level::VersionSet* const versions_;
  cache::LookupCache* const cache_;
  std::unique_ptr<cache::LookupFill> fill_;  // may be null
  bool begins_ = true;                       // lock of versions_: what was found is of no use
  uint64_t lookup_cache_floor_id_ =
      0;  // lock of versions_: tables up to it were not filled in by a flush
};

}  // namespace braid::compaction
