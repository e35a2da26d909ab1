// Purpose: the parts of one LSM store, wired to each other: what an engine forwards to, and what
// the scheduler gives work to. Thread safety: that of each part. Locks, in the order they may be
// taken: that of loads, KeptRange::Own, those of the Scheduler (inline, merges), those of Flusher,
// Reclaimer::Hold, those of Writer, LargeValues::Hold, BulkLoader::HoldChunks, that of the
// VersionSet, and then the small ones that are held for a moment (WriteErrors, FinishRequests, the
// list of jobs). Nothing is waited for inside an EpochGuard but these. Invariant: a part uses those
// above it, and outlives none of them. Persistence: none of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cache/lookup_cache.h"
#include "engine/arranger.h"
#include "engine/bulk_loader.h"
#include "engine/call_gate.h"
#include "engine/collector.h"
#include "engine/flusher.h"
#include "engine/kept_dropper.h"
#include "engine/large_values.h"
#include "engine/lookup_filler.h"
#include "engine/memory_budget.h"
#include "engine/merger.h"
#include "engine/range_deleter.h"
#include "engine/reader.h"
#include "engine/reader_grants.h"
#include "engine/room_maker.h"
#include "engine/space_accounts.h"
#include "engine/table_indexes.h"
#include "engine/version_set.h"
#include "engine/view_registry.h"
#include "engine/write_controller.h"
#include "engine/write_errors.h"
#include "engine/writer.h"
#include "memtable/dram_memtable.h"
#include "space/reclaimer.h"

namespace braid::engine {

struct LsmStore {
  /// `options` are complete: a design has chosen all parts. The hosts may be made later than this.
  LsmStore(const Options& chosen, std::unique_ptr<pmem::PmemPool> opened, Writer::Host* write_host,
           BulkLoader::Host* load_host);
  LsmStore(const LsmStore&) = delete;
  LsmStore& operator=(const LsmStore&) = delete;

  /// False: there was no memory for what is as large as the pool may grow.
  bool ok() const noexcept { return usage.ok() && (lookup_cache == nullptr || lookup_cache->ok()); }
  std::shared_ptr<MemTable> NewMemTable(uint64_t id) {
    return std::make_shared<memtable::DramMemTable>(memtables, id, writer.shards(), options);
  }
  bool failed() const noexcept { return errors.failed() || pool->failed(); }
  /// Why writes have ended.
  Status WhyEnded() const;

  const Options options;
  const std::unique_ptr<pmem::PmemPool> pool;
  const std::unique_ptr<cache::LookupCache> lookup_cache;  // may be null
  const MemoryBudget budget;
  pmem::ChunkUsage usage;
  WriteController controller;
  const std::shared_ptr<ViewRegistry> views;
  std::atomic<uint32_t> jobs_asleep{0};  // that rest until they are woken
  std::atomic<bool> stop_merges{false};
  CallGate calls;  // that work on the pool outside of a read section
  space::Reclaimer reclaimer;
  VersionSet versions;
  alignas(64) std::atomic<uint64_t> sequence{0};  // last one drawn
  const MemTable::Store memtables;
  std::atomic<bool> closed{false};
  WriteErrors errors;
  LargeValues large_values;
  Reader reader;
  TableIndexes indexes;
  LookupFiller lookup_filler;
  SpaceAccounts accounts;
  Flusher flusher;
  Merger merger;
  Arranger arranger;
  KeptDropper dropper;
  Collector collector;
  RoomMaker room_maker;
  Writer writer;
  RangeDeleter range_deleter;
  BulkLoader bulk_loader;
  ReaderGrants readers;
};

}  // namespace braid::engine
