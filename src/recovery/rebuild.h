// Purpose: rebuilds the one L1 list from the entries themselves, after a power loss on page-cache
// media: pages reached the medium in any order there, so that links and tables can't be trusted,
// while the checks of an entry prove that it is whole.
// Thread safety: runs alone.
// Invariants:
//   1. Everything written before the last sync is found: its pages were on the medium.
//   2. What was deleted stays deleted: a delete counts, marked obsolete or not, until its chunk is
//      freed, and by then the obsolete marks of what it hides were synced.
// Persistence: the manifest's commit, after a sync of all links, ends the rebuild; interrupted
// before, it starts again.
#pragma once

#include "level/manifest.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"
#include "tier/store.h"

namespace braid::recovery {

/// `tier`: what is below the pool, null: nothing. A key's versions that are older than what it has
/// do not count: they went there, and their marks did not reach the medium. Cost: a lookup in the
/// tier for each entry that counts.
Status RebuildFromEntries(pool::PmemPool* pool, level::Manifest* manifest, pool::ChunkUsage* usage,
                          const tier::Store* tier = nullptr);

}  // namespace braid::recovery
