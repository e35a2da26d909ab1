// Purpose: walking a list in several places.
// Thread safety, invariants, persistence: list_walk.h.
#include "index/list_walk.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/prefetch.h"

namespace braid::index {

using format::EntryHeader;
using format::EntryPtr;

/// Cuts what comes next at tall towers. Returns the number of places.
size_t ListWalk::Split() {
  std::array<const EntryHeader*, kPlaces> towers;
  Damage ignored;  // a walk along the bottom layer meets what matters
  const size_t found = list_.Towers(*next_, kSplitLayer, towers.data(), kPlaces, &ignored);
  const EntryHeader* begin = next_;
  size_t places = 0;
  for (size_t i = 0; i <= found && places < kPlaces; ++i) {
    Place& place = places_[places++];
    place.stop = i < found ? towers[i] : nullptr;
    place.next = begin;
    place.damage = {};
    place.entries.clear();
    begin = place.stop;
  }
  BRAID_DCHECK(places > 0 && places == std::min(found + 1, kPlaces));
  return places;
}

/// Takes the next entry. False when the place is done.
bool ListWalk::Step(Place* place) const {
  BRAID_DCHECK(place->next != nullptr && place->entries.size() < kMostOfAPlace);  // invariant 2
  const EntryHeader* entry = place->next;
  place->entries.push_back(entry);
  place->next = list_.Next(entry, &place->damage);
  if (place->next == nullptr || place->next == place->stop) return false;
  // Its line is in the cache: Next has looked at it. The one behind it is needed a round later.
  const uint64_t* link = place->next->links();
  const EntryPtr behind{std::atomic_ref<const uint64_t>(*link).load(std::memory_order_relaxed)};
  base::PrefetchRange(list_.pool().At(behind.offset()), kTouched);
  return place->entries.size() < kMostOfAPlace;
}

void ListWalk::WalkAll(size_t places) {
  std::array<Place*, kAtATime> walking;
  size_t active = 0;
  size_t begun = 0;
  while (active < kAtATime && begun < places) walking[active++] = &places_[begun++];
  while (active > 0) {
    for (size_t i = 0; i < active;) {
      if (Step(walking[i])) {
        ++i;
      } else if (begun < places) {
        walking[i++] = &places_[begun++];
      } else {
        walking[i] = walking[--active];
      }
    }
  }
  BRAID_DCHECK(begun == places);
}

const std::vector<const EntryHeader*>& ListWalk::Round(Damage* damage) {
  round_.clear();
  if (next_ == nullptr) return round_;
  const size_t places = Split();
  WalkAll(places);
  for (size_t i = 0; i < places; ++i) {
    const Place& place = places_[i];
    round_.insert(round_.end(), place.entries.begin(), place.entries.end());
    next_ = place.next;
    *damage = place.damage;
    if (*damage || place.next == nullptr || place.next != place.stop) break;
  }
  BRAID_DCHECK(!round_.empty());  // the entry that it began with, at least
  return round_;
}

}  // namespace braid::index
