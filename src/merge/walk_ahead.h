// Purpose: prefetches the entries of an index ahead of a walk in key order, since they are
// scattered over the pool and a walk would wait for one cache miss after the other.
// Thread safety: one walk an object; the index may change meanwhile.
// Invariants:
//   1. It is only a hint: the index may have other entries than the walk, or none.
// Persistence: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/entry_index.h"

namespace braid::merge {

class WalkAhead {
 public:
  /// A walk from the key `from` on, or from the first one if that is empty. `tree` may be null.
  WalkAhead(const pool::PmemPool* pool, const index::EntryIndex* tree, std::string_view from = {})
      : pool_(pool), tree_(tree) {
    if (tree_ == nullptr) return;
    count_[0] = from.empty() ? tree_->ScanFromStart(refs_[0].data(), kLeaf)
                             : tree_->ScanForward(from, true, refs_[0].data(), kLeaf);
    BRAID_DCHECK(count_[0] <= kLeaf);
    FindBehind();
    AskUpTo(kEntriesAhead);
  }
  /// The walk stands on `offset`.
  void Passed(uint64_t offset) {
    if (at_ >= count_[turn_] || refs_[turn_][at_] != offset) return;
    AskUpTo(++at_ + kEntriesAhead);
    if (at_ < count_[turn_]) return;
    BRAID_DCHECK(asked_ >= at_);
    asked_ -= at_;
    at_ = 0;
    turn_ ^= 1;
    FindBehind();
  }

 private:
  /// One after the other, as the walk comes nearer: of a number at once most would be dropped.
  void AskUpTo(size_t end) {
    const std::array<uint64_t, kLeaf>& here = refs_[turn_];
    const std::array<uint64_t, kLeaf>& behind = refs_[turn_ ^ 1];
    for (end = std::min(end, count_[turn_] + count_[turn_ ^ 1]); asked_ < end; ++asked_) {
      const bool is_here = asked_ < count_[turn_];
      base::PrefetchRange(pool_->At(is_here ? here[asked_] : behind[asked_ - count_[turn_]]),
                          kEntryFront);
    }
  }
  /// What comes behind the leaf that the walk is in.
  void FindBehind() {
    size_t& count = count_[turn_ ^ 1];
    count = 0;
    if (count_[turn_] == 0) return;
    const std::string_view last = pool_->KeyAt(refs_[turn_][count_[turn_] - 1]);
    std::array<uint64_t, kLeaf>& behind = refs_[turn_ ^ 1];
    count = tree_->ScanForward(last, false, behind.data(), kLeaf);
    BRAID_DCHECK(count <= kLeaf);
    // Its key is read as soon as the walk has come there.
    if (count != 0) base::PrefetchRange(pool_->At(behind[count - 1]), kEntryFront);
  }

  static constexpr size_t kLeaf = 64;
  /// Measured: docs/internals/decisions/0073.
  static constexpr size_t kEntriesAhead = 12;
  static constexpr uint64_t kEntryFront = 128;  // header, links and key of most entries
  const pool::PmemPool* pool_;
  const index::EntryIndex* tree_;
  std::array<uint64_t, kLeaf> refs_[2];
  size_t count_[2] = {0, 0};
  size_t turn_ = 0;
  size_t at_ = 0;
  size_t asked_ = 0;  // of the leaf that the walk is in, and the next one
};

}  // namespace braid::merge
