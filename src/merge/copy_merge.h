// Purpose: the copying half of a merge that copies (compaction.kind=copy): the entries of an L0
// table are written together, in key order, before they are linked into L1 like any others.
// Thread safety: one background thread.
// Invariants:
//   1. A copy keeps the sequence number of its original, and nothing is left out.
//   2. A table with values in extents is not copied, since an extent names its owner for good; its
//      entries are linked where they are.
// Persistence: copies go to chunks of the kind kCollected with a table id of their own, which
// belong to the store once the manifest's collected_table_id covers it. One commit raises that id,
// gives the table its new head and the flag kTableWasCopied, and begins the merge. Before it a
// crash frees the copies. Until the merge ends the originals are in no list and still marked live;
// they are marked obsolete before the commit that ends it, by every session that ends it.
// Source: the variant that ListDB 6.8 compares its zipper compaction with.
#pragma once

#include "braid/status.h"
#include "index/skiplist.h"
#include "level/manifest.h"
#include "pool/chunk_usage.h"

namespace braid::merge {

/// Copies the entries of `list` and links the copies behind head `head`. False when the list has
/// values in extents or there is no room: nothing is kept then. Errors: Corruption, IOError.
Result<bool> CopyTable(pool::PmemPool* pool, pool::ChunkUsage* usage, const index::SkipList& list,
                       uint64_t table_id, uint32_t head);

/// Marks all live entries of `list` obsolete; durable on return. Returns their offsets. Errors:
/// Corruption.
Result<std::vector<uint64_t>> MarkOriginals(pool::PmemPool* pool, const index::SkipList& list);

/// Marks all live entries of logs and flush copies of tables with ids in (after, table_id]
/// obsolete; durable on return. Returns their offsets.
std::vector<uint64_t> MarkOriginals(pool::PmemPool* pool, uint64_t after, uint64_t table_id);

}  // namespace braid::merge
