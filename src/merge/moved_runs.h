// Purpose: finds runs of a list's entries that copies can replace as a whole: the copies are
// already linked with each other, so that only links at the ends of a run have to change.
// Thread safety: one thread, concurrent with readers; nothing is changed.
// Invariants:
//   1. The originals of a run stand one behind the other in the list, live, each the only version
//      of its key, a put. So no view decides what is kept of them, and nothing that stays lies
//      between two of them.
//   2. It is said of the list as it was read here; code that replaces a run looks once more at all
//      its links (ZipperMerge::RelinkRun).
// Persistence: none.
#pragma once

#include <cstdint>
#include <vector>

#include "index/entry_index.h"
#include "pool/pool.h"

namespace braid::merge {

class MovedRuns {
 public:
  /// `moved`: entries of the list and their copies, in list order; it must outlive this.
  MovedRuns(const pool::PmemPool* pool, const std::vector<index::Replacement>* moved)
      : pool_(pool), moved_(moved) {}

  struct Run {
    size_t end;       // behind its last; where it would begin if there is none
    uint32_t layers;  // that originals or copies reach
  };
  /// The run that begins with the one at `begin` and ends at `limit` at the latest. The list may
  /// lead to copies from `limit` on.
  Run From(size_t begin, size_t limit) const;

 private:
  bool EndsItsKey(size_t i, const format::EntryHeader& original, bool* next_follows) const;

  const pool::PmemPool* pool_;
  const std::vector<index::Replacement>* moved_;
};

}  // namespace braid::merge
