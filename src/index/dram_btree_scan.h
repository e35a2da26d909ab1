// Purpose: where a scan of DramBTree puts what it copies: refs alone, or with what the leaves know
// of their keys. What was copied from a leaf counts once the leaf is found unchanged.
// Thread safety: one thread; the leaves are read as dram_btree_node.h says.
// Persistence: none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/dram_btree_node.h"
#include "index/keyed_refs.h"

namespace braid::index::btree_internal {

/// Asks for the first `n` of a leaf's slots, or for all: where the last ones are, its count says.
inline void PrefetchSomeSlots(const std::atomic<uint64_t>* slots, bool forward, size_t n) {
  n = forward ? std::min<size_t>(n, kLeafSlots) : kLeafSlots;
  base::PrefetchRange(slots, n * sizeof *slots);
}

/// Up to `cap` refs.
class RefsOut {
 public:
  RefsOut(uint64_t* out, size_t cap) : out_(out), cap_(cap) {}
  size_t count() const { return count_; }
  const uint64_t* refs() const { return out_; }
  size_t room() const { return cap_ - count_; }

  /// Of the slots from `begin` to before `end`, ascending or descending, what there is room for.
  void Copy(bool forward, const Leaf* leaf, NodeState /*state*/, uint32_t begin, uint32_t end) {
    BRAID_DCHECK(begin <= end && end <= kLeafSlots);
    copied_ = std::min<size_t>(end - begin, room());
    uint64_t* const out = out_ + count_;
    for (uint32_t i = 0; i < copied_; ++i) {
      out[i] = leaf->refs[forward ? begin + i : end - 1 - i].load(std::memory_order_acquire);
    }
  }
  void Keep() { count_ += copied_; }
  /// Asks for what it copies of a leaf that comes next, at most `n` slots.
  void Prefetch(bool forward, const Leaf* leaf, size_t n) const {
    base::Prefetch(leaf);
    PrefetchSomeSlots(leaf->refs.data(), forward, n);
  }

 private:
  uint64_t* out_;
  size_t cap_;
  size_t count_ = 0;
  size_t copied_ = 0;
};

/// Up to `cap` refs with their heads, as far as they fit into the parts.
class KeyedOut {
 public:
  KeyedOut(KeyedRefs* out, size_t cap) : out_(out), cap_(std::min(cap, KeyedRefs::kMost)) {
    out_->count = out_->parts = 0;
  }
  size_t count() const { return out_->count; }
  const uint64_t* refs() const { return out_->refs.data(); }
  size_t room() const { return out_->parts == KeyedRefs::kMostParts ? 0 : cap_ - out_->count; }

  void Copy(bool forward, const Leaf* leaf, NodeState state, uint32_t begin, uint32_t end) {
    BRAID_DCHECK(begin <= end && end <= kLeafSlots);
    static_assert(LeafPart::kMixed == kMixedLengths && LeafPart::kWords * 8 == kMaxPrefix);
    copied_ = std::min<size_t>(end - begin, room());
    if (copied_ == 0) return;
    LeafPart& part = out_->part[out_->parts];
    part.end = static_cast<uint32_t>(out_->count + copied_);
    part.prefix_length = state.prefix_length();
    part.length = state.uniform_length();
    for (size_t i = 0; i < LeafPart::kWords; ++i) {
      part.prefix[i] =
          8 * i < part.prefix_length ? leaf->prefix[i].load(std::memory_order_acquire) : 0;
    }
    uint64_t* const heads = out_->heads.data() + out_->count;
    uint64_t* const refs = out_->refs.data() + out_->count;
    for (uint32_t i = 0; i < copied_; ++i) {
      const uint32_t slot = forward ? begin + i : end - 1 - i;
      heads[i] = leaf->heads[slot].load(std::memory_order_acquire);
      refs[i] = leaf->refs[slot].load(std::memory_order_acquire);
    }
  }
  void Keep() {
    if (copied_ == 0) return;
    out_->count += copied_;
    ++out_->parts;
  }
  void Prefetch(bool forward, const Leaf* leaf, size_t n) const {
    base::Prefetch(leaf);
    PrefetchSomeSlots(leaf->heads.data(), forward, n);
    PrefetchSomeSlots(leaf->refs.data(), forward, n);
  }

 private:
  KeyedRefs* out_;
  size_t cap_;
  size_t copied_ = 0;
};

}  // namespace braid::index::btree_internal
