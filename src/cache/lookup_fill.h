// Purpose: fills the lookup cache from L1, in slices, where no flush of this session has done so:
// after an open, and after a bulk load.
// Thread safety: the thread that merges.
// Invariants:
//   1. A key that does not match its check is not filled, and then the cache never claims to know
//      all keys: a lookup has to meet the damage in the table.
// Persistence: none.
#pragma once

#include <cstdint>
#include <vector>

#include "index/newest_walk.h"

namespace braid::cache {

class LookupFill {
 public:
  explicit LookupFill(const pool::PmemPool* pool) : pool_(pool), walk_(pool) {}

  /// The newest version of a key in L1.
  struct Found {
    uint64_t hash;
    uint64_t offset;
  };

  /// Finds what stands in about `count` more entries of `list`. Corruption when it is damaged.
  Status Find(const index::SkipList& list, uint64_t count);
  /// By the last Find; to be given to LookupCache::FillFound.
  const std::vector<Found>& found() const noexcept { return found_; }
  bool complete() const noexcept { return walk_.complete(); }
  /// Each key was intact so far.
  bool sound() const noexcept { return sound_; }

 private:
  const pool::PmemPool* pool_;
  index::NewestWalk walk_;
  std::vector<Found> found_;
  bool sound_ = true;
};

}  // namespace braid::cache
