// Purpose: the recipe of TLSM, as far as its text says and is right: a DRAM memtable with a
// write-ahead log, a flush that copies keys and values once and in order, levels of lists of
// bounded size, which compactions replace by new ones of nodes that refer to values.
// levels.reference_bytes=1T is the variant that copies values (PS), log.kind=index-unified the one
// without a buffer that a flush fills (PS+BAC).
// docs/internals/designs/ says where it differs and why.
// Thread safety: none needed.
// Persistence: that of its parts.
// Source: TLSM, sections III and IV.
#include "design/design.h"
#include "lsm/lsm_engine.h"

namespace braid::design {

const Design kTlsm = {
    "tlsm",
    "TLSM: levels of lists of bounded size, compacted into nodes that refer to values",
    Capabilities::All(),
    [](Options* options) {
      Choose(&options->log.kind, LogKind::kWriteAhead);
      Choose(&options->memtable.kind, MemTableKind::kSkipList);
      Choose(&options->flush.group_tables, 1u);
      Choose(&options->compaction.kind, MergeKind::kRewrite);
      Choose(&options->compaction.persistence, MergePersistence::kRedoLog);
      Choose(&options->compaction.recluster_share, 0.0);
      // LevelDB's: 10 MB and 2 MB beside a memtable of 4 MB.
      if (options->levels.l1_bytes == 0) options->levels.l1_bytes = 4 * options->memtable.bytes;
      Choose(&options->levels.growth, 10u);
      Choose(&options->levels.per_group, 1u);
      if (*options->compaction.kind == MergeKind::kRewrite) {
        if (options->levels.list_bytes == 0)
          options->levels.list_bytes = options->memtable.bytes / 2;
        if (options->levels.reference_bytes == 0) options->levels.reference_bytes = 64;
      }
      Choose(&options->cache.index, false);
      Choose<uint64_t>(&options->cache.lookup_bytes, 0);
      Choose<uint64_t>(&options->cache.second_chance_bytes, 0);
    },
    OpenEngine<lsm::LsmEngine>,
    true,
};

}  // namespace braid::design
