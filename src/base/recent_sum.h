// Purpose: an exponentially decaying sum of what a counter has grown by: a rate that one burst does
// not distort.
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"

namespace braid::base {

/// Of a counter that grows evenly it is what a window brings. A burst counts once, and decays.
class RecentSum {
 public:
  /// `now`, in nanoseconds, and `total`, the counter: where counting begins.
  RecentSum(uint64_t window_nanos, uint64_t now, uint64_t total)
      : window_(static_cast<double>(window_nanos)), updated_(now), total_(total) {
    BRAID_DCHECK(window_nanos > 0);
  }

  /// The sum, rounded, with what the counter has grown by since the last update. Neither argument
  /// goes back. The intervals may differ, as long as they are much shorter than the window.
  uint64_t Update(uint64_t now, uint64_t total) {
    BRAID_DCHECK(now >= updated_ && total >= total_);
    const double passed = std::min(static_cast<double>(now - updated_) / window_, 1.0);
    sum_ = sum_ * (1 - passed) + static_cast<double>(total - total_);
    updated_ = now;
    total_ = total;
    return static_cast<uint64_t>(std::llround(sum_));
  }

 private:
  const double window_;
  uint64_t updated_;
  uint64_t total_;
  double sum_ = 0;
};

}  // namespace braid::base
