// Purpose: how much of what only grows came lately: a sum that forgets, for rates that are bursty.
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"

namespace braid::base {

/// What grows evenly counts as what a window has brought; a burst counts once, and fades.
class RecentSum {
 public:
  explicit RecentSum(uint64_t window_nanos) : window_(static_cast<double>(window_nanos)) {
    BRAID_DCHECK(window_nanos > 0);
  }

  /// `total` of all times, `now`: neither goes back. How much of it is recent, rounded; the first
  /// call says what was there before. Looks at irregular times are as good as others, as long as
  /// they are much shorter than a window apart.
  uint64_t Look(uint64_t now, uint64_t total) {
    if (!begun_) {
      begun_ = true;
    } else {
      BRAID_DCHECK(total >= total_ && now >= looked_);
      const double passed = std::min(static_cast<double>(now - looked_) / window_, 1.0);
      sum_ = sum_ * (1 - passed) + static_cast<double>(total - total_);
    }
    if (sum_ < 0.5) sum_ = 0;
    looked_ = now;
    total_ = total;
    return static_cast<uint64_t>(std::llround(sum_));
  }

 private:
  const double window_;
  bool begun_ = false;
  uint64_t looked_ = 0;
  uint64_t total_ = 0;
  double sum_ = 0;
};

}  // namespace braid::base
