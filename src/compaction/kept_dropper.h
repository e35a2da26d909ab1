// Purpose: drops from L1 what merges have kept for views that are gone: old versions, and deletes.
// Thread safety: the compaction thread.
// Persistence: a part is dropped by a merge of a table of copies that is empty
// (MergeInput::revisited), and so survives a crash as any other merge does.
#pragma once

#include "compaction/merger.h"
#include "compaction/pass_over_l1.h"

namespace braid::compaction {

class KeptDropper {
 public:
  /// What is looked through, and outlives the dropper.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    TableIndexes* indexes;
    Merger* merger;
    const tier::Tier* tier;  // may be null
  };

  explicit KeptDropper(const Store& store) noexcept : store_(store) {}

  /// Looks at the next part of L1, and drops from it what no view needs. False when there is
  /// nothing to do. Errors end writes. Throws std::bad_alloc.
  Result<bool> Step(const Occasion& occasion);
  /// How many passes have begun.
  uint64_t passes() const noexcept { return pass_.begun(); }

 private:
  bool WantsPass(const Occasion& occasion);
  Result<bool> Part(const index::SkipList& list);

  const Store store_;
  PassOverL1 pass_;
};

}  // namespace braid::compaction
