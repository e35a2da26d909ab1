// Purpose: prefetches the entries of an index ahead of a walk in key order, since they are
// scattered over the pool and a walk would wait for one cache miss after the other.
// Thread safety: one walk an object; the index may change meanwhile.
// Invariants:
//   1. It is only a hint: the index may have other entries than the walk, or none.
// Persistence: none.
#pragma once

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
    Ask(0);
    AskBehind(0);
  }
  /// The walk stands on `offset`.
  void Passed(uint64_t offset) {
    if (at_ >= count_[turn_] || refs_[turn_][at_] != offset || ++at_ < count_[turn_]) return;
    at_ = 0;
    turn_ ^= 1;
    AskBehind(turn_);
  }

 private:
  void Ask(size_t which) {
    for (size_t i = 0; i < count_[which]; ++i) {
      base::PrefetchRange(pool_->At(refs_[which][i]), kEntryFront);
    }
  }
  void AskBehind(size_t which) {
    count_[which ^ 1] = 0;
    if (count_[which] == 0) return;
    const std::string_view last = pool_->KeyAt(refs_[which][count_[which] - 1]);
    std::array<uint64_t, kLeaf>& next = refs_[which ^ 1];
    count_[which ^ 1] = tree_->ScanForward(last, false, next.data(), kLeaf);
    BRAID_DCHECK(count_[which ^ 1] <= kLeaf);
    Ask(which ^ 1);
  }

  static constexpr size_t kLeaf = 64;
  static constexpr uint64_t kEntryFront = 128;  // header, links and key of most entries
  const pool::PmemPool* pool_;
  const index::EntryIndex* tree_;
  std::array<uint64_t, kLeaf> refs_[2];
  size_t count_[2] = {0, 0};
  size_t turn_ = 0;
  size_t at_ = 0;
};

}  // namespace braid::merge
