// Purpose: the DRAM index over L1: a tree from keys to entries, over every entry, or, when the
// budget is smaller, over those whose towers are tall (every fourth, sixteenth ... one). It is
// built in slices after an instant open, and kept up to date by merges. Thread safety: the
// background thread that merges builds and changes it; lookups go on beside. Invariant 1: the table
// is given the tree only when it is complete. Invariant 2: merges update the tree from the first
// slice on, so that a slice never has to be done again. Persistence: none; rebuilt from the list.
// Source: the second-chance lookup cache of ListDB 6.6 (tall elements), made exact.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "index/entry_tree.h"
#include "index/skiplist.h"

namespace braid::cache {

class DramIndex {
 public:
  DramIndex(pmem::PmemPool* pool, uint32_t min_height);

  const std::shared_ptr<index::EntryIndex>& tree() const noexcept { return tree_; }
  uint32_t min_height() const noexcept { return min_height_; }
  bool complete() const noexcept { return complete_; }

  /// Indexes up to `count` more entries of `list`. Corruption when the list is damaged.
  Status BuildSlice(const index::SkipList& list, uint64_t count);

 private:
  pmem::PmemPool* pool_;
  uint32_t min_height_;
  std::shared_ptr<index::EntryIndex> tree_;
  bool complete_ = false;
  bool begun_ = false;
  std::string last_key_;  // indexed so far
};

}  // namespace braid::cache
