// Purpose: borders, the sentinels that separate concurrent merges into one skip list. A border is a
// delete of maximum height whose sequence number is lower than that of any write, so it follows all
// versions of its key and hides nothing. No link in any layer crosses it: the merge on its left
// changes only links of entries on the left, which lead to the border at most; the merge on its
// right changes the border's own links and those behind it.
// Thread safety: one thread at a time.
// Invariants:
//   1. Borders are inserted before the merges that they separate begin, and removed after all of
//      these have ended. A border that a crash leaves behind is dropped by the next merge of its
//      key, or by a collection.
// Persistence: borders are inserted as copies are, by a table and a merge of their own (merger.h),
// and removed by a merge that revisits their keys.
// Source: braid's.
#pragma once

#include <string>
#include <vector>

#include "format/entry.h"
#include "format/manifest.h"
#include "index/skiplist.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::merge {

static_assert(format::kBorderSequence < 1);  // with which writes begin: it stands behind them all

inline bool IsBorder(const format::EntryHeader& entry) noexcept {
  return entry.sequence() == format::kBorderSequence && entry.op() == format::EntryOp::kDelete;
}

/// Writes a table with one border for each of `keys`, which must ascend. Errors: OutOfSpace, also
/// when a key is too large for a border to fit in a chunk; then nothing is held. Cost: a chunk.
Result<format::TableRecord> WriteBorders(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                         const std::vector<std::string>& keys, uint64_t table_id,
                                         uint32_t head);

/// The border of `key`, or null when there is none or the list is damaged.
const format::EntryHeader* FindBorder(const index::SkipList& list, std::string_view key,
                                      index::Damage* damage);

}  // namespace braid::merge
