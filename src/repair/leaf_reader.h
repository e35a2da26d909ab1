// Purpose: reads the list of leaves of a damaged pool: which entries they name.
// Thread safety: one thread.
// Invariants:
//   1. No byte is used before bounds and check.
//   2. A list that goes in a circle ends.
// Persistence: none.
#pragma once

#include <vector>

#include "media/pool_image.h"
#include "repair/findings.h"

namespace braid::repair {

class LeafReader {
 public:
  /// Both outlive it; `image` is mapped.
  LeafReader(const media::PoolImage& image, Findings* findings)
      : image_(image), findings_(findings) {}

  /// Reads from the first leaf to the last; false when there is damage, which is noted.
  bool ReadAll();
  /// Offsets of the entries that the leaves read so far name; ascending once ReadAll was true.
  const std::vector<uint64_t>& named() const noexcept { return named_; }

 private:
  bool ReadList();
  bool ReadLeaf(uint64_t offset);

  const media::PoolImage& image_;
  Findings* findings_;
  std::vector<uint64_t> named_;
};

}  // namespace braid::repair
