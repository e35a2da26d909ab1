// Purpose: a table that readers use and that the manifest does not name yet: its flush has stored
// links without writing them back, which the write-back of its group does
// (flush/group_write_back.h).
// Thread safety: a value.
// Persistence: none; a crash replays the table's log.
#pragma once

#include <cstdint>
#include <vector>

#include "format/manifest.h"

namespace braid::level {

struct WaitingTable {
  format::TableRecord record{};
  std::vector<uint64_t> touched;           // entries whose links or marks a flush changed
  std::vector<uint64_t> obsolete_extents;  // to be retired after the commit: a replay needs them
};

}  // namespace braid::level
