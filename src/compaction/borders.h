// Purpose: what keeps merges into one list apart that run side by side. A border is an entry as
// tall as can be: a delete with a number below that of any write, so that it stands behind all
// versions of its key and hides nothing. So no link of any layer leads from one side of it to the
// other: who is left of it changes links of entries there, which lead to it at most, and who is
// right of it changes its own links and those behind.
// Thread safety: one thread at a time. Invariant 1: borders are put in before merges begin that
// they keep apart, and taken out after all of these have ended; what a crash leaves of them any
// later merge of their keys drops, and so does a collection. Persistence: borders come in as copies
// do, by a table and a merge of their own (merger.h), and go by a merge that looks at their keys
// again. Source: braid's; sentinels of lists, as in the bounds of Harris's lists.
#pragma once

#include <string>
#include <vector>

#include "format/entry.h"
#include "format/manifest.h"
#include "index/skiplist.h"
#include "pmem/chunk_usage.h"
#include "pmem/pool.h"

namespace braid::compaction {

inline bool IsBorder(const format::EntryHeader& entry) noexcept {
  return entry.sequence() == format::kBorderSequence && entry.op() == format::EntryOp::kDelete;
}

/// Makes a table of a border behind each of `keys`, which ascend. Errors: OutOfSpace, also where a
/// key leaves its chunk no room for a border; then nothing is held. Cost: a chunk; two fences.
Result<format::TableRecord> WriteBorders(pmem::PmemPool* pool, pmem::ChunkUsage* usage,
                                         const std::vector<std::string>& keys, uint64_t table_id,
                                         uint32_t head);

/// Behind the versions of `key`; null: there is none, or damage was met.
const format::EntryHeader* FindBorder(const index::SkipList& list, std::string_view key,
                                      index::Damage* damage);

}  // namespace braid::compaction
