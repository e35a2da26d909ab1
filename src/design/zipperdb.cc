// Purpose: the recipe of ZipperDB, as far as its text says and is right: a write-ahead log in the
// pool, one persistent list a level, zipper merges that persist each pointer within a group of two
// levels, copies in the order of their keys from group to group.
// docs/internals/designs/ says where it differs and why.
// Thread safety: none needed.
// Persistence: that of its parts.
// Source: Kim, chapter V (ZipperDB).
#include "design/design.h"
#include "lsm/lsm_engine.h"

namespace braid::design {

const Design kZipperDb = {
    "zipperdb",
    "ZipperDB: write-ahead log, one list a level, zipper within groups of levels, copies between",
    Capabilities::All(),
    [](Options* options) {
      Choose(&options->log.kind, LogKind::kWriteAhead);
      Choose(&options->memtable.kind, MemTableKind::kSkipList);
      Choose(&options->flush.group_tables, 1u);
      Choose(&options->compaction.kind, MergeKind::kZipper);
      Choose(&options->compaction.persistence, MergePersistence::kPointer);
      Choose(&options->compaction.recluster_share, 0.0);
      // 1 GB of L0 beside memtables of 64 MB (5.2.2.2).
      if (options->levels.l1_bytes == 0) options->levels.l1_bytes = 16 * options->memtable.bytes;
      Choose(&options->levels.growth, 10u);
      Choose(&options->levels.per_group, 2u);
      Choose(&options->cache.index, false);
      Choose<uint64_t>(&options->cache.lookup_bytes, 0);
      Choose<uint64_t>(&options->cache.second_chance_bytes, 0);
    },
    OpenEngine<lsm::LsmEngine>,
    true,
};

}  // namespace braid::design
