// Purpose: a walk over L1 in parts, up to the end that L1 had when the walk began; and the rule
// when one is due.
// Thread safety: the compaction thread.
// Persistence: none.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "index/skiplist.h"

namespace braid::compaction {

/// Why a step of the background is looked at.
struct Occasion {
  bool at_rest = false;   // nobody writes for now, or somebody waits for all work to be done
  bool awaited = false;   // somebody waits for all work to be done
  bool in_round = false;  // the step is one of the round for those who wait
  bool may_begin = true;  // a pass; not twice in a round
  uint64_t merged = 0;    // entries in no order, since the store was opened
};

class PassOverL1 {
 public:
  bool under_way() const noexcept { return under_way_; }
  /// How many have begun.
  uint64_t begun() const noexcept { return begun_; }
  /// The key that the next part begins with.
  const std::string& from() const noexcept { return from_; }

  void Begin(const index::SkipList& l1) {
    index::Damage damage;
    const format::EntryHeader* last = l1.FindLast(&damage);
    // Where there is none, or it can't be read, the first part of the pass is the last.
    Begin(last == nullptr ? std::string() : std::string(last->key()));
  }
  /// Up to this key.
  void Begin(std::string to) {
    BRAID_DCHECK(!under_way_);
    to_ = std::move(to);
    from_.clear();
    under_way_ = true;
    ++begun_;
  }
  /// A part is done, and the next one begins with `next_key`.
  void Advance(bool is_last, std::string next_key) {
    BRAID_DCHECK(under_way_);
    from_ = std::move(next_key);
    if (is_last || from_ > to_) End();
  }
  void End() noexcept { under_way_ = false; }

 private:
  std::string from_;
  std::string to_;  // the last key when it began
  bool under_way_ = false;
  uint64_t begun_ = 0;
};

}  // namespace braid::compaction
