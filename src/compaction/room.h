// Purpose: finds room for a large value where enough chunks are free, but not contiguous: the run
// of chunks that is cheapest to empty, and its content.
// Thread safety: the survey, one thread that moves entries; the choice is a pure function.
// Invariants:
//   1. A run never includes what can't move: chunks of a log or of an L0 table, leaves, headers,
//      values on their way into the pool.
// Persistence: none; the code that moves entries says how that survives a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::compaction {

/// What lies in a chunk: [begin, end) are the chunks that it takes with its neighbours.
struct ChunkUse {
  enum class Kind : uint8_t { kFixed, kFree, kMovable };
  Kind kind = Kind::kFixed;
  uint64_t bytes = 0;  // to be copied for this chunk, in order that it becomes free
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Of all chunks. `movable`: those whose entries may be moved; their extents may be, too, when they
/// take fewer than `wanted` chunks.
std::vector<ChunkUse> SurveyUses(const pool::PmemPool& pool, const pool::ChunkUsage& usage,
                                 std::span<const uint64_t> movable, uint64_t wanted);

/// `count` neighbouring chunks, and those from which something is to be moved.
struct Room {
  uint64_t first = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};
/// The cheapest to empty, where the copies find room in the free chunks elsewhere.
std::optional<Room> CheapestRoom(std::span<const ChunkUse> uses, uint64_t count,
                                 uint64_t chunk_bytes);

/// The entries that are to be moved, each once. None when the room can't be emptied: something in
/// it is damaged.
std::optional<std::vector<uint64_t>> EntriesIn(const pool::PmemPool& pool,
                                               std::span<const ChunkUse> uses, const Room& room);

}  // namespace braid::compaction
