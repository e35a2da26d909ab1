// Purpose: the DRAM index over L1: a tree from keys to entries, over every entry, or, when the
// budget is smaller, over those whose towers are tall (every fourth, sixteenth ... one). It is
// built in slices after an instant open, and kept up to date by merges.
// Thread safety: the background thread that merges builds and changes it; lookups run concurrently.
// Invariants:
//   1. The table is given the tree only when it is complete.
//   2. Merges update the tree from the first slice on, so that a slice never has to be done again.
// Persistence: none; rebuilt from the list. Keys come in order, which leaves the nodes of a B+-tree
// full.
// Source: the second-chance lookup cache of ListDB 6.6 (tall elements), made exact.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "index/entry_tree.h"
#include "index/newest_walk.h"

namespace braid::cache {

class DramIndex {
 public:
  DramIndex(pool::PmemPool* pool, uint32_t min_height);
  /// Complete: `tree` has all keys of the list, and each has one version, which is a put.
  DramIndex(pool::PmemPool* pool, std::shared_ptr<index::EntryIndex> tree);

  const std::shared_ptr<index::EntryIndex>& tree() const noexcept { return tree_; }
  uint32_t min_height() const noexcept { return min_height_; }
  bool complete() const noexcept { return is_given_ || walk_.complete(); }

  /// The number of entries of the list, when it was built here and the list was not changed
  /// meanwhile.
  std::optional<uint64_t> counted() const noexcept {
    return walk_.complete() && counts_ ? std::optional(walk_.entries()) : std::nullopt;
  }
  /// Entries of the list that only views have kept, of those it was built from.
  uint64_t kept() const noexcept { return walk_.kept(); }
  /// The list changes: what was counted so far is of no use.
  void ForgetCount() noexcept { counts_ = false; }

  /// Indexes about `count` more entries of `list`. Corruption when the list is damaged.
  Status BuildSlice(const index::SkipList& list, uint64_t count);

 private:
  void Add(const format::EntryHeader& entry);

  pool::PmemPool* pool_;
  uint32_t min_height_;
  std::shared_ptr<index::EntryIndex> tree_;
  bool is_given_ = false;
  index::NewestWalk walk_;
  bool counts_ = true;
};

}  // namespace braid::cache
