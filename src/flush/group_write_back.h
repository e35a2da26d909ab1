// Purpose: the second half of a link flush whose links were stored and not written back: the
// write-back of a group of tables.
// Thread safety: one thread; readers and merges of other tables go on. The tables themselves must
// not be merged yet.
// Persistence: all links, obsolete marks and heads of the group are flushed and fenced when
// WriteBackTables returns. Then one commit of the manifest adds all tables and moves
// flushed_table_id. Before that a crash replays their logs, which sets links and marks again.
// Source: ListDB 6.3.4 (checkpointing L0 lazily, in groups).
#pragma once

#include <vector>

#include "level/waiting_table.h"
#include "pool/pool.h"

namespace braid::flush {

/// Writes back what the flushes of `tables` stored. In the order of addresses, so that lines that
/// several entries share, and neighbours in the medium's own blocks, are written once and together.
/// Throws std::bad_alloc, and changes nothing then.
void WriteBackTables(pool::PmemPool* pool, const std::vector<const level::WaitingTable*>& tables);

}  // namespace braid::flush
