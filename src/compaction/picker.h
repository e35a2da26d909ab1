// Purpose: decides what the background should do next. A pure function from facts to a plan, tested
// without threads. Thread safety: pure. Persistence: none.
#pragma once

#include <cstdint>

#include "braid/options.h"

namespace braid::compaction {

/// What the decision is made from.
struct StoreFacts {
  uint64_t l0_tables = 0;
  uint64_t free_chunks = 0;
  uint64_t total_chunks = 0;
  uint64_t sparse_chunks = 0;  // merged chunks with a share of live bytes below the limit
  bool may_grow = true;        // the pool is below its limit
  bool finish_all = false;     // somebody waits for all work to be done
};

enum class CompactionPlan : uint8_t { kNothing, kMergeOldest, kCollect };

/// Merging comes first: it is what makes garbage known. Collection starts when a quarter of the
/// pool's chunks is sparse, when a pool that can't grow runs low, or when all work is to be
/// finished.
inline CompactionPlan Pick(const StoreFacts& facts, const CompactionOptions& options) noexcept {
  const bool merges = options.kind != MergeKind::kNone;
  if (merges &&
      (facts.l0_tables >= options.l0_trigger || (facts.finish_all && facts.l0_tables > 0))) {
    return CompactionPlan::kMergeOldest;
  }
  if (facts.sparse_chunks == 0) return CompactionPlan::kNothing;
  const bool low = !facts.may_grow && facts.free_chunks < facts.total_chunks / 4;
  if (facts.finish_all || low || facts.sparse_chunks > facts.total_chunks / 4) {
    return CompactionPlan::kCollect;
  }
  return CompactionPlan::kNothing;
}

}  // namespace braid::compaction
