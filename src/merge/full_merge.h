// Purpose: merges tables, and the list below them, into a new list: the newest version of each key
// is copied, in the order of keys, and all else is left behind. Where the tables have about as many
// entries as the list this is less work than to link them into it, and what it writes is in order.
// Thread safety: one thread; nobody sees the new list yet, and what is read does not change.
// Invariants:
//   1. Only puts that stand alone are copied, and deletes go, since nothing is below: a merge that
//      meets another entry is given up.
//   2. A copy has the number of its original.
// Persistence: nothing is committed here: chunks of the kind kCollected, which an open frees unless
// the manifest says that they belong to the store. The list and its head are durable when Run
// returns.
// Source: the compactions of LevelDB and RocksDB; the prototype of docs/internals/decisions/0032.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/memory_users.h"
#include "index/tree_merge.h"
#include "level/copied_entries.h"

namespace braid::merge {

class FullMerge {
 public:
  FullMerge(pool::PmemPool* pool, pool::ChunkUsage* usage, uint64_t table_id)
      : pool_(pool),
        copies_(pool, usage, table_id, format::ChunkKind::kCollected,
                pool::AllocationClass::kWrite),
        charge_(&pool->memory_users()) {}
  FullMerge(const FullMerge&) = delete;
  FullMerge& operator=(const FullMerge&) = delete;

  /// Entries between two calls of `pause`, at most.
  static constexpr size_t kPiece = 192;

  /// Reads `sources`, newest first, each a tree that knows its keys, over `entries` in all, and
  /// writes a list behind the head at `head_offset`. `pause`: now and then; true: stop. Errors,
  /// after which the caller calls GiveBack: OutOfSpace; Aborted when it was stopped; NotSupported
  /// where an entry can't be copied, or none is left; Corruption. Throws std::bad_alloc. Cost: a
  /// copy and an insert into a tree for each key; of what is hidden the entries are not read.
  Status Run(std::vector<index::TreeSource> sources, uint64_t entries, uint64_t head_offset,
             const std::function<bool()>& pause);
  void GiveBack() { copies_.GiveBack(); }

  /// The newest entry of each key, in their order, and its copy; 0: it is a delete, which has none.
  const std::vector<index::Replacement>& newest() const noexcept { return newest_; }
  /// Entries, hidden ones included.
  uint64_t read() const noexcept { return read_; }
  /// Over the new list: all of it.
  const std::shared_ptr<index::EntryIndex>& tree() const noexcept { return tree_; }
  uint64_t entries() const noexcept { return entries_; }

 private:
  Status CopyAll(std::vector<index::TreeSource> sources, const std::function<bool()>& pause);
  Status Copy(uint64_t offset);
  void Index();

  pool::PmemPool* const pool_;
  level::CopiedEntries copies_;
  base::MemoryCharge charge_;  // for what follows
  std::vector<index::Replacement> newest_;
  std::shared_ptr<index::EntryIndex> tree_;
  uint64_t read_ = 0;
  uint64_t entries_ = 0;
  uint64_t likely_bytes_ = 64;  // of an entry
};

}  // namespace braid::merge
