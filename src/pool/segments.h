// Purpose: the segments of a pool as they are on the medium: their headers, their tables of chunk
// states, and where the table is that has a chunk's state.
// Thread safety: Init, Add and Reserve by one thread at a time, StoreState of a chunk by the one
// that has the chunk; all else from any thread. Read, ReadStates and FlushInherited while the pool
// is opened.
// Invariants:
//   1. Segments lie side by side, the first one at offset 0; they are never moved nor given up.
//   2. Segment r is the first one of region r (invariant 4 of pool.h).
//   3. The state word of a chunk on the medium is whole: it is stored at once, and names its chunk.
// Persistence: what Init writes is durable when it returns, and a part of the pool once the medium
// has published the segment. A state word is flushed; the caller fences.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "braid/status.h"
#include "format/layout.h"
#include "media/persist.h"
#include "pool/chunk_space.h"

namespace braid::pool {

struct Segment {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint64_t state_table = 0;  // offset in the pool
  uint64_t first_chunk = 0;
  uint64_t meta_chunks = 0;
  uint32_t region = 0;
};

class Segments {
 public:
  Segments(ChunkSpace* space, media::PersistOps* ops) noexcept : space_(*space), ops_(*ops) {}

  /// Writes the header and state table of a fresh segment, durably. It is not added.
  Segment Init(const format::PoolHeader& pool, uint32_t index, uint32_t region, uint64_t base,
               uint64_t bytes);
  /// The segment that the medium has at `base`, which must be number `index` of this pool. It is
  /// not added. Corruption.
  Result<Segment> Read(const format::PoolHeader& pool, uint32_t index, uint64_t base,
                       uint64_t bytes) const;
  /// Of all its chunks. Corruption.
  Result<std::vector<format::ChunkState>> ReadStates(const Segment& segment) const;

  void Add(const Segment& segment);
  /// Room for so many, so that the next Add takes no memory.
  void Reserve(uint32_t segments);
  uint32_t count() const;
  std::vector<Segment> All() const;

  /// Where the state word of a chunk is.
  uint64_t PlaceOf(uint64_t chunk) const;
  /// The state of a chunk as the medium has it.
  format::ChunkState StateOnMedium(uint64_t chunk) const;
  /// Stores the state word and flushes it; the caller fences.
  void StoreState(uint64_t chunk, format::ChunkState state);
  /// After a crash of the process only: writes back what it had stored and not flushed. `clean`: it
  /// had closed the pool in order.
  void FlushInherited(bool clean);

 private:
  void InitRegionHeads(uint64_t base);

  ChunkSpace& space_;
  media::PersistOps& ops_;
  mutable base::Mutex mutex_;
  std::vector<Segment> segments_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::pool
