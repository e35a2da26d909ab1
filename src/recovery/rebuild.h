// Purpose: rebuilds the one L1 list from the entries themselves, after a power loss on page-cache
// media: pages reached the medium in any order there, so that links and tables mean nothing, while
// every entry proves by its checks that it is whole. Thread safety: runs alone. Invariant 1:
// everything written before the last sync is found: its pages were on the medium. Invariant 2: what
// was deleted stays deleted: a delete counts, marked dead or not, until its chunk is freed, and by
// then the marks of death of what it hides were synced. Persistence: the manifest's commit, after a
// sync of all links, ends the rebuild; interrupted before, it starts again.
#pragma once

#include "level/manifest.h"
#include "pmem/chunk_usage.h"
#include "pmem/pool.h"

namespace braid::recovery {

Status RebuildFromEntries(pmem::PmemPool* pool, level::Manifest* manifest, pmem::ChunkUsage* usage);

}  // namespace braid::recovery
