// Purpose: what memtables of all kinds do with an entry before anybody sees it: find room for it,
// and write it.
// Thread safety: as log/index_unified_log.h.
// Persistence: log/index_unified_log.h; nothing is committed here.
#pragma once

#include <cstdint>
#include <span>

#include "base/stalls.h"
#include "braid/status.h"
#include "log/index_unified_log.h"

namespace braid::memtable {

/// Room for `pending` in the chunk of `shard`, or in a fresh one, which the pool may have to make
/// first; such a wait is counted. Errors: OutOfSpace, OutOfMemory, InvalidArgument (a key too long
/// for a chunk); nothing is held then.
Status ReserveEntry(log::IndexUnifiedLog* log, base::Stalls* stalls, uint32_t shard,
                    log::PendingEntry* pending);

/// Key and value of an entry that has room.
void WriteEntryPayload(log::IndexUnifiedLog* log, base::Stalls* stalls, log::PendingEntry* pending);

/// Entries of a batch, numbered from `base_sequence` + 1 on and durable on return; nobody sees them
/// before these numbers are published, and their room is not committed. Returns the bytes they take
/// in chunks. Errors: those of ReserveEntry, IOError when the numbers are used up: nothing is held
/// then; the pool's fault, when it has failed: what was taken stays as it is. Cost: a fence.
Result<uint64_t> WriteBatchEntries(pool::PmemPool* pool, log::IndexUnifiedLog* log,
                                   base::Stalls* stalls, uint32_t shard,
                                   std::span<log::PendingEntry> entries, uint64_t base_sequence,
                                   pool::AllocationClass allocation);

/// Of a pool that has used all 2^56 sequence numbers.
Status NumbersUsedUp() noexcept;

/// What it takes in its chunk.
uint64_t EntryBytes(const log::PendingEntry& pending) noexcept;

}  // namespace braid::memtable
