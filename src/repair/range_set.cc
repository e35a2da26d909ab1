// Purpose: a set of bytes of a pool.
// Thread safety, invariants, persistence: see range_set.h.
#include "repair/range_set.h"

#include <algorithm>
#include <iterator>

namespace braid::repair {

using Range = media::PoolImage::Range;

RangeSet::RangeSet(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.offset < b.offset; });
  for (const Range& range : ranges) {
    const uint64_t end = range.offset + range.bytes;
    if (ranges_.empty() || range.offset > ranges_.back().offset + ranges_.back().bytes) {
      ranges_.push_back(range);
    } else {
      ranges_.back().bytes = std::max(ranges_.back().bytes, end - ranges_.back().offset);
    }
  }
}

bool RangeSet::Meets(uint64_t offset, uint64_t bytes) const noexcept {
  const auto behind =
      std::lower_bound(ranges_.begin(), ranges_.end(), offset + bytes,
                       [](const Range& range, uint64_t end) { return range.offset < end; });
  if (behind == ranges_.begin()) return false;
  const Range& last = *std::prev(behind);
  return last.offset + last.bytes > offset;
}

}  // namespace braid::repair
