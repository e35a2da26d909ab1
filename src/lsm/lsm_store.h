// Purpose: the parts of one LSM store, wired to each other: what an engine forwards to, and what
// the scheduler gives work to.
// Thread safety: that of each part.
// Locks, in the order they may be taken: that of loads, KeptRange::Own, those of the Scheduler
// (inline, merges), those of Flusher, Reclaimer::Hold, those of Writer, LargeValues::Hold,
// BulkLoader::HoldChunks, that of the VersionSet, and then the small ones that are held for a
// moment (WriteErrors, DrainRequests, the list of jobs). Inside an EpochGuard, block only on the
// locks above.
// Invariants:
//   1. A part uses those above it, and outlives none of them.
// Persistence: none of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cache/lookup_cache.h"
#include "compaction/collector.h"
#include "compaction/kept_dropper.h"
#include "compaction/list_rewriter.h"
#include "compaction/lookup_filler.h"
#include "compaction/merger.h"
#include "compaction/overwrites.h"
#include "compaction/reclusterer.h"
#include "compaction/room_maker.h"
#include "compaction/space_accounts.h"
#include "compaction/table_indexes.h"
#include "compaction/tier_filler.h"
#include "engine/background_limit.h"
#include "engine/call_gate.h"
#include "engine/write_errors.h"
#include "flush/flusher.h"
#include "level/memory_budget.h"
#include "level/version_set.h"
#include "level/view_registry.h"
#include "lsm/bulk_loader.h"
#include "lsm/reader_grants.h"
#include "memtable/mem_table.h"
#include "read/reader.h"
#include "space/large_values.h"
#include "space/reclaimer.h"
#include "space/trimmer.h"
#include "tier/tier.h"
#include "write/range_deleter.h"
#include "write/write_controller.h"
#include "write/writer.h"

namespace braid::lsm {

struct LsmStore {
  /// `options` are complete: a design has chosen all parts. The hosts may be made later than this.
  /// `opened_tier` may be null.
  LsmStore(const Options& chosen, std::unique_ptr<pool::PmemPool> opened,
           std::unique_ptr<tier::Store> opened_tier,
           std::unique_ptr<level::MemoryBudget::Share> share, write::Writer::Host* write_host,
           BulkLoader::Host* load_host);
  LsmStore(const LsmStore&) = delete;
  LsmStore& operator=(const LsmStore&) = delete;

  /// False: there was no memory for what is as large as the pool may grow.
  bool ok() const noexcept { return usage.ok() && (lookup_cache == nullptr || lookup_cache->ok()); }
  /// Of the kind that is to be written to next. `before`: whose place it takes, the active one;
  /// null: nobody's. Throws std::bad_alloc.
  std::shared_ptr<memtable::MemTable> NewMemTable(uint64_t id, const memtable::MemTable* before);
  /// Whether writers wait when the active memtable is full, since as many as there may be wait for
  /// their flush.
  bool WaitsForFlush(const level::ReadState& state) const noexcept;
  bool HoldsWritersUp(const level::ReadState& state) const noexcept {
    return budget.IsFull(*state.active) && WaitsForFlush(state);
  }
  /// Whether levels are of several lists.
  bool Rewrites() const noexcept { return *options.compaction.kind == MergeKind::kRewrite; }

  const Options options;
  const std::unique_ptr<pool::PmemPool> pool;
  const std::unique_ptr<tier::Tier> tier;                  // may be null
  const std::unique_ptr<cache::LookupCache> lookup_cache;  // may be null
  const level::MemoryBudget budget;
  pool::ChunkUsage usage;
  write::WriteController controller;
  const std::shared_ptr<level::ViewRegistry> views;
  std::atomic<uint32_t> jobs_asleep{0};  // that rest until they are woken
  std::atomic<bool> stop_merges{false};
  engine::CallGate calls;  // that work on the pool outside of a read section
  space::Reclaimer reclaimer;
  space::Trimmer trimmer{pool.get()};
  level::VersionSet versions;
  alignas(64) std::atomic<uint64_t> sequence{0};  // last one drawn
  const memtable::MemTable::Store memtables;
  std::atomic<bool> closed{false};
  engine::WriterPace pace{controller.stalls()};
  engine::BackgroundLimit limit{&pool->ops(), controller.stalls(), &closed, &pace};
  engine::WriteErrors errors{pool.get(), &closed};
  space::LargeValues large_values;
  read::Reader reader;
  compaction::TableIndexes indexes;
  compaction::Overwrites overwrites;
  compaction::LookupFiller lookup_filler;
  compaction::SpaceAccounts accounts;
  flush::Flusher flusher;
  compaction::FullMerger full_merger;
  compaction::Merger merger;
  compaction::Reclusterer reclusterer;
  compaction::KeptDropper dropper;
  compaction::Collector collector;
  compaction::ListRewriter rewriter;
  compaction::TierFiller tier_filler;
  compaction::RoomMaker room_maker;
  write::Writer writer;
  write::RangeDeleter range_deleter;
  BulkLoader bulk_loader;
  ReaderGrants readers;

 private:
  bool IsNextPersistent(const memtable::MemTable* before) const;
};

}  // namespace braid::lsm
