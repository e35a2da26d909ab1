// Purpose: evidence from the leaves of a damaged pool: which entries count.
// Thread safety, invariants, persistence: see salvage.h.
#include "format/leaf.h"
#include "repair/leaf_reader.h"
#include "repair/salvage.h"

namespace braid::repair {

void Salvage::FollowLeaves() {
  if (!map_.has_leaves()) return;
  LeafReader leaves(pool_->image(), &findings_);
  const bool whole = !pool_->lost_page_cache() && leaves.ReadAll();
  for (const media::PoolImage::Range& gap : gaps_) {
    // A write that a crash interrupted, unless a leaf names something here.
    findings_.Note(gap.offset, gap.bytes, "entry", "no intact entry is in these bytes", !whole);
  }
  for (const ScannedChunk& chunk : chunks_) {
    if (whole || chunk.has_header || chunk.candidates != 0) continue;
    findings_.Note(
        chunk.chunk * pool_->chunk_bytes(), pool_->chunk_bytes(), "chunk of entries",
        "neither its header nor an entry in it is intact, and no leaves say what it held", true);
  }
  if (!whole) {
    if (!pool_->lost_page_cache()) {
      findings_.Note(
          format::kLeafHeadOffset, 0, "list of leaves",
          "not all of it can be read: a record that was deleted just before a crash may be back",
          false);
    }
    return;
  }
  for (const uint64_t offset : leaves.named()) {
    Candidate* candidate = FindCandidate(offset);
    if (candidate == nullptr) {
      findings_.Note(offset, 0, "entry", "a leaf names it, but no intact entry is here", true);
    } else {
      candidate->facts |= kLive | kCommitted | kLinked;
    }
  }
  for (Candidate& candidate : candidates_) {
    if (candidate.is(kLinked) || !candidate.is(kLive)) continue;
    if (map_.WasClosed()) {
      findings_.Note(candidate.offset, EntryOf(candidate)->size(), "entry",
                     "no leaf names it: what it holds may be an older version", false,
                     EntryOf(candidate));
    } else {
      candidate.facts = 0;
    }
  }
}

}  // namespace braid::repair
