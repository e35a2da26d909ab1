// Purpose: the flush of a memtable whose log is write-ahead: the versions that are needed are
// copied in key order, with towers, into chunks of the kind kCopied, and linked there; then the log
// can go. So entries that follow each other lie side by side.
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
//   5. Until all copies are written nothing else has changed.
// Persistence: nothing is committed here. Copies, links, marks, chunk states and the head are
// flushed and fenced when Run returns. The manifest's commit makes the copies a table: from then on
// write-ahead chunks up to its id are garbage. Before it a crash frees the copies and replays the
// log, whatever its obsolete marks say.
// Source: the write-ahead variant that ListDB 6.8.2 compares index-unified logging with.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "flush/link_flush.h"
#include "level/copied_entries.h"

namespace braid::flush {

class CopyFlush {
 public:
  /// `lookup`: filled with each key's newest entry; may be null.
  CopyFlush(pool::PmemPool* pool, pool::ChunkUsage* usage, cache::LookupCache* lookup,
            uint64_t table_id)
      : pool_(pool),
        lookup_(lookup),
        copies_(pool, usage, table_id, format::ChunkKind::kCopied, pool::AllocationClass::kFlush),
        charge_(&pool->memory_users()) {}
  CopyFlush(const CopyFlush&) = delete;
  CopyFlush& operator=(const CopyFlush&) = delete;

  /// What becomes of the log.
  enum class Log : uint8_t {
    kGoes,     ///< as a whole: all that is needed of it is copied
    kMayStay,  ///< where entries have values in extents, or lie in a log of another kind
  };

  /// As LinkFlush::Run, and leaves `tree` with copies. Older versions that no view needs are not
  /// looked at where the log goes. Errors: OutOfSpace, after which nothing has
  /// changed and Run may be called again on a new object; Corruption. After success the caller
  /// calls PmemPool::EndCopies when it retires the log.
  Result<FlushResult> Run(index::EntryIndex* tree, const index::LiveViews& views,
                          uint64_t head_offset, Log log);

 private:
  Status CopyAll(const index::EntryIndex& tree, const index::LiveViews& views, Log log);
  Status CopyVersions(uint64_t newest, const index::LiveViews& views, Log log);
  Status Place(const format::EntryHeader& entry, uint64_t offset, bool is_newest);
  void Drop(const format::EntryHeader& entry, uint64_t offset);
  bool IsCopied(const format::EntryHeader& entry, uint64_t offset) const;
  void MarkDropped();
  void ShowCopies(index::EntryIndex* tree);
  void FillLookups();
  void KeepChunks();

  pool::PmemPool* pool_;
  cache::LookupCache* lookup_;
  level::CopiedEntries copies_;
  FlushResult result_;
  base::MemoryCharge charge_;               // for what follows
  std::vector<index::Replacement> newest_;  // of each key, in order; of one that stays: from == to
  std::vector<uint64_t> hashes_;            // of their keys, where there is a lookup cache
  std::vector<uint64_t> dropped_;           // that are marked obsolete
  std::unordered_set<uint64_t> kept_chunks_;  // write-ahead chunks with entries that stay
};

}  // namespace braid::flush
