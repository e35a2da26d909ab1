// Purpose: frees space. Counts live bytes of chunks from earlier sessions, picks chunks that are
// mostly garbage, and copies their live entries, so that the chunks can be freed.
// Thread safety: one background thread.
// Invariants:
//   1. A copy carries the sequence number of its original and replaces it in a merge; a copy whose
//      original is gone is dropped there, so that nothing comes back.
//   2. Entries whose value lies in an extent are moved with their value, and only where room is
//      made for a larger one (room.h); a collection leaves their chunk.
// Persistence: copies are written to chunks of kind kCollected, which belong to the store only once
// the manifest's collected_table_id covers them; before that a crash frees them. The merge of
// copies is a merge like any other.
// Source: ListDB 6.5.4 (whole chunks), and the copying collection that it leaves as future work.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/status.h"
#include "format/manifest.h"
#include "index/entry_index.h"
#include "level/manifest.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::compaction {

/// Live bytes of a chunk, by its entries' marks.
uint64_t CountLiveBytes(const pool::PmemPool& pool, uint64_t chunk);

/// Chunks of entries that belong to merged tables, and what is to be done with them.
struct ChunkSurvey {
  std::vector<pool::ChunkId> empty;  // known to hold nothing live
  std::vector<uint64_t> sparse;      // live share below the limit, emptiest first
  std::vector<uint64_t> unknown;     // not counted yet
  uint64_t counted = 0;              // chunks that are known, with those of L0
  int64_t live = 0;                  // bytes that live in them
};
ChunkSurvey SurveyChunks(const pool::PmemPool& pool, const pool::ChunkUsage& usage,
                         const format::ManifestState& manifest, double live_ratio);

/// Those of the `empty` chunks that are not `retiring` yet, in one of their lives. Both in the
/// order of chunks: they are long where a view holds what is retired, and each is gone through
/// once.
struct NewlyEmpty {
  std::vector<pool::ChunkId> chunks;
  uint64_t looked_at = 0;  // chunks of both lists
};
NewlyEmpty WithoutRetiring(const std::vector<pool::ChunkId>& empty,
                           const std::vector<pool::ChunkId>& retiring);

/// Puts entries that verify into the order of a list.
void SortAsList(const pool::PmemPool& pool, std::vector<index::Replacement>* entries);

/// Writes copies of those `entries` that verify, values included; they are given in the order of a
/// list. Links the copies behind head `head`; durable on return, when `entries` are those that were
/// copied, each with its copy. When that takes `fewer_than` chunks or more, nothing is kept, and
/// the record has no entries. Errors: OutOfSpace (nothing is kept).
Result<format::TableRecord> CopyEntries(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                        std::vector<index::Replacement>* entries, uint64_t table_id,
                                        uint32_t head, uint64_t fewer_than);

/// The same for all of `entries`, which verify, in any order, large values included: these get
/// extents of their own, the longest first.
Result<format::TableRecord> MoveEntries(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                        const std::vector<uint64_t>& entries, uint64_t table_id,
                                        uint32_t head);

/// Copies of the live entries of `chunks`.
struct CollectedTable {
  format::TableRecord record{};
  std::vector<uint64_t> unmovable;  // of the chunks given: those that stay, for now
  std::vector<uint64_t> copied;     // of the chunks given: those whose live entries were copied
};
/// Takes as many of `chunks` as `max_bytes` of copies allow; none at all when no chunk would be
/// gained. Errors: as CopyEntries.
Result<CollectedTable> CopyLiveEntries(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                       const std::vector<uint64_t>& chunks, uint64_t table_id,
                                       uint32_t head, uint64_t max_bytes);

}  // namespace braid::compaction
