// Purpose: measures the locality of a part of L1: how far apart neighbouring entries are, and which
// of them are worth copying in key order, so that a scan reads memory sequentially.
// Thread safety: one background thread, concurrent with readers.
// Invariants:
//   1. Only entries whose checks match are copied (CopyEntries), since a copy gets new checks, and
//      damage must stay visible.
// Persistence: none; CopyEntries makes the copies, and a merge replaces the originals by them
// (garbage_collection.h), so that reclustering is collection with another choice of entries.
// Source: braid's own; ListDB 6.5.4 leaves the order of L1 as the writes made it.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "braid/status.h"
#include "index/entry_index.h"
#include "index/skiplist.h"

namespace braid::compaction {

/// A run of L1 in the order of its keys.
struct PartOfL1 {
  /// Entries that a copy may replace, in list order. There are no copies yet.
  std::vector<index::Replacement> movable;
  uint64_t jumps = 0;  // movable entries that do not stand behind the one before them
  bool is_last = false;
  std::string next_key;  // where the next part begins, unless this is the last

  /// Whether more than `share` of the entries are jumps.
  bool IsScattered(double share) const noexcept {
    BRAID_DCHECK(jumps <= movable.size());
    return static_cast<double>(jumps) > share * static_cast<double>(movable.size());
  }
};

/// The part of `list` that begins with the key `from` and holds up to `max_bytes` of movable
/// entries, whole keys. Entries that fill a sixteenth of a chunk or more stay where they are, and
/// so do those whose value is an extent: reading them costs more than the jump to them. Corruption
/// when the list is damaged. `tree`, an index of all keys of the list, is asked for what comes
/// next; it may be null. Cost: a read of each entry's header and key.
Result<PartOfL1> SurveyPart(const index::SkipList& list, const index::EntryIndex* tree,
                            const std::string& from, uint64_t max_bytes);

}  // namespace braid::compaction
