// Purpose: opens the tier that belongs to a pool, or makes it.
// Thread safety: before others know the pool.
// Persistence: the pool names its tier from the commit on that marks it dirty; before, nothing is
// moved.
#pragma once

#include <memory>

#include "pool/pool.h"
#include "tier/store.h"

namespace braid::lsm {

/// Null where there is none, or it is to be left out. The next change of the pool's header names
/// it. Errors: InvalidArgument (the pool has a tier that the options do not name, or they name that
/// of another pool), NotFound (it is missing), NotSupported, Corruption, each with the path.
Result<std::unique_ptr<tier::Store>> OpenTierOf(pool::PmemPool* pool, const Options& options);

/// DRAM for the tier; 0 where options name none.
uint64_t TierCacheBytes(const Options& options) noexcept;

}  // namespace braid::lsm
