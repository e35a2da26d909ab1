// Purpose: says when a memtable that is not full is worth a flush: where a flush copies, its table
// is in the order of the keys, while a scan of the memtable waits for memory at each record.
// Thread safety: any thread.
// Persistence: none.
#pragma once

#include "braid/options.h"
#include "level/read_state.h"
#include "lsm/lsm_store.h"

namespace braid::lsm {

/// Whether the active memtable of `state` is to be flushed before it is full, since iterators have
/// passed enough of its keys, or since nothing is written any more (`is_quiet`). Not while it is
/// small beside what is flushed, or the background is behind. Cost: a load or two for each table.
bool IsEarlyFlushDue(const Options& options, const level::ReadState& state, bool is_quiet);

/// The active memtable where that is so, and nothing keeps it from a flush; else null. A name only:
/// it may be gone by now.
const memtable::MemTable* MemTableToFlushEarly(const LsmStore& store, bool is_quiet);

}  // namespace braid::lsm
