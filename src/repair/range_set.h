// Purpose: a set of byte ranges of a pool, with a test whether any byte of a range is in it.
// Thread safety: reads from any thread.
// Invariants:
//   1. Its ranges are ascending and disjoint.
// Persistence: none.
#pragma once

#include <vector>

#include "media/pool_image.h"

namespace braid::repair {

class RangeSet {
 public:
  /// `ranges`: in any order; they may overlap.
  explicit RangeSet(std::vector<media::PoolImage::Range> ranges);

  /// Whether any of the bytes is in the set.
  bool Meets(uint64_t offset, uint64_t bytes) const noexcept;
  size_t size() const noexcept { return ranges_.size(); }

 private:
  std::vector<media::PoolImage::Range> ranges_;
};

}  // namespace braid::repair
