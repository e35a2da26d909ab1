// Purpose: makes a merge survive a crash without redo records: each entry is moved into the target
// in a few steps, and each step is durable before the next one begins. A crash leaves a target that
// is in order and a source whose tail is in the target; FindBoundary finds where that tail begins.
// Thread safety: one merge at a time; readers go on at every store.
//
// The steps of one source entry s, a fence behind each that is not empty:
//   1. entries of the target that s replaces are marked obsolete; if s is kept, all its own links
//      are set;
//   2. bottom links of the target that only lead past obsolete entries;
//   3. the bottom link that leads to s or, if s is not kept, the mark that s is obsolete; upper
//      layers of the target are made to lead to s and past what it replaces.
// So an entry takes two fences; one that is dropped, as a delete with nothing left to hide is,
// three.
// Invariants:
//   1. s counts as merged when the target's bottom layer holds it or it is marked obsolete: one
//      store of step 3. So at every moment a tail of the source is merged.
//   2. The target's bottom layer is sorted at every store, and an entry's own links, all of them,
//      are durable before any link to it is stored: a search that comes to s goes on in the target.
//   3. Upper layers may differ from the bottom layer at the keys of two entries alone: the last
//      that is not merged and the first that is.
//   4. An entry of the target is obsolete and linked only while s, which replaces it, is not
//      merged.
//   5. s is marked obsolete only after what it hides is unlinked, durably.
// Persistence: s is merged when the store of invariant 1 is durable. Before it, recovery revives
// the target's entries of the key of s. Before and after it, recovery makes the upper layers fit
// the bottom layer at both keys (RepairKey), flushes what lies there, and is done; all of it is
// idempotent, so that a crash in recovery, or another before the merge goes on, changes nothing.
// The merge then goes on at the last entry that is not merged.
// Source: ListDB 6.5, Algorithm 6 lines 33-43. Deviations: the paper makes only bottom links
// durable, one by one. Here the own links of an entry are durable together before it is linked: an
// upper one that is lost would lead along the source to entries that the merge has dropped. Upper
// layers are repaired at open, so that Verify can tell a damaged list from an interrupted merge.
// The paper does not unlink old versions and deletes; the marks, step 2 and invariant 5 are for
// that.
#pragma once

#include <vector>

#include "index/skiplist.h"
#include "merge/redo_log.h"

namespace braid::merge {

/// When an update of a merge is made durable, by the order above.
enum class UpdateStep : uint8_t { kPrepare = 1, kUnlink, kLast };

class PointerPersistence {
 public:
  explicit PointerPersistence(pool::PmemPool* pool) : pool_(pool) {}

  /// Makes the updates of one source entry, step by step; `steps` has one element for each update.
  /// Corruption, and nothing is done, when one of them would change what is no link and no entry.
  Status Commit(const std::vector<format::RedoUpdate>& updates,
                const std::vector<UpdateStep>& steps);

 private:
  pool::PmemPool* pool_;
};

/// Brings the lists of a merge that a crash has interrupted to a state as it is between two
/// entries, and makes it durable; both are named by the offsets of their heads. Returns the first
/// source entry that is merged, 0 when none is. Cost: a search of the source, at worst one a
/// strand, with one of the target at each hop. Errors: Corruption.
Result<uint64_t> SettleInterruptedMerge(pool::PmemPool* pool, uint64_t source, uint64_t target);

}  // namespace braid::merge
