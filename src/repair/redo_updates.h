// Purpose: the updates in the newest redo records of interrupted merges, which may have been made
// in part.
// Thread safety: one thread.
// Invariants:
//   1. An update counts when its record is intact, of a merge that the manifest names, and the
//      newest one of it.
// Persistence: none.
// Source: docs/internals/repair.md, "Which entries count".
#pragma once

#include <unordered_set>
#include <vector>

#include "format/manifest.h"
#include "media/pool_image.h"

namespace braid::repair {

class RedoUpdates {
 public:
  RedoUpdates() = default;
  /// `places`: offsets of the chunks that may hold redo records. `believes_marks`: false after a
  /// loss of the page cache; then of an original and its copy a rebuild that was interrupted may
  /// have chosen the one that the merge was about to drop. Those of a merge of copies never count:
  /// where the copy is damaged, the original is as good.
  RedoUpdates(const media::PoolImage& image, uint64_t chunk_bytes,
              const format::ManifestState& manifest, const std::vector<uint64_t>& places,
              bool believes_marks);

  /// Whether a merge was about to mark the entry obsolete.
  bool MarksObsolete(uint64_t offset) const { return obsolete_.contains(offset); }
  /// Link words that merges were about to store.
  const std::vector<uint64_t>& links() const noexcept { return links_; }

 private:
  void Take(const char* record, bool believes_marks);

  std::unordered_set<uint64_t> obsolete_;
  std::vector<uint64_t> links_;
};

}  // namespace braid::repair
