// Purpose: telling how far a long call has come.
// Thread safety: that of the function told.
// Persistence: none.
#pragma once

#include <functional>

namespace braid {

/// Is told a share of the work, 0 to 1; may be empty.
using Progress = std::function<void(double)>;

/// `progress` for the part of the work from one share of it to another.
inline Progress PartOf(const Progress& progress, double from, double to) {
  if (!progress) return {};
  return [progress, from, to](double share) { progress(from + share * (to - from)); };
}

}  // namespace braid
