// Purpose: runs of moved entries.
// Thread safety, invariants, persistence: see moved_runs.h.
#include "merge/moved_runs.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/prefetch.h"

namespace braid::merge {

using format::EntryHeader;
using format::EntryPtr;

namespace {
/// Entries asked for ahead, and how much of each: header and first links.
constexpr size_t kMovesAhead = 16;
constexpr uint64_t kAsked = 48;
}  // namespace

/// Whether no older version stands behind the original; and whether the next one that moved does.
bool MovedRuns::EndsItsKey(size_t i, const EntryHeader& original, bool* next_follows) const {
  // Relaxed: this thread alone changes links of the list.
  const EntryPtr link{
      std::atomic_ref<const uint64_t>(*original.links()).load(std::memory_order_relaxed)};
  *next_follows = false;
  if (link.IsEnd()) return true;
  if (!link.IsValid()) return false;
  uint64_t behind = link.offset();
  if (i + 1 < moved_->size()) {
    const index::Replacement& next = (*moved_)[i + 1];
    *next_follows = behind == next.from;
    if (*next_follows) behind = next.to;  // the same key, in a line that was just asked for
  }
  return pool_->EntryAt(behind) != nullptr && pool_->KeyAt(behind) != pool_->KeyAt((*moved_)[i].to);
}

MovedRuns::Run MovedRuns::From(size_t begin, size_t limit) const {
  BRAID_DCHECK(begin < limit && limit <= moved_->size());
  Run run{begin, 1};
  const std::vector<index::Replacement>& moved = *moved_;
  if (begin > 0 && pool_->KeyAt(moved[begin - 1].to) == pool_->KeyAt(moved[begin].to)) return run;
  for (size_t i = begin; i < limit; ++i) {
    if (i + kMovesAhead < limit) {
      base::PrefetchRange(pool_->At(moved[i + kMovesAhead].from), kAsked);
      base::PrefetchRange(pool_->At(moved[i + kMovesAhead].to), kAsked);
    }
    const EntryHeader* original = pool_->EntryAt(moved[i].from);
    const EntryHeader* copy = pool_->EntryAt(moved[i].to);
    if (original == nullptr || copy == nullptr || original->state() != format::kStateLive ||
        original->op() != format::EntryOp::kPut) {
      return run;
    }
    bool next_follows = false;
    if (!EndsItsKey(i, *original, &next_follows)) return run;
    run.end = i + 1;
    run.layers = std::max({run.layers, original->height(), copy->height()});
    if (!next_follows) return run;
  }
  return run;
}

}  // namespace braid::merge
