// Purpose: which parts an engine has and which go together. A wrong choice is refused when a pool
// is opened, with the reason.
// Thread safety: pure.
// Persistence: none.
#pragma once

#include "braid/options.h"

namespace braid::engine {

/// Of the LSM engine. All kinds must be set but that of lists, which an existing pool knows.
/// Errors: InvalidArgument (parts that do not fit each other), NotSupported (parts that are not
/// there).
Status CheckLsmParts(const Options& options);

/// Of the engine of leaves.
Status CheckLeafParts(const Options& options);

/// For an engine without log, tables and merges: refuses options that only those have.
Status RefuseLsmParts(const Options& options);

/// How many shards the logs of a pool have: what was asked for, or two a processor.
uint32_t ShardCount(const Options& options);

}  // namespace braid::engine
