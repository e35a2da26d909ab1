// Purpose: the flush of a memtable that is a list in persistent memory already: its head is written
// to the pool, and that is all.
// Thread safety: one flush at a time for a memtable; its readers go on.
// Invariants:
//   1. Nothing of the list changes; versions that no view needs go with the table's merge.
// Persistence: nothing is committed here. The links are durable since the writes that made them,
// the head is flushed and fenced when KeepInPlace returns; the manifest's commit makes them a
// table. Before that a crash finds the entries in their chunks.
// Source: NoveLSM 4.2 and 4.3 (a memtable that is full becomes the immutable one, as it is).
#pragma once

#include <cstdint>

#include "braid/status.h"
#include "cache/lookup_cache.h"
#include "flush/link_flush.h"
#include "memtable/pmem_memtable.h"
#include "pool/chunk_usage.h"

namespace braid::flush {

/// Makes the list of `memtable`, which gets no more writes, the one behind the head at
/// `head_offset`. `lookup`: filled with each key's newest entry, for which the list is walked; may
/// be null, and then the cost does not depend on the number of entries. Errors: Corruption. Throws
/// std::bad_alloc, and has changed nothing then.
Result<FlushResult> KeepInPlace(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                cache::LookupCache* lookup, const memtable::PmemMemTable& memtable,
                                uint64_t head_offset);

}  // namespace braid::flush
