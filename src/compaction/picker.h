// Purpose: decides what the background should do next. A pure function from facts to a plan, tested
// without threads. Thread safety: pure. Persistence: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "braid/options.h"

namespace braid::compaction {

/// What the decision is made from.
struct StoreFacts {
  uint64_t l0_tables = 0;
  uint64_t l0_found = 0;    // when the store was opened
  uint64_t l0_awaited = 0;  // of l0_tables, those whose merge somebody waits for
  bool unindexed = false;   // a table that lookups go through lacks the index it is to have
  uint64_t free_chunks = 0;
  uint64_t total_chunks = 0;
  uint64_t sparse_chunks = 0;  // merged chunks with a share of live bytes below the limit
  uint64_t used_bytes = 0;     // of chunks of tables
  uint64_t live_bytes = 0;     // in them
  uint64_t chunk_bytes = 0;
  bool may_grow = true;     // the pool is below its limit
  bool finish_all = false;  // somebody waits for all work to be done
};

enum class CompactionPlan : uint8_t { kNothing, kIndex, kMergeOldest, kCollect };

/// Chunks may take so much more than what lives in them.
inline constexpr double kMostSpace = 1.35;
/// And so many chunks: the newest tables leave some half full, and copying them together again
/// after each flush would be for nothing.
inline constexpr uint64_t kSlackChunks = 16;
/// Where they take more, chunks with a smaller share of live bytes than this are sparse, whatever
/// the options say. There are such chunks then: 1 / kMostSpace is less.
inline constexpr double kSparseWhenOver = 0.75;

inline bool TakesTooMuch(const StoreFacts& facts) noexcept {
  const uint64_t slack = std::min(facts.used_bytes, kSlackChunks * facts.chunk_bytes);
  return static_cast<double>(facts.used_bytes - slack) >
         kMostSpace * static_cast<double>(facts.live_bytes);
}

/// After an open, indexing comes first, since reads are slow until it is done, and a merge takes as
/// long as the indexes of many tables; but not while L0 grows beyond what the open found, and not
/// when somebody waits for merges. Merging comes before collection: it is what makes garbage known.
/// Collection starts when the chunks of tables take too much for what lives in them, when a pool
/// that can't grow runs low, or when all work is to be finished.
inline CompactionPlan Pick(const StoreFacts& facts, const CompactionOptions& options) noexcept {
  const bool merges = options.kind != MergeKind::kNone;
  const uint64_t calm = std::max<uint64_t>(facts.l0_found, options.l0_slowdown / 2);
  if (facts.unindexed && !facts.finish_all && (!merges || facts.l0_tables <= calm)) {
    return CompactionPlan::kIndex;
  }
  if (merges && (facts.l0_tables >= options.l0_trigger || facts.l0_awaited > 0)) {
    return CompactionPlan::kMergeOldest;
  }
  if (facts.sparse_chunks == 0) return CompactionPlan::kNothing;
  const bool low = !facts.may_grow && facts.free_chunks < facts.total_chunks / 4;
  if (facts.finish_all || low || TakesTooMuch(facts)) {
    return CompactionPlan::kCollect;
  }
  return CompactionPlan::kNothing;
}

}  // namespace braid::compaction
