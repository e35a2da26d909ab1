// Purpose: the skip list in persistent memory: searches, walks and a cursor. The code that links
// nodes in is elsewhere (flush/link_flush, merge/zipper_merge).
// Thread safety: any number of readers and one writer concurrently; readers take no lock and write
// nothing.
// Invariants:
//   1. The bottom layer is sorted by key, then by falling sequence number; every upper layer is a
//      sorted part of it, or a shortcut that leads no further than the bottom layer would.
//   2. Every link is checked when it is followed, and every entry's header and key before it is
//      compared, so that damage gives an error and never a wrong path.
//   3. Every walk ends: cursors check the order at each step, searches once they are longer than
//      any search should be, so that a circle, which can't be in order, is damage.
//   4. In a braided list the upper layers that begin at the head of a strand link the entries of
//      that strand's region, all of them; the bottom layer links all entries. So a search stays in
//      one region until it is down there.
// Persistence: none here.
// Source: ZipperDB 5.1.1 (upper layers are hints), ListDB 6.4 (braids).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "index/cursor.h"
#include "index/read_view.h"
#include "pool/pool.h"

namespace braid::index {

/// Where damage was met; zero when nowhere.
struct Damage {
  uint64_t at = 0;
  explicit operator bool() const noexcept { return at != 0; }
};

/// The Corruption for damage at `at`: an entry, or the links of one, or of a list's head.
Status DamageStatus(const pool::PmemPool& pool, uint64_t at);

/// The links of a node or of a list's head.
using Tower = const uint64_t*;

/// Hops after which a search also checks the order. Searches are logarithmic; one of a sound list
/// comes near this only where towers are unlucky, and then stays right.
inline constexpr int kFreeHops = 512;

/// True when `next` may stand behind `entry`: a later key, or an older version.
inline bool InOrder(const format::EntryHeader& entry, const format::EntryHeader& next) noexcept {
  const int order = entry.key().compare(next.key());
  return order < 0 || (order == 0 && next.sequence() < entry.sequence());
}

class SkipList {
 public:
  /// `head`: kMaxHeight links, in the pool or a copy of them in DRAM.
  SkipList(const pool::PmemPool* pool, Tower head, bool verify = true)
      : SkipList(pool, head, head, verify) {}
  /// Of a braided list: `upper` is the head of the strand that searches go along, `head` that of
  /// strand 0, where the bottom layer begins.
  SkipList(const pool::PmemPool* pool, Tower head, Tower upper, bool verify)
      : pool_(pool), head_(head), upper_(upper), verify_(verify) {
    BRAID_DCHECK(head != nullptr && upper != nullptr);
    BRAID_DCHECK(head == upper || pool->strands() > 1);  // invariant 4
  }

  /// Follows one link. Null at the end of the list or at damage.
  const format::EntryHeader* Follow(Tower tower, uint32_t layer, Damage* damage) const noexcept {
    // Acquire pairs with the release store that published the entry.
    const format::EntryPtr link{
        std::atomic_ref<const uint64_t>(tower[layer]).load(std::memory_order_acquire)};
    return Resolve(link, tower, layer, damage);
  }
  /// The entry a link of `tower` in `layer` names; it is tall enough to lead on in that layer.
  const format::EntryHeader* Resolve(format::EntryPtr link, Tower tower, uint32_t layer,
                                     Damage* damage) const noexcept;

  /// First entry whose key is >= `key` (its newest version).
  const format::EntryHeader* FindGE(std::string_view key, Damage* damage,
                                    Visits* visits = nullptr) const noexcept;
  /// The same, going down from `start`, an entry of this list with a key <= `key`.
  const format::EntryHeader* FindGEFrom(const format::EntryHeader* start, std::string_view key,
                                        Damage* damage, Visits* visits = nullptr) const noexcept;
  /// Newest version of the last key < `key`; null when there is none.
  const format::EntryHeader* FindLess(std::string_view key, Damage* damage) const noexcept;
  /// Newest version of the last key of all.
  const format::EntryHeader* FindLast(Damage* damage) const noexcept;
  const format::EntryHeader* First(Damage* damage) const noexcept {
    return Follow(head_, 0, damage);
  }
  const format::EntryHeader* Next(const format::EntryHeader* entry, Damage* damage) const noexcept {
    return Follow(entry->links(), 0, damage);
  }

  /// Entries behind `entry` that are more than `layer` links tall, in order, at most `cap` of them.
  /// Returns their number; fewer at the end, or at damage.
  size_t Towers(const format::EntryHeader& entry, uint32_t layer, const format::EntryHeader** out,
                size_t cap, Damage* damage) const noexcept;

  /// From the newest version of a key to the one `view` sees.
  const format::EntryHeader* Visible(const format::EntryHeader* newest, const ReadView& view,
                                     Damage* damage) const noexcept;
  LookupResult Lookup(const LookupKey& key, const ReadView& view) const noexcept;
  /// A lookup that starts at `start`, an entry of this list with a key <= the one sought.
  LookupResult LookupFrom(const format::EntryHeader* start, const LookupKey& key,
                          const ReadView& view) const noexcept;

  const pool::PmemPool& pool() const noexcept { return *pool_; }
  Tower head() const noexcept { return head_; }

 private:
  bool IsHead(Tower tower) const noexcept { return tower == head_ || tower == upper_; }
  /// Where a search that has come to `layer` at `tower` goes on.
  Tower EnterLayer(Tower tower, uint32_t layer) const noexcept {
    return layer == 0 && tower == upper_ ? head_ : tower;
  }
  /// Damage when `next` can't follow what `tower` belongs to.
  bool CheckHop(Tower tower, const format::EntryHeader* next, Damage* damage) const noexcept;
  /// `counts`: whether nodes are counted in `visits`, which costs nothing where they are not.
  template <bool counts>
  const format::EntryHeader* DescendCounting(Tower tower, uint32_t layers, std::string_view key,
                                             Tower* before, Visits* visits,
                                             Damage* damage) const noexcept;
  const format::EntryHeader* Descend(Tower tower, uint32_t layers, std::string_view key,
                                     Tower* before, Visits* visits, Damage* damage) const noexcept {
    return visits == nullptr ? DescendCounting<false>(tower, layers, key, before, nullptr, damage)
                             : DescendCounting<true>(tower, layers, key, before, visits, damage);
  }
  LookupResult Judge(const format::EntryHeader* at, const LookupKey& key, const ReadView& view,
                     Damage damage) const noexcept;

  const pool::PmemPool* pool_;
  Tower head_;
  Tower upper_;
  bool verify_;
};

/// A cursor over a list; `owner` keeps whatever the head lies in alive.
std::unique_ptr<Cursor> NewListCursor(const SkipList& list, std::shared_ptr<const void> owner,
                                      const ReadView& view);

}  // namespace braid::index
