// Purpose: the recipe of the default design: a log by the size of entries, DRAM B+-tree memtable,
// flush by links or copies, zipper merge with a redo log, DRAM index over L1, lookup cache
// (docs/internals/designs/).
// Thread safety: none needed.
// Persistence: that of its parts.
#include "design/design.h"
#include "lsm/lsm_engine.h"

namespace braid::design {

namespace {
constexpr uint64_t kLeastForLookups = 64 << 20;
}  // namespace

const Design kBraid = {
    "braid",
    "small entries copied in order at the flush, large ones linked; DRAM B+-tree memtable, zipper "
    "merge with redo log, DRAM index",
    Capabilities::All(),
    [](Options* options) {
      // A group that is written back later has nothing to copy.
      Choose(&options->log.kind,
             options->flush.group_tables > 1 ? LogKind::kIndexUnified : LogKind::kBySize);
      Choose(&options->memtable.kind, MemTableKind::kBTree);
      Choose(&options->flush.group_tables, 1);
      Choose(&options->compaction.kind, MergeKind::kZipper);
      Choose(&options->compaction.persistence, MergePersistence::kRedoLog);
      // A bucket a record for as many small records as their index leaves room for. It can't give
      // way when memory is short, so a small budget is better spent on what can.
      Choose<uint64_t>(&options->cache.lookup_bytes, options->memory_budget_bytes < kLeastForLookups
                                                         ? 0
                                                         : options->memory_budget_bytes / 16);
      Choose<uint64_t>(&options->cache.second_chance_bytes, 0);
      // Persisting each pointer of copies that nobody asked for takes four fences an entry.
      if (*options->compaction.persistence == MergePersistence::kPointer) {
        Choose(&options->compaction.recluster_share, 0.0);
      }
      Choose(&options->cache.index, *options->cache.second_chance_bytes == 0);
    },
    OpenEngine<lsm::LsmEngine>,
};

}  // namespace braid::design
