// Purpose: carries out plans to merge a table of a level into the list below it (of lists:
// list_merges.cc); and merges, into the last level, tables of copies, which collecting,
// reclustering and making room put in the place of their originals, and of no entries at all, by
// which what views have kept is dropped.
// Thread safety: the compaction thread. Merges of one plan run side by side, on threads of the crew
// (merge_group.cc).
// Invariants:
//   1. The manifest names the merges that are open; other work begins when all of them have ended.
//      Those of a group begin and end in the order of their tables' ids, so that open merges are
//      always those of the oldest tables, and one id separates merged ones from the rest.
//   2. What a merge has marked obsolete is retired after its end is committed, so that a recovery
//      that replays its redo finds all of it, and when no concurrent merge is running.
//   3. A list that is merged into the next level has been sealed: the commit that begins the merge
//      gives its level an empty list. A list that was copied is in the manifest until all of its
//      entries are marked obsolete.
// Persistence: merge/merge_job.h; copies are durable before the commit that names them.
// Source: ListDB 6.5, Algorithm 6; between lists ZipperDB 5.1.2 and 5.1.3.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "compaction/crew.h"
#include "compaction/full_merger.h"
#include "compaction/overwrites.h"
#include "compaction/picker.h"
#include "compaction/space_accounts.h"
#include "compaction/table_indexes.h"
#include "engine/background_limit.h"
#include "engine/write_errors.h"
#include "level/memory_budget.h"
#include "level/version_set.h"
#include "level/view_registry.h"
#include "merge/kept_versions.h"
#include "merge/merge_job.h"
#include "tier/tier.h"

namespace braid::compaction {

class Merger {
 public:
  /// What is merged, and outlives the merger.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    space::Reclaimer* reclaimer;
    SpaceAccounts* accounts;
    TableIndexes* indexes;
    const Overwrites* overwrites;
    FullMerger* full_merger;
    const level::MemoryBudget* budget;
    const engine::WriteErrors* errors;
    engine::BackgroundLimit* limit;
    const tier::Tier* tier;         // may be null
    const std::atomic<bool>* stop;  // a merge that is under way ends with its batch, and stays open
  };
  /// Where a table of copies is made.
  struct CopySlot {
    uint32_t head = 0;
    uint64_t table_id = 0;
  };
  struct Merged {
    uint64_t tables = 1;
    uint64_t entries = 0;
    bool is_in_order = false;  // a load became L1 as it is, or a full merge has written it
  };
  /// What a merge of copies is about. Pointers may be null, and must outlive it.
  struct Copies {
    /// The copies and their originals, where they were made just now.
    const std::vector<index::Replacement>* moved = nullptr;
    /// There are no copies, but these keys are looked at again.
    const std::vector<uint64_t>* revisited = nullptr;
    /// Those keys go with all their versions: the tier has them.
    bool takes_out = false;
    /// Of a group of merges; those that are revisited go.
    bool are_borders = false;
  };

  explicit Merger(const Store& store) noexcept : store_(store), pool_(*store.pool) {}

  /// How far merges were that an open has found in the manifest. Before others know the store.
  void Begin(merge::OpenMerges open) noexcept {
    BRAID_DCHECK(open_.empty());
    open_ = std::move(open);
  }
  /// How far merges that are open have come. The caller keeps merges out while it reads.
  const merge::OpenMerges& open() const noexcept { return open_; }

  static StoreFacts::OpenMerge OpenMergeOf(const level::VersionSet::ConstLocked& versions);

  /// Who runs merges of one plan; else the caller's thread runs them in turn. Before any merge.
  void SetCrew(Crew* crew) noexcept {
    BRAID_DCHECK(crew != nullptr);
    crew_ = crew;
  }

  /// Merges the inputs of the plan, lists that are the oldest tables of their level, and committed;
  /// several ones side by side, where there is room for what that takes, else the oldest. Errors:
  /// Aborted, when it was stopped; all others end writes.
  Result<Merged> Merge(const Plan& plan);

  /// Marks the entries of a list obsolete that was copied, and forgets the list. False when there
  /// is none. Errors end writes.
  Result<bool> DropOriginals();

  /// For callers that begin a merge of copies. False when it can't begin now.
  bool TakeSlot(CopySlot* slot);
  /// Makes copies that have been written a table of the store, whose merge begins with the same
  /// commit. False when there are none, for want of space too. Errors end writes.
  Result<bool> CommitCopies(const CopySlot& slot, Result<format::TableRecord> copies);
  /// The same without copies: a merge that only looks at keys again (FinishCopies). What it drops
  /// is known to a recovery by its redo records, as what any other merge does. Errors end writes.
  Status CommitNoCopies(const CopySlot& slot);
  /// What TakeSlot gave is not used after all.
  void ReturnSlot(const CopySlot& slot);
  /// Finishes the merge of copies that has begun, even if it began before a crash. False when there
  /// is none, or it was stopped. Errors end writes.
  Result<bool> FinishCopies(const Copies& copies);
  Result<bool> FinishCopies() { return FinishCopies({}); }

  /// What only views keep in L1.
  merge::KeptVersions* kept() noexcept { return &kept_; }
  /// Tables that went without a merge, since newer ones had all of their keys. Any thread.
  uint64_t overwritten_tables() const noexcept {
    return overwritten_tables_.load(std::memory_order_relaxed);
  }
  /// Entries that the last merge which looked at keys again had no room to drop.
  uint64_t left_by_revisit() const noexcept { return left_by_revisit_; }

 private:
  struct Member;

  Result<Merged> MergeOldest(const Plan& plan);
  Result<Merged> MergeFully(const Plan& plan);
  Status EndMerge(merge::MergeJob* job, const std::shared_ptr<level::PmemTable>& source);
  // list_merges.cc
  Result<level::NextState> Seal(const level::VersionSet::Locked& versions, uint32_t level);
  Result<bool> CopyEntriesOf(const level::PmemTable& source, const CopySlot& slot);
  Status CopyList(const Plan& plan);
  // merge_group.cc
  Result<Merged> MergeGroup(const Plan& plan);
  Result<std::vector<Member>> MembersOf(const Plan& plan);
  Result<bool> BringBorders(const std::vector<std::string>& keys);
  Status TakeBordersOut(const std::vector<std::string>& keys);
  Status BeginGroup(const Plan& plan, std::vector<Member>* members);
  void RunGroup(std::vector<Member>* members);
  Result<Merged> EndGroup(std::vector<Member>* members);
  Status CopyInput(const Plan& plan);
  Status EmptyObsoleteInput(const Plan& plan);
  Status BeginCopied(const level::VersionSet::Locked& versions, const Plan& plan,
                     const level::PmemTable& source, const CopySlot& slot);
  std::vector<uint64_t> MarkCopiedOriginals(const level::PmemTable& source);
  bool CanAdopt(const level::ReadState& state, const level::PmemTable& source,
                const level::PmemTable& target) const;
  std::unique_ptr<merge::MergeJob> NewJob(const level::VersionSet::Locked& versions,
                                          std::shared_ptr<level::PmemTable> source,
                                          std::shared_ptr<level::PmemTable> target);
  std::function<merge::TargetTree()> FitTree(const merge::MergeJob& job);
  Status Start(merge::MergeJob* job, const std::function<merge::TargetTree()>& fit_tree);
  Status Run(merge::MergeJob* job, uint64_t source_id, bool counts = true);
  void Conclude(const merge::MergeJob& job, uint64_t source_id, bool ran, bool counts);
  Status MergeCopies(const Copies& what);

  const Store store_;
  pool::PmemPool& pool_;
  merge::OpenMerges open_;
  merge::KeptVersions kept_;
  uint64_t left_by_revisit_ = 0;
  std::atomic<uint64_t> overwritten_tables_{0};
  std::weak_ptr<level::PmemTable> originals_;  // the list that was copied, while readers look at it
  TurnTakers turn_takers_;
  Crew* crew_ = &turn_takers_;
};

/// The plan's oldest input: the oldest table of its level.
std::shared_ptr<level::PmemTable> InputOf(const level::ReadState& state, const Plan& plan);

/// Bytes of the pool that an entry of a table takes, garbage included; 0: there is none.
uint64_t BytesAnEntry(const pool::PmemPool& pool, const level::Version& version);

/// Whether copies of so many entries leave the room that writes may have; true where the pool has
/// no limit.
bool HasRoomForCopies(const pool::PmemPool& pool, const level::Version& version, uint64_t entries);

}  // namespace braid::compaction
