// Purpose: walks a list slice by slice, so that other work can be done in between, and shows each
// key's newest version.
// Thread safety: one thread, the one that merges; the list may change between slices.
// Invariants:
//   1. A slice ends between two keys, and the next one begins behind the last key that was shown:
//      what a merge has brought in before that place is not shown.
//   2. A circle, or any entry out of order, ends the walk as damage.
// Persistence: none.
#pragma once

#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/list_walk.h"
#include "pool/pool.h"

namespace braid::index {

class NewestWalk {
 public:
  explicit NewestWalk(const pool::PmemPool* pool) : pool_(pool) {}

  bool complete() const noexcept { return complete_; }
  /// All that were walked over, older versions included.
  uint64_t entries() const noexcept { return entries_; }
  /// Of these, older versions, and newest ones that are deletes.
  uint64_t kept() const noexcept { return kept_; }

  /// Walks over about `count` more entries of `list`; `show(entry)` gets the newest of each key.
  /// Corruption when the list is damaged.
  template <class Show>
  Status Slice(const SkipList& list, uint64_t count, Show&& show) {
    BRAID_DCHECK(count > 0);
    Damage damage;
    const format::EntryHeader* start =
        begun_ ? list.FindGE(last_key_, &damage) : list.First(&damage);
    begun_ = true;
    ListWalk walk(list, start);
    const format::EntryHeader* previous = nullptr;
    const auto take = [&](const format::EntryHeader* entry) {
      if (previous != nullptr && !InOrder(*previous, *entry)) {
        damage.at = pool_->OffsetOf(entry);  // perhaps a circle
        return false;
      }
      const bool is_newest = previous == nullptr || entry->key() != previous->key();
      if (is_newest) show(*entry);
      if (!is_newest || entry->op() == format::EntryOp::kDelete) ++kept_;
      ++entries_;
      previous = entry;
      return true;
    };
    for (uint64_t taken = 0; taken < count && walk.next() != nullptr && !damage;) {
      Damage met;
      const std::vector<const format::EntryHeader*>& round = walk.Round(&met);
      taken += round.size();
      for (size_t i = 0; i < round.size(); ++i) {
        // The round is as large as a cache, and its first entries may have left it again.
        if (i + kAhead < round.size()) {
          base::PrefetchRange(round[i + kAhead], ListWalk::kTouched);
        }
        if (!take(round[i])) break;
      }
      if (!damage) damage = met;
    }
    // The next slice begins at a key's newest version, so it would not get past a key with more
    // versions than a slice has entries.
    const format::EntryHeader* entry = damage ? nullptr : walk.next();
    BRAID_DCHECK(entry == nullptr || previous != nullptr);
    while (entry != nullptr && entry->key() == previous->key() && take(entry)) {
      entry = list.Next(entry, &damage);
    }
    if (damage) return DamageStatus(*pool_, damage.at);
    BRAID_DCHECK(kept_ <= entries_);
    complete_ = entry == nullptr;
    last_key_.assign(complete_ ? std::string_view() : entry->key());
    return Status::OK();
  }

 private:
  /// Entries whose keys are on their way while one is shown.
  static constexpr size_t kAhead = 8;

  const pool::PmemPool* pool_;
  bool complete_ = false;
  bool begun_ = false;
  uint64_t entries_ = 0;
  uint64_t kept_ = 0;
  std::string last_key_;  // where the next slice begins
};

}  // namespace braid::index
