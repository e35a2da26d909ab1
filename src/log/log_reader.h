// Purpose: reads logs back: which entries of a shard's chunks are committed, where the log ends,
// and whether it ends because nothing more was written or because bytes are damaged.
// Thread safety: one thread a call; different shards may be read side by side.
// Invariants:
//   1. No byte is used before bounds and checks have been verified.
//   2. At most one write a shard was under way at a crash. So behind the first entry that does not
//      verify nothing can start a write; if something does, the log is damaged in the middle. A
//      chunk that was left for the next write holds whole writes only; one left within a batch may
//      be torn.
// Persistence: none.
// Source: ListDB Algorithm 8; the distinction of a torn tail from damage is braid's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "braid/status.h"
#include "format/entry.h"
#include "pool/pool.h"

namespace braid::log {

/// A chunk of entries as its header describes it.
struct LogChunk {
  uint64_t chunk = 0;
  uint64_t table_id = 0;
  uint32_t shard = 0;
  uint32_t ordinal = 0;
  uint64_t previous_used = 0;
  bool within_unit = false;  // allocated for a write that began in an earlier chunk
};

/// The checked header of a log or collected chunk. Corruption when it does not verify.
Result<LogChunk> ReadLogChunk(const pool::PmemPool& pool, uint64_t chunk);

/// True when the entry at `offset` is whole: bounds, header, key, value, and the value's extent; of
/// one that refers to another entry, that one, too.
bool EntryVerifies(const pool::PmemPool& pool, uint64_t offset);
/// The second half of it: the value, and its extent, of an entry whose header and key verify.
bool ValueVerifies(const pool::PmemPool& pool, uint64_t offset, const format::EntryHeader& entry);
/// The entry at an offset that has just verified. Not EntryAt: that finds none where the medium has
/// failed since.
inline const format::EntryHeader* Verified(const pool::PmemPool& pool, uint64_t offset) noexcept {
  return reinterpret_cast<const format::EntryHeader*>(pool.At(offset));
}

/// True when a chunk that is free begins with an intact entry of a life that its state does not
/// know of. States are durable before the entries of their life, except on page-cache media when
/// power is lost: so the state's page is older than the chunk, a write that the medium has lost.
bool HoldsUnknownLife(const pool::PmemPool& pool, uint64_t chunk);

/// What one shard's log holds.
struct ShardLog {
  std::vector<uint64_t> committed;  // offsets, in the order of the writes
  std::vector<uint64_t> torn;       // entries with an intact key that were never committed
  uint64_t max_sequence = 0;        // of both
};

/// Reads the chunks of one shard (same table and shard, sorted by ordinal). Corruption when a chunk
/// is missing or an entry inside the log does not verify.
Result<ShardLog> ReadShardLog(const pool::PmemPool& pool, const std::vector<LogChunk>& chunks);

/// Calls `visit` for every entry of a chunk of a flushed table whose header and key verify,
/// obsolete ones included. Behind a damaged entry it looks for the next intact one.
void ForEachEntry(const pool::PmemPool& pool, uint64_t chunk,
                  const std::function<void(uint64_t offset, const format::EntryHeader&)>& visit);

}  // namespace braid::log
