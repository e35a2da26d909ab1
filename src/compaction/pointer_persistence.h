// Purpose: the other way to make a merge survive a crash: without a record, each entry is moved
// into the target by a few steps, and each step is durable before the next is made. What a crash
// leaves is a target that is in order and a source whose tail is in the target; which tail, is seen
// by looking (FindBoundary). Thread safety: one merge at a time; readers go on at every store.
//
// The steps of one source entry s, a fence behind each that is not empty:
//   1. entries of the target that s replaces are marked dead; if s is kept, all its own links are
//   set;
//   2. upper layers of the target lead to s and past what it replaces;
//   3. bottom links that only lead past dead entries of the target;
//   4. the bottom link that leads to s, or, if s is not kept, the mark that s is dead.
// Invariant 1: s counts as merged when the target's bottom layer holds it or it is marked dead;
// that is step 4, one store. So at every moment a tail of the source is merged, entries right of s
// wholly and s itself not at all or wholly. Invariant 2: the target's bottom layer is sorted at
// every store, and an entry's own links are durable before any link to it is stored. Invariant 3:
// what is in an upper layer of the target is in its bottom layer too, but for s and what s
// replaces. Invariant 4: a dead entry of the target is linked only while s, which replaces it,
// waits in the source. Persistence: before step 4 recovery takes back what was begun, as far as it
// shows: it revives the target's entries of the key of s, and makes its upper layers fit its bottom
// layer (RepairKey). That is idempotent. The merge then goes on at s. After step 4 nothing is to be
// done. Source: ListDB 6.5, Algorithm 6 lines 33-43. Deviations: the paper makes only the bottom
// layer durable, and sets it first. Upper links of s that are lost would lead along the source to
// entries that the merge has dropped, and with layers that were left behind nobody could tell a
// damaged list from an interrupted merge; so upper links are durable first, in a step of their own
// where there are any. The paper does not unlink old versions; steps 1 and 3 are for that.
#pragma once

#include <vector>

#include "compaction/redo_log.h"
#include "index/skiplist.h"

namespace braid::compaction {

/// When an update of a merge is made durable, by the order above.
enum class UpdateStep : uint8_t { kPrepare = 1, kUpper, kBottom, kLast };

class PointerPersistence {
 public:
  explicit PointerPersistence(pmem::PmemPool* pool) : pool_(pool) {}

  /// Makes the updates of one source entry, step by step; `steps` has one element for each update.
  /// Corruption, and nothing is done, when one of them would change what is no link and no entry.
  Status Commit(const std::vector<format::RedoUpdate>& updates,
                const std::vector<UpdateStep>& steps);

 private:
  pmem::PmemPool* pool_;
};

/// Brings the lists of a merge that a crash has interrupted to a state as it is between two
/// entries, and makes it durable. Returns the first source entry that is merged, 0 when none is.
/// Cost: a search of the source, with one of the target at each hop. Errors: Corruption.
Result<uint64_t> SettleInterruptedMerge(pmem::PmemPool* pool, index::Tower source,
                                        uint64_t* target);

}  // namespace braid::compaction
