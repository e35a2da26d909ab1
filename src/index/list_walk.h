// Purpose: walks an unchanging list from several positions at once, so that the cache misses of one
// overlap with those of the others. A plain walk waits for memory once for each entry.
// Thread safety: one thread a walk; others may read the list.
// Invariants:
//   1. What Round gives is what a walk along the bottom layer would give, in its order: where upper
//      layers, which only say where to begin, contradict the bottom layer, the round ends before
//      that place.
//   2. A round ends, whatever the links are: the caller looks for circles, by the order of what it
//      gets.
// Persistence: none.
#pragma once

#include <cstdint>
#include <vector>

#include "index/skiplist.h"

namespace braid::index {

class ListWalk {
 public:
  /// Bytes of an entry that a walk reads, of most: header, a link or two, and a short key.
  static constexpr uint64_t kTouched = sizeof(format::EntryHeader) + 2 * sizeof(uint64_t) + 16;

  /// From `start` on, an entry of `list` or null.
  ListWalk(const SkipList& list, const format::EntryHeader* start) : list_(list), next_(start) {}

  /// The next entries, about kPlaces << (2 * kSplitLayer) of them; fewer only before the end or
  /// damage, none only there. Damage is met after all entries before it were given.
  const std::vector<const format::EntryHeader*>& Round(Damage* damage);
  /// The entry that comes after all that were given; null at the end.
  const format::EntryHeader* next() const noexcept { return next_; }

 private:
  /// Entries from one tower up to the next.
  struct Place {
    const format::EntryHeader* stop = nullptr;  // belongs to the place behind; null: the last one
    const format::EntryHeader* next = nullptr;  // stop, or where the walk was left
    Damage damage;
    std::vector<const format::EntryHeader*> entries;
  };

  static constexpr size_t kPlaces = 64;       // of a round
  static constexpr size_t kAtATime = 16;      // lines that a core waits for side by side, about
  static constexpr uint32_t kSplitLayer = 3;  // one entry in 64 is so tall
  /// 32 times what lies between two towers: only where there are hardly any towers.
  static constexpr size_t kMostOfAPlace = size_t{32} << (2 * kSplitLayer);

  size_t Split();
  bool Step(Place* place) const;
  void WalkAll(size_t places);

  SkipList list_;
  const format::EntryHeader* next_;
  std::vector<Place> places_{kPlaces};
  std::vector<const format::EntryHeader*> round_;
};

}  // namespace braid::index
