// Purpose: the flush of a memtable whose log is write-ahead: the versions that are needed are
// copied in key order, with towers, into chunks of the kind kCopied, and linked there; then the log
// can go.
// Thread safety: one flush at a time for a memtable; its readers go on, through the tree.
// Invariants:
//   1. A record of a write-ahead chunk is never changed except for its obsolete mark, so that
//      readers positioned on it walk its versions as before.
//   2. The tree is given a copy only when the whole list is linked, so that all its versions follow
//      it.
//   3. A record whose value lies in an extent is not copied, since the extent names its owner for
//      good: it is linked where it is, its chunk becomes one of the kind kLog, and all else in that
//      chunk is marked obsolete, after the tree was updated. Entries of other logs (a recovered
//      memtable may have both kinds) are linked where they are, too.
//   4. A copy keeps the sequence number of its original.
// Persistence: nothing is committed here. Copies, links, marks, chunk states and the head are
// flushed and fenced when Run returns. The manifest's commit makes the copies a table: from then on
// write-ahead chunks up to its id are garbage. Before it a crash frees the copies and replays the
// log, whatever its obsolete marks say.
// Source: the write-ahead variant that ListDB 6.8.2 compares index-unified logging with.
#pragma once

#include <unordered_set>

#include "flush/link_flush.h"
#include "log/index_unified_log.h"

namespace braid::flush {

class CopyFlush {
 public:
  /// `lookup`: filled with each key's newest entry; may be null.
  CopyFlush(pool::PmemPool* pool, pool::ChunkUsage* usage, cache::LookupCache* lookup,
            uint64_t table_id)
      : pool_(pool),
        usage_(usage),
        lookup_(lookup),
        copies_(pool, table_id, pool->regions(), format::ChunkKind::kCopied),
        charge_(&pool->memory_users()) {}

  /// As LinkFlush::Run, and leaves `tree` with copies. Errors: OutOfSpace, after which nothing has
  /// changed and Run may be called again on a new object; Corruption.
  Result<FlushResult> Run(index::EntryIndex* tree, const index::LiveViews& views,
                          uint64_t head_offset);

 private:
  Status CopyAll(const index::EntryIndex& tree, const index::LiveViews& views);
  Status CopyVersions(uint64_t newest, const index::LiveViews& views);
  Status CopyEntry(const format::EntryHeader& entry, uint64_t offset);
  void GiveBack();
  void ShowCopies(index::EntryIndex* tree);
  void KeepChunks();

  pool::PmemPool* pool_;
  pool::ChunkUsage* usage_;
  cache::LookupCache* lookup_;
  log::IndexUnifiedLog copies_;
  base::MemoryCharge charge_;  // for what follows
  Copies copy_of_;
  std::vector<uint64_t> newest_;              // of each key that has copies, the newest one's copy
  std::unordered_set<uint64_t> kept_chunks_;  // write-ahead chunks with entries that stay
};

}  // namespace braid::flush
