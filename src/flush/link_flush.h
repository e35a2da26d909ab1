// Purpose: turns a sealed memtable into an L0 table by linking its log entries into a skip list, in
// place: no key or value is copied.
// Thread safety: one flush at a time for a memtable; its readers go on, through the tree.
// Invariant 1: at every store the bottom link of an entry leads to an older version of its key, to
// a later key, or to the end, so that readers of the memtable never miss a version they may see.
// Invariant 2: versions that no live view sees are left out and marked dead.
// Persistence: nothing is committed here. All links and the head are flushed and fenced before Run
// returns; the manifest's commit makes them a table. Before that a crash replays the log.
// Source: ListDB 6.3.2, Algorithm 5. Deviation: links are written back at once, in one pass and
// with one fence, so that L0 is never rebuilt (docs/decisions/0004).
#pragma once

#include <cstdint>
#include <vector>

#include "braid/status.h"
#include "cache/lookup_cache.h"
#include "index/entry_tree.h"
#include "index/retention.h"
#include "pmem/chunk_usage.h"

namespace braid::flush {

struct FlushResult {
  uint64_t entries = 0;  // linked
  uint64_t max_sequence = 0;
  std::vector<uint64_t> dead_extents;  // of versions left out
};

class LinkFlush {
 public:
  /// `lookup`: is told each key's newest entry; may be null.
  LinkFlush(pmem::PmemPool* pool, pmem::ChunkUsage* usage, cache::LookupCache* lookup = nullptr)
      : pool_(pool), usage_(usage), lookup_(lookup) {}

  /// Links everything in `tree` behind the head at `head_offset`. The tree gets no more inserts.
  Result<FlushResult> Run(const index::EntryIndex& tree, const index::LiveViews& views,
                          uint64_t head_offset);

 private:
  Status LinkVersions(uint64_t newest, const index::LiveViews& views);
  void LinkEntry(format::EntryHeader* entry);
  void Drop(format::EntryHeader* entry);
  void Close();

  pmem::PmemPool* pool_;
  pmem::ChunkUsage* usage_;
  cache::LookupCache* lookup_;
  FlushResult result_;
  uint64_t* last_[format::kMaxHeight] = {};  // the link of each layer that waits for its target
  uint64_t head_[format::kMaxHeight] = {};
  format::EntryHeader* unflushed_ = nullptr;
};

}  // namespace braid::flush
