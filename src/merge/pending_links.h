// Purpose: the links that a batch of a merge will store, by the offset of the link: a small open
// hash table that is emptied by counting up. A merge asks it for every link that it looks at.
// Thread safety: none.
// Invariants:
//   1. A slot counts when its tag has the number of this batch; at least half of all slots are
//      free, so that every search ends.
// Persistence: none.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "format/link.h"

namespace braid::merge {

class PendingLinks {
 public:
  PendingLinks() : slots_(kFirstSlots) {}

  /// The value that the link at `offset` will have; null when nothing waits for it.
  const uint64_t* Find(uint64_t offset) const noexcept {
    const uint64_t tag = Tag(offset);
    for (size_t at = Start(offset);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].tag == tag) return &slots_[at].value;
      if (!IsUsed(slots_[at])) return nullptr;
    }
  }

  /// Throws std::bad_alloc, and changes nothing, when there is no memory to grow.
  void Set(uint64_t offset, uint64_t value) {
    BRAID_DCHECK((offset & ~format::kOffsetMask) == 0);  // the rest of a tag is the batch
    if (2 * (used_ + 1) > slots_.size()) Grow();
    Slot* slot = Place(&slots_, Tag(offset));
    if (!IsUsed(*slot)) ++used_;
    *slot = {Tag(offset), value};
    BRAID_DCHECK(2 * used_ <= slots_.size());  // invariant 1
  }

  size_t memory_bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

  void Clear() {
    used_ = 0;
    if (++batch_ < kBatches) return;
    batch_ = 1;
    for (Slot& slot : slots_) slot = {};
  }

 private:
  struct Slot {
    uint64_t tag = 0;  // batch << 48 | offset
    uint64_t value = 0;
  };
  static constexpr size_t kFirstSlots = 4096;
  static constexpr uint64_t kBatches = 1ull << 16;
  static_assert(std::has_single_bit(kFirstSlots));  // places are found by a mask
  static_assert(((kBatches - 1) << 48 & format::kOffsetMask) == 0);
  static_assert((kBatches - 1) << 48 >> 48 == kBatches - 1);

  uint64_t Tag(uint64_t offset) const noexcept { return batch_ << 48 | offset; }
  bool IsUsed(const Slot& slot) const noexcept { return slot.tag >> 48 == batch_; }
  size_t Start(uint64_t offset) const noexcept { return StartIn(offset, slots_.size()); }
  /// Links are words, and lie close together where entries do: a multiplication spreads them.
  static size_t StartIn(uint64_t offset, size_t slots) noexcept {
    return static_cast<size_t>((offset >> 3) * 0x9E3779B97F4A7C15ull >> 20) & (slots - 1);
  }
  Slot* Place(std::vector<Slot>* slots, uint64_t tag) const noexcept {
    size_t at = StartIn(tag & format::kOffsetMask, slots->size());
    while (IsUsed((*slots)[at]) && (*slots)[at].tag != tag) at = (at + 1) & (slots->size() - 1);
    return &(*slots)[at];
  }
  void Grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (IsUsed(slot)) *Place(&larger, slot.tag) = slot;
    }
    BRAID_DCHECK(std::has_single_bit(larger.size()));
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;  // a power of two
  size_t used_ = 0;
  uint64_t batch_ = 1;
};

}  // namespace braid::merge
