// Purpose: turns immutable memtables into tables of L0, and makes groups of them durable
// (flush.group_tables above 1): readers use a table as soon as it is linked, the manifest
// learns of it with its group.
// Thread safety: any thread. Two locks: one is held by a flush, the other by the write-back of a
// group; in this order, and both before that of the VersionSet.
// Invariants:
//   1. Memtables are flushed in the order of their ids.
//   2. What only a flush made superfluous is given back after its table's commit.
// Persistence: flush/link_flush.h, flush/copy_flush.h, flush/group_write_back.h; on page-cache
// media what a table names is on the medium before the commit that names it.
// Source: ListDB 6.3.2, Algorithm 5 (flush), and 6.3.4 (checkpoints of groups).
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>

#include "base/mutex.h"
#include "compaction/space_accounts.h"
#include "flush/group_write_back.h"
#include "flush/link_flush.h"
#include "level/memory_budget.h"
#include "level/version_set.h"
#include "level/view_registry.h"

namespace braid::flush {

class Flusher {
 public:
  /// What is flushed, and outlives the flusher.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    space::Reclaimer* reclaimer;
    compaction::SpaceAccounts* accounts;
    const level::MemoryBudget* budget;
    cache::LookupCache* lookup_cache;       // may be null
    const std::atomic<uint64_t>* sequence;  // last one drawn
  };
  using Lock = base::MutexHold;

  explicit Flusher(const Store& store) noexcept : store_(store), pool_(*store.pool) {}

  /// While it is held, nothing is flushed but by who holds it.
  Lock HoldFlushes() { return Lock(flush_mutex_); }
  /// While it is held, nothing is committed with its group.
  Lock HoldGroups() { return Lock(group_mutex_); }

  struct Outcome {
    enum class State : uint8_t {
      kNothing,  // there is nothing to flush, or a merge has to free a place for it first
      kFlushed,
      kNoRoom,  // and nothing has changed: `reason`
    };
    State state = State::kNothing;
    uint64_t entries = 0;        // of the memtable
    uint64_t table_entries = 0;  // that its table has: not those that no view needs
    Status reason;
  };
  /// Flushes the oldest immutable memtable. Errors end writes.
  Result<Outcome> FlushOldest(const Lock& flushes_held);

  /// Whether as many tables wait to be written back as are committed together.
  bool GroupIsComplete() const;
  /// Makes the tables that wait durable: writes them back and commits them together. Errors end
  /// writes.
  Status WriteBackGroup(const Lock& groups_held);

 private:
  Result<uint64_t> FlushTable(memtable::MemTable* memtable, uint32_t head);
  Result<flush::FlushResult> LinkOrCopy(const memtable::MemTable& memtable, uint32_t head);
  Status Show(memtable::MemTable* memtable, std::list<level::WaitingTable>* table, bool is_plain);
  Status CommitWaiting();
  /// Whether the memtable's table waits for its group's write-back.
  bool Waits(const memtable::MemTable& memtable) const noexcept {
    return store_.options->flush.group_tables > 1 && !memtable.flush_source().is_copied;
  }

  const Store store_;
  pool::PmemPool& pool_;
  base::Mutex flush_mutex_;
  base::Mutex group_mutex_;
};

}  // namespace braid::flush
