// Purpose: a set of keys, as ranges: the union of range deletes.
// Thread safety: none; const calls from any thread while nobody adds.
// Invariants:
//   1. The ranges are not empty, and neither overlap nor touch.
// Persistence: none.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"

namespace braid::base {

class KeyRangeSet {
 public:
  /// From each first key to the end of its range, which is exclusive; none: to the last key.
  using Ranges = std::map<std::string, std::optional<std::string>, std::less<>>;

  /// Adds the keys from `begin` to before `end`; none: to the last. An empty range changes nothing.
  /// Copies both. Throws std::bad_alloc, and is as it was then.
  void Add(std::string_view begin, std::optional<std::string_view> end) {
    if (end && *end <= begin) return;
    std::string first(begin);
    std::optional<std::string> last;
    if (end) last.emplace(*end);
    // Those that it reaches become a part of it.
    auto from = ranges_.upper_bound(first);
    if (from != ranges_.begin()) {
      const auto before = std::prev(from);
      if (!before->second || *before->second >= first) from = before;
    }
    auto to = from;
    for (; to != ranges_.end() && (!last || to->first <= *last); ++to) {
      if (to->first < first) first = to->first;
      if (!to->second) last.reset();
      if (last && *to->second > *last) last = to->second;
    }
    Ranges one;
    one.emplace(std::move(first), std::move(last));
    ranges_.erase(from, to);
    ranges_.insert(one.extract(one.begin()));
    BRAID_DCHECK(!ranges_.empty());
  }
  bool Covers(std::string_view key) const noexcept {
    const auto after = ranges_.upper_bound(key);
    if (after == ranges_.begin()) return false;
    const auto& end = std::prev(after)->second;
    return !end || key < *end;
  }
  bool empty() const noexcept { return ranges_.empty(); }
  const Ranges& ranges() const noexcept { return ranges_; }
  void Clear() noexcept { ranges_.clear(); }

 private:
  Ranges ranges_;
};

}  // namespace braid::base
