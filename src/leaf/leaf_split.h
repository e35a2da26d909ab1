// Purpose: where a full leaf is cut in two.
// Thread safety: a pure function.
// Persistence: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::leaf {

struct LeafCut {
  std::vector<bool> right;  ///< by key: whether it goes to the right leaf
  std::string low;          ///< where the right leaf begins; no key of the left one is as great
};

/// Cuts at least two different keys, in any order, so that both sides have some. The cut is at the
/// mean of the keys without the least and the greatest: keys are taken for numbers, the eight bytes
/// behind what all have in common. Where the mean leaves less than a fourth on a side, or the bytes
/// tell too little, the keys are cut in the middle. Source: NV-Skiplist 3.3; it has numbers for
/// keys.
LeafCut CutLeaf(const std::vector<std::string_view>& keys);

}  // namespace braid::leaf
