// Purpose: the second-chance cache.
// Thread safety, invariants, persistence: second_chance_cache.h.
#include "cache/second_chance_cache.h"

#include <string>

#include "base/check.h"

namespace braid::cache {

using format::EntryHeader;

SecondChanceCache::SecondChanceCache(const pool::PmemPool* pool, uint64_t bytes)
    : pool_(pool), bytes_(bytes), tree_(index::NewEntryIndex(pool, MemTableKind::kSkipList)) {}

bool SecondChanceCache::IsFull() const noexcept {
  // An empty one takes some room too: where that alone is too much, nothing is gained any more.
  return min_height_ < format::kMaxHeight && tree_->size() != 0 && tree_->memory_bytes() > bytes_;
}

SecondChanceCache::Sparser SecondChanceCache::GiveUpGone() const {
  // What an entry takes with a short key. Erased ones keep their nodes until they are left out of a
  // copy.
  constexpr uint64_t kLikelyBytes = 64;
  const uint64_t likely = tree_->size() * kLikelyBytes;
  if (likely < bytes_ / 2) {
    // A height more is four times as many entries, which merges bring in.
    const bool lower = likely < bytes_ / 16 && min_height_ > 2;
    Sparser copy = CopyFrom(lower ? min_height_ - 1 : min_height_);
    if (copy.tree->memory_bytes() <= bytes_ / 2) return copy;
  }
  return GiveUpLowest();
}

SecondChanceCache::Sparser SecondChanceCache::CopyFrom(uint32_t min_height) const {
  BRAID_DCHECK(min_height >= 2 && min_height <= format::kMaxHeight);  // invariant 2
  Sparser sparser{index::NewEntryIndex(pool_, MemTableKind::kSkipList), min_height};
  constexpr size_t kAtOnce = 64;
  uint64_t offsets[kAtOnce];
  std::string last;
  for (size_t count = tree_->ScanFromStart(offsets, kAtOnce); count != 0;
       count = tree_->ScanForward(last, false, offsets, kAtOnce)) {
    for (size_t i = 0; i < count; ++i) {
      const EntryHeader* entry = pool_->EntryAt(offsets[i]);
      if (entry == nullptr || entry->height() < sparser.min_height) continue;
      const uint64_t offset = offsets[i];
      sparser.tree->Upsert(pool_->KeyAt(offset), [&](uint64_t) { return offset; });
    }
    const std::string_view next = pool_->KeyAt(offsets[count - 1]);
    // Keys rise, unless the medium is lost: then what is left out is only searched for longer.
    if (!last.empty() && next <= last) break;
    last.assign(next);
  }
  return sparser;
}

}  // namespace braid::cache
