// Purpose: the recipe of NoveLSM, as far as its text says and is right: a DRAM memtable with a
// write-ahead log, beside it a persistent memtable without one, which writes go to while the former
// is flushed; below them a list in persistent memory that memtables are merged into, and sorted
// copies of what that one has outgrown. memtable.kind=skiplist is the variant whose persistent
// memtable is only merged into ("immutable").
// docs/internals/designs/ says where it differs and why.
// Thread safety: none needed.
// Persistence: that of its parts.
// Source: Kannan et al., Redesigning LSMs for nonvolatile memory with NoveLSM (USENIX ATC 2018).
#include "design/design.h"
#include "lsm/lsm_engine.h"

namespace braid::design {

const Design kNoveLsm = {
    "novelsm",
    "NoveLSM: a DRAM memtable with a log and a mutable persistent one without, in turn",
    Capabilities::All(),
    [](Options* options) {
      Choose(&options->log.kind, LogKind::kWriteAhead);
      Choose(&options->memtable.kind, MemTableKind::kAlternating);
      Choose(&options->flush.group_tables, 1u);
      Choose(&options->compaction.kind, MergeKind::kZipper);
      Choose(&options->compaction.persistence, MergePersistence::kRedoLog);
      Choose(&options->compaction.recluster_share, 0.0);
      // 4 GB beside 64 MB of DRAM (5.3); here what an open after a crash reads back is bounded.
      if (options->levels.persistent_bytes == 0) {
        options->levels.persistent_bytes = 4 * options->memtable.bytes;
      }
      // The immutable persistent memtable; below it levels of copies, as the paper has SSTables.
      if (options->levels.l1_bytes == 0) options->levels.l1_bytes = 16 * options->memtable.bytes;
      Choose(&options->levels.growth, 10u);
      Choose(&options->levels.per_group, 1u);
      Choose(&options->cache.index, false);
      Choose<uint64_t>(&options->cache.lookup_bytes, 0);
      Choose<uint64_t>(&options->cache.second_chance_bytes, 0);
    },
    OpenEngine<lsm::LsmEngine>,
    true,
};

}  // namespace braid::design
