// Purpose: the one rule by which flushes and merges decide which versions of a key are kept.
// Thread safety: pure functions.
// Persistence: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace braid::index {

/// Sequence numbers of the live views, sorted. Views taken later see the newest version only.
using LiveViews = std::vector<uint64_t>;

/// True when some view sees the version `sequence`, whose next newer version is `newer`
/// (kLatest for the newest version, which is always kept).
inline bool IsVersionNeeded(const LiveViews& views, uint64_t sequence, uint64_t newer) noexcept {
  BRAID_DCHECK(std::is_sorted(views.begin(), views.end()));
  if (newer == ~0ull) return true;
  const auto view = std::lower_bound(views.begin(), views.end(), sequence);
  return view != views.end() && *view < newer;
}

/// True when some view sees a version older than the version `sequence`.
inline bool IsAnyOlderNeeded(const LiveViews& views, uint64_t sequence) noexcept {
  BRAID_DCHECK(std::is_sorted(views.begin(), views.end()));
  return !views.empty() && views.front() < sequence;
}

/// The place among `views` of the newest one that sees the version `sequence`, whose next newer
/// version is `newer`; views.size() when none does.
inline size_t NewestViewOf(const LiveViews& views, uint64_t sequence, uint64_t newer) noexcept {
  BRAID_DCHECK(std::is_sorted(views.begin(), views.end()));
  const auto behind = std::lower_bound(views.begin(), views.end(), newer);
  if (behind == views.begin() || *(behind - 1) < sequence) return views.size();
  return static_cast<size_t>(behind - 1 - views.begin());
}

}  // namespace braid::index
