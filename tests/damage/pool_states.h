// Closed pools in the states that a store's life leaves, with what they hold.
#pragma once

#include <string>

#include "braid/db.h"
#include "pool_image.h"
#include "support/database.h"

namespace braid::test {

/// How far the data of a pool had come when it was closed.
enum class PoolState {
  kMemtable,  ///< never flushed before Close
  kTables,    ///< several L0 tables
  kMerged,    ///< one merged table
  kMixed,     ///< all of it, with overwrites, deletes, batches
  kExtents,   ///< large values
};
inline constexpr int kPoolStates = 5;

const char* PoolStateName(PoolState state);

struct BuiltPool {
  PoolImage image;
  Model content;
  Model deleted;  ///< keys that must stay away
};

/// Options under which the pools are made and opened: 1 MiB, chunks of 16 KiB.
Options DamageOptions();

/// Makes a pool at `path`, closes it and takes its image; records a failure when that fails.
BuiltPool BuildPool(PoolState state, const std::string& path, uint64_t seed);

}  // namespace braid::test
