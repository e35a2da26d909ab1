// Pools in the states that a store's life leaves, closed or not, with what they hold.
#pragma once

#include <string>

#include <map>
#include <vector>

#include "braid/db.h"
#include "pool_image.h"
#include "support/database.h"
#include "support/store_kind.h"

namespace braid::test {

/// How far the data of a pool had come when it was closed, or when its process ended.
enum class PoolState {
  kMemtable,   ///< never flushed before Close
  kTables,     ///< several L0 tables
  kMerged,     ///< one merged table
  kMixed,      ///< all of it, with overwrites, deletes, batches
  kExtents,    ///< large values
  kCollected,  ///< garbage was collected: copies beside reused chunks
  kSegments,   ///< grown to several segments
  kKilled,     ///< not closed: logs that were never flushed, beside tables
  kMidMerge,   ///< killed within a merge
  kRegions,    ///< several regions and braided lists, with all of kMixed
  kMidCopies,  ///< killed while collected copies take the places of their originals
};
inline constexpr int kPoolStates = 11;

/// A process ended without closing the pool, so that there are logs.
constexpr bool EndsUnclosed(PoolState state) {
  return state == PoolState::kKilled || state == PoolState::kMidMerge ||
         state == PoolState::kMidCopies;
}

const char* PoolStateName(PoolState state);

struct BuiltPool {
  PoolImage image;
  PoolImage earlier;  ///< the same pool half-way
  Model content;
  Model deleted;  ///< keys that must stay away
  /// All that was ever written to a key, in order; a delete is "(deleted)".
  std::map<std::string, std::vector<std::string>> history;
};

/// Options under which the pools are made and opened: 1 MiB, chunks of 16 KiB.
Options DamageOptions();

/// The same of a store.
Options DamageOptions(const StoreKind& store);

/// Makes a pool at `path` and takes its image; records a failure when that fails.
BuiltPool BuildPool(PoolState state, const std::string& path, uint64_t seed,
                    const StoreKind& store = StoreKinds().front());

}  // namespace braid::test
