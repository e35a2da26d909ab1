// Purpose: the cut of a leaf.
// Thread safety, persistence: see leaf_split.h.
#include "leaf/leaf_split.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "leaf/leaf_node.h"

namespace braid::leaf {

namespace {

size_t CommonLength(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(end - a.begin());
}

/// Keys that go left, of keys in order, by their mean.
size_t CutAtMean(const std::vector<std::string_view>& sorted) {
  const size_t common = CommonLength(sorted.front(), sorted.back());
  __extension__ using Wide = unsigned __int128;
  BRAID_DCHECK(sorted.size() > 2);  // there is a mean without the least and the greatest
  Wide sum = 0;
  for (size_t i = 1; i + 1 < sorted.size(); ++i) {
    sum += KeyPrefix(sorted[i].substr(common));
  }
  const auto mean = static_cast<uint64_t>(sum / (sorted.size() - 2));
  const auto first_right = std::partition_point(
      sorted.begin(), sorted.end(),
      [&](std::string_view key) { return KeyPrefix(key.substr(common)) <= mean; });
  return static_cast<size_t>(first_right - sorted.begin());
}

}  // namespace

LeafCut CutLeaf(const std::vector<std::string_view>& keys) {
  BRAID_DCHECK(keys.size() >= 2);
  std::vector<std::string_view> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  size_t left = sorted.size() > 2 ? CutAtMean(sorted) : 1;
  const size_t least = std::max<size_t>(sorted.size() / 4, 1);
  if (left < least || sorted.size() - left < least) left = sorted.size() / 2;
  BRAID_DCHECK(left > 0 && left < sorted.size());
  LeafCut cut;
  const std::string_view below = sorted[left - 1];
  const std::string_view above = sorted[left];
  // As short as tells the two sides apart.
  cut.low = std::string(above.substr(0, CommonLength(below, above) + 1));
  cut.right.reserve(keys.size());
  for (const std::string_view key : keys) cut.right.push_back(key >= cut.low);
  return cut;
}

}  // namespace braid::leaf
