// Purpose: rewrites L1 in key order in memory, part by part, while there are no writes or when a
// caller waits for all work.
// Thread safety: the compaction thread, except reclustered_entries.
// Invariants, persistence: those of merges of copies (merger.h, compaction/garbage_collection.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "compaction/merger.h"
#include "compaction/pass_over_l1.h"

namespace braid::compaction {

class Reclusterer {
 public:
  /// What is reclustered, and outlives the reclusterer.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    TableIndexes* indexes;
    Merger* merger;
  };

  explicit Reclusterer(const Store& store) noexcept : store_(store) {}

  /// Surveys the next part of L1, and copies it into the order of its keys if it is scattered.
  /// False when there is nothing to do. Errors end writes. Throws std::bad_alloc.
  Result<bool> Step(const Occasion& occasion);
  /// How many passes have begun.
  uint64_t passes() const noexcept { return pass_.begun(); }
  /// Any thread.
  uint64_t reclustered_entries() const noexcept {
    return reclustered_.load(std::memory_order_relaxed);
  }

 private:
  bool WantsPass(const level::PmemTable& l1, const Occasion& occasion) const;
  Result<bool> Part(const index::SkipList& list);

  const Store store_;
  PassOverL1 pass_;
  std::optional<uint64_t> merged_then_;  // entries, when the last pass began
  std::atomic<uint64_t> reclustered_{0};
};

}  // namespace braid::compaction
