// Purpose: the entries that recovery has read from logs, ordered and linked as in a memtable: an
// index from keys to their newest entries, which lead to older versions.
// Thread safety: inserts of different keys may run concurrently.
// Invariants:
//   1. What it holds does not depend on the order of the inserts.
// Persistence: links are stored, not flushed: after another crash they are set again.
// Source: ListDB 6.7, Algorithm 8.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "index/entry_tree.h"

namespace braid::memtable {

class RecoveredEntries {
 public:
  RecoveredEntries(pool::PmemPool* pool, MemTableKind kind)
      : pool_(pool), tree_(index::NewEntryIndex(pool, kind)) {}

  /// Links the entry into the versions of its key by sequence number. In any order, but the oldest
  /// first costs no walk over versions. Throws std::bad_alloc.
  void Insert(uint64_t offset);
  /// Counts what was inserted.
  void Account(uint64_t bytes, uint64_t entries) noexcept {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    entries_.fetch_add(entries, std::memory_order_relaxed);
  }
  uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  uint64_t entries() const noexcept { return entries_.load(std::memory_order_relaxed); }
  const std::shared_ptr<index::EntryIndex>& tree() const noexcept { return tree_; }

 private:
  pool::PmemPool* pool_;
  std::shared_ptr<index::EntryIndex> tree_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> entries_{0};
};

}  // namespace braid::memtable
