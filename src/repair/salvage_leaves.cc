// Purpose: what the leaves of a damaged pool still tell: which entries count.
// Thread safety, invariants, persistence: see salvage.h.
#include <algorithm>
#include <bit>
#include <cstring>

#include "format/leaf.h"
#include "repair/salvage.h"

namespace braid::repair {

using format::EntryHeader;
using format::EntryPtr;
using format::Leaf;
using format::LeafPtr;

/// Whether all obsolete marks had become durable.
bool Salvage::WasClosed() const noexcept {
  // The image of the index is written by a close, and freed by the open that follows.
  return geometry_.header ? geometry_.header->clean != 0 : has_leaf_index_;
}

void Salvage::FollowLeaves() {
  if (!has_leaves_) return;
  std::vector<uint64_t> named;
  const bool whole = links_mean_something_ && ReadLeaves(&named);
  std::sort(named.begin(), named.end());
  for (const media::PoolImage::Range& gap : gaps_) {
    // A write that a crash interrupted, unless a leaf names something here.
    Note(gap.offset, gap.bytes, "entry", "no intact entry is in these bytes", !whole);
  }
  for (const EntryChunk& chunk : chunks_) {
    if (whole || chunk.has_header || chunk.candidates != 0) continue;
    Note(chunk.chunk * geometry_.chunk_bytes, geometry_.chunk_bytes, "chunk of entries",
         "neither its header nor an entry in it is intact, and no leaves tell what it held", true);
  }
  if (!whole) {
    if (links_mean_something_) {
      Note(format::kLeafHeadOffset, 0, "list of leaves",
           "not all of it can be read: a record that was deleted just before a crash may be back",
           false);
    }
    return;
  }
  for (const uint64_t offset : named) {
    Candidate* candidate = FindCandidate(offset);
    if (candidate == nullptr) {
      Note(offset, 0, "entry", "a leaf names it, but no intact entry is here", true);
    } else {
      candidate->facts |= kLive | kCommitted | kLinked;
    }
  }
  for (Candidate& candidate : candidates_) {
    if (candidate.is(kLinked) || !candidate.is(kLive)) continue;
    if (WasClosed()) {
      Note(candidate.offset, EntryOf(candidate)->size(), "entry",
           "no leaf names it: what it holds may be an older version", false, EntryOf(candidate));
    } else {
      candidate.facts = 0;
    }
  }
}

/// The entries that leaves name, from the first leaf to the last; false when there is damage.
bool Salvage::ReadLeaves(std::vector<uint64_t>* named) {
  const uint64_t most = image_->bytes() / sizeof(Leaf);  // they may go in a circle
  uint64_t link = format::kLeafHeadOffset;
  for (uint64_t count = 0; count <= most; ++count) {
    LeafPtr next;
    if (!image_->Holds(link, sizeof next)) return false;
    std::memcpy(&next, image_->base() + link, sizeof next);
    if (!next.IsValid() || next.region() != 0) {
      Note(link, sizeof next, "link of a leaf", "its check does not match", false);
      return false;
    }
    if (next.IsEnd()) return true;
    if (!ReadLeaf(next.offset(), named)) {
      Note(next.offset(), sizeof(Leaf), "leaf", "a check of it does not match", false);
      return false;
    }
    link = next.offset() + offsetof(Leaf, next);
  }
  Note(format::kLeafHeadOffset, 0, "list of leaves", "it goes in a circle", false);
  return false;
}

bool Salvage::ReadLeaf(uint64_t offset, std::vector<uint64_t>* named) {
  if (offset % sizeof(uint64_t) != 0 || !image_->Holds(offset, sizeof(Leaf))) return false;
  const auto& leaf = *reinterpret_cast<const Leaf*>(image_->base() + offset);
  const format::LeafCommit commit{leaf.commit};
  if (leaf.magic != format::kLeafMagic || leaf.check != format::LeafHeaderCheck(leaf, offset) ||
      !commit.IsValid(offset, leaf.generation)) {
    return false;
  }
  for (uint64_t bits = commit.bitmap(); bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<uint64_t>(std::countr_zero(bits));
    const EntryPtr entry{leaf.slots[slot].entry};
    const uint64_t place = offset + Leaf::kHeaderBytes + slot * sizeof(format::LeafSlot);
    if (!entry.IsValid() || entry.IsEnd() ||
        !format::LeafTag{leaf.slots[slot].tag}.IsValid(place, leaf.generation)) {
      return false;
    }
    named->push_back(entry.offset());
  }
  return true;
}

}  // namespace braid::repair
