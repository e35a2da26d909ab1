// Purpose: reading the leaves of a damaged pool.
// Thread safety, invariants, persistence: see leaf_reader.h.
#include "repair/leaf_reader.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "format/leaf.h"

namespace braid::repair {

using format::EntryPtr;
using format::Leaf;
using format::LeafPtr;

bool LeafReader::ReadAll() {
  BRAID_DCHECK(named_.empty());  // once
  if (!ReadList()) return false;
  std::sort(named_.begin(), named_.end());
  return true;
}

bool LeafReader::ReadList() {
  const uint64_t most = image_.bytes() / sizeof(Leaf);  // they may go in a circle
  uint64_t link = format::kLeafHeadOffset;
  for (uint64_t count = 0; count <= most; ++count) {
    LeafPtr next;
    if (!image_.Holds(link, sizeof next)) return false;
    std::memcpy(&next, image_.base() + link, sizeof next);
    if (!next.IsValid() || next.region() != 0) {
      findings_->Note(link, sizeof next, "link of a leaf", "its check does not match", false);
      return false;
    }
    if (next.IsEnd()) return true;
    if (!ReadLeaf(next.offset())) {
      findings_->Note(next.offset(), sizeof(Leaf), "leaf", "a check of it does not match", false);
      return false;
    }
    link = next.offset() + offsetof(Leaf, next);
  }
  findings_->Note(format::kLeafHeadOffset, 0, "list of leaves", "it goes in a circle", false);
  return false;
}

bool LeafReader::ReadLeaf(uint64_t offset) {
  if (offset % sizeof(uint64_t) != 0 || !image_.Holds(offset, sizeof(Leaf))) return false;
  const auto& leaf = *reinterpret_cast<const Leaf*>(image_.base() + offset);
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
    named_.push_back(entry.offset());
  }
  return true;
}

}  // namespace braid::repair
