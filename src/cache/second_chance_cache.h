// Purpose: the second-chance cache: an ordered structure in DRAM over the tallest entries of L1,
// from which a search of L1 starts at the closest entry whose key is not greater. Merges offer it
// each entry they put into L1; when it has grown beyond its size, the entries of the lowest height
// in it are given up, and lower ones are not taken any more (SIZE replacement).
// Thread safety: one thread merges and calls everything here; lookups use tree() concurrently.
// Invariants:
//   1. What it names is in L1, the newest of its key, and at least min_height() tall: merges keep
//      its tree as they keep the DRAM index, and remove what becomes obsolete
//      (ZipperMerge::UpdateTree).
//   2. It need not name all such entries, so only searches in L1 may start from it; that a key is
//      not in it says nothing. So min_height() is 2 at least, by which a table tells a full index.
// Persistence: none; empty after an open.
// Source: ListDB 6.6, Algorithm 6 line 44, Algorithm 7 line 21. Deviations: entries are given up a
// height at a time, by a copy without them, since readers may stand in the old one; entries of
// height 1 are not taken, since a search that starts at one has only the bottom layer to go along.
#pragma once

#include <cstdint>
#include <memory>

#include "base/check.h"
#include "index/entry_tree.h"

namespace braid::cache {

class SecondChanceCache {
 public:
  SecondChanceCache(const pool::PmemPool* pool, uint64_t bytes);

  const std::shared_ptr<index::EntryIndex>& tree() const noexcept { return tree_; }
  uint32_t min_height() const noexcept { return min_height_; }
  /// There is more in it than it may hold, and something can be given up.
  bool IsFull() const noexcept;

  /// A structure without the entries of the lowest height, and that height; for Replace.
  struct Sparser {
    std::shared_ptr<index::EntryIndex> tree;
    uint32_t min_height;
  };
  Sparser GiveUpLowest() const {
    BRAID_DCHECK(min_height_ < format::kMaxHeight);
    return CopyFrom(min_height_ + 1);
  }
  /// The same, but where most of what it takes was left by keys that are gone: one without these,
  /// with the same heights, or with a lower one to come.
  Sparser GiveUpGone() const;
  /// Takes it; the caller keeps the old one for its readers.
  void Replace(Sparser sparser) noexcept {
    BRAID_DCHECK(sparser.tree != nullptr && sparser.tree != tree_);
    BRAID_DCHECK(sparser.min_height >= 2);  // invariant 2
    tree_ = std::move(sparser.tree);
    min_height_ = sparser.min_height;
  }

 private:
  Sparser CopyFrom(uint32_t min_height) const;

  const pool::PmemPool* pool_;
  uint64_t bytes_;
  uint32_t min_height_ = 2;
  std::shared_ptr<index::EntryIndex> tree_;
};

}  // namespace braid::cache
