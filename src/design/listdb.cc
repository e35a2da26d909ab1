// Purpose: the recipe of ListDB to the letter, as far as its text says and is right: skip-list
// memtable, index-unified log, lazy checkpoints in groups, braided lists, zipper merge that
// persists each pointer, lookup cache and second-chance cache, no rebuilt index.
// docs/internals/designs/ says where it differs and why.
// Thread safety: none needed.
// Persistence: that of its parts.
// Source: Kim, chapter VI (ListDB).
#include "design/design.h"
#include "lsm/lsm_engine.h"

namespace braid::design {

const Design kListDb = {
    "listdb",
    "ListDB: index-unified log, DRAM skip list, lazy checkpoints, braided zipper, lookup caches",
    Capabilities::All(),
    [](Options* options) {
      Choose(&options->log.kind, LogKind::kIndexUnified);
      Choose(&options->memtable.kind, MemTableKind::kSkipList);
      Choose(&options->flush.group_tables, options->log.kind == LogKind::kIndexUnified ? 4u : 1u);
      Choose(&options->compaction.kind, MergeKind::kZipper);
      Choose(&options->compaction.persistence, MergePersistence::kPointer);
      Choose(&options->compaction.recluster_share, 0.0);
      Choose(&options->cache.index, false);
      // The paper's 979 MB of 1 GB for the hash table and 45 MB for the list (6.8.2.2), of what the
      // budget leaves beside four memtables.
      const uint64_t caches = options->memory_budget_bytes / 2;
      Choose(&options->cache.lookup_bytes, caches - caches / 23);
      Choose(&options->cache.second_chance_bytes, caches / 23);
    },
    OpenEngine<lsm::LsmEngine>,
};

}  // namespace braid::design
