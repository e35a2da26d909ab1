// Purpose: the geometry of a damaged pool: the size of its chunks and the position of each file,
// from the headers that are left, or from the positions that chunks record.
// Thread safety: functions without state.
// Invariants:
//   1. Only data with a matching check is trusted.
// Persistence: none; the files are only read.
#pragma once

#include <optional>
#include <vector>

#include "braid/repair.h"
#include "format/layout.h"
#include "media/pool_image.h"

namespace braid::repair {

/// A file of the pool and its place.
struct SegmentPlace {
  size_t file = 0;       // in PoolImage::files()
  uint32_t index = 0;    // of the segment; by its header, where the file's name says otherwise
  uint64_t base = 0;     // pool offset
  uint64_t bytes = 0;    // that the segment had; the file may be shorter
  uint32_t regions = 1;  // of the pool
  uint64_t state_table() const noexcept { return base + format::StateTableOffset(index, regions); }
};

struct Geometry {
  uint64_t chunk_bytes = 0;
  uint32_t regions = 1;
  std::vector<SegmentPlace> segments;        // ascending, apart from each other
  std::optional<format::PoolHeader> header;  // the newest intact copy
  uint64_t pool_bytes = 0;                   // end of the last segment
  std::vector<RepairFinding> findings;
};

/// `chunk_bytes`: what the caller knows, 0 when nothing. Errors: NotSupported (a pool of another
/// format version), Corruption (nothing is left to go by), InvalidArgument (chunk_bytes contradicts
/// an intact header).
Result<Geometry> FindGeometry(const media::PoolImage& image, uint64_t chunk_bytes);

}  // namespace braid::repair
