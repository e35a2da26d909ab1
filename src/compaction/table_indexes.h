// Purpose: the indexes in DRAM over tables: the one over L1 (or the second-chance cache, where the
// recipe says so), those over tables that the open has found in L0, and how many of them the memory
// budget has room for.
// Thread safety: the compaction thread, except AllAreMade. Lookups run concurrently, through the
// tables (level::PmemTable::set_tree).
// Invariants:
//   1. A table is shown the tree only when it is complete.
//   2. A tree that a table gives up is freed when its readers have left.
//   3. While an index over L1 is rebuilt, merges keep both up to date.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/dram_index.h"
#include "cache/second_chance_cache.h"
#include "level/memory_budget.h"
#include "level/version_set.h"
#include "merge/merge_job.h"
#include "space/reclaimer.h"

namespace braid::compaction {

class TableIndexes {
 public:
  /// What they belong to, and outlives them.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    level::VersionSet* versions;
    space::Reclaimer* reclaimer;
    const level::MemoryBudget* budget;
  };

  explicit TableIndexes(const Store& store);

  /// For the tables that the open has found, before others know them. Errors: L1 is damaged.
  Status Begin(const level::Version& found, bool merge_is_open);

  /// Whether a table that lookups go through is still to get its index.
  bool LackSome() const noexcept;
  /// The same, any thread.
  bool AllAreMade() const noexcept { return found_left_.load(std::memory_order_relaxed) == 0; }
  /// Indexes the next part of L1, then of the tables that the open found in L0. False when there is
  /// nothing left to index. Errors: a table is damaged. Throws std::bad_alloc, as all steps do.
  Result<bool> BuildStep();
  /// Rebuilds the index over L1, a part at a time, where the budget has room for more entries than
  /// it covers, as after deletes, or where most of its memory is free. False when there is nothing
  /// to do.
  Result<bool> RemakeStep();
  /// Keeps DRAM within the budget: first the trees of L0 go, oldest first, then the index over L1
  /// is rebuilt over fewer entries. Between batches of a merge, too.
  void Fit();
  /// The second-chance cache, where there is one, back to its size.
  void FitCache() {
    if (cache_ != nullptr) FitCache(false);
  }
  /// L1 gets entries that its index does not know.
  void StartAnew(level::PmemTable* l1);
  /// L1, which was empty, has become the list of `source`; its index becomes that of `source`, if
  /// that has one.
  void TakeOver(level::PmemTable* l1, const level::PmemTable& source);

  /// L1 becomes this list, of which `tree` has each key, with one version, a put.
  void Replace(level::PmemTable* l1, std::shared_ptr<index::EntryIndex> tree);

  /// What is kept over L1, or null; steps replace it.
  index::EntryIndex* tree() const noexcept;
  /// The same, for walks along L1: the second-chance cache does not have all.
  index::EntryIndex* walk_tree() const noexcept {
    return l1_ != nullptr ? l1_->tree().get() : nullptr;
  }
  /// What merges keep up to date.
  merge::TargetTree MergeTarget() const noexcept;
  /// Whether the index over L1 covers a part of its entries only, so that it fits.
  bool IsSparse() const noexcept { return l1_ != nullptr && l1_->min_height() > 1; }
  bool HasIndexOverL1() const noexcept { return l1_ != nullptr; }
  /// Whether L1 was seen to link what the manifest counts, or was written by this session: then its
  /// tree has all that it should have. False where merges began before it was counted.
  bool IsL1AsRecorded() const noexcept { return l1_is_as_recorded_; }
  bool HasCache() const noexcept { return cache_ != nullptr; }
  /// Entries that only views keep, of those that the index over L1 was built from; nothing while it
  /// is not complete.
  std::optional<uint64_t> kept() const noexcept;
  /// L1 changes: what was counted of it so far is of no use.
  void ForgetCount() noexcept {
    if (l1_ != nullptr) l1_->ForgetCount();
  }

 private:
  /// Of the index given up last.
  struct GivenUp {
    uint64_t bytes = 0;    // that it took
    uint64_t entries = 1;  // of L1 then, and one
    uint32_t height = 0;   // from which on it had them
  };

  Status CheckCount(const level::PmemTable& table, uint64_t counted) const;
  Result<bool> FoundTableStep();
  std::shared_ptr<level::PmemTable> NextFound();
  uint32_t WantedMinHeight() const;
  void FitCache(bool at_least_once);
  void ReplaceL1(level::PmemTable* l1, std::unique_ptr<cache::DramIndex> index);
  void GiveUpL1(const level::ReadState& state);

  const Store store_;
  std::unique_ptr<cache::DramIndex> l1_;             // may be null
  std::unique_ptr<cache::DramIndex> next_l1_;        // takes its place when it is complete
  std::unique_ptr<cache::SecondChanceCache> cache_;  // never both
  GivenUp given_up_;
  bool l1_is_as_recorded_ = false;
  std::vector<uint64_t> found_;                    // tables the open found, to be indexed
  std::unique_ptr<cache::DramIndex> found_index_;  // of the last of them
  std::atomic<uint64_t> found_left_{0};            // size of found_
};

}  // namespace braid::compaction
