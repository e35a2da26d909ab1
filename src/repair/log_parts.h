// Purpose: finds where chunks that have lost their headers stand in their logs: by writes that go
// on from one chunk to the next.
// Thread safety: a function of its arguments.
// Invariants:
//   1. Numbers of entries are unique, so what has the next one within a write is of the same log.
// Persistence: none.
#pragma once

#include <cstdint>
#include <vector>

#include "format/layout.h"

namespace braid::repair {

/// What the entries of a chunk tell. It has some.
struct LogPart {
  bool has_header = false;
  format::LogChunkHeader* header = nullptr;  // the caller's; read when has_header, else written
  uint64_t used = 0;                         // bytes up to the end of its last entry
  uint64_t first = 0;                        // number of its first entry
  uint64_t last = 0;                         // and of its last
  bool begins_within = false;                // a write that began in the chunk before
  bool ends_within = false;                  // one that goes on in the chunk behind
};

/// Gives headers to those parts without one that a write connects with one that has a header, or
/// was given one. Fields that nothing tells are zero.
void PlaceParts(std::vector<LogPart>* parts);

}  // namespace braid::repair
