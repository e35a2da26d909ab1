// Purpose: full merges: all tables of L0 and L1 become a new L1 (merge/full_merge.h). Says when
// that is less work than to link the tables into L1, and commits it.
// Thread safety: the compaction thread.
// Invariants:
//   1. What was read stays as it is, and readers of earlier states go on in it. Its chunks are
//      freed when they have left.
//   2. The commit that names the new list says of all chunks that the tables and L1 lay in that
//      they hold nothing any more (format::LeftBehind): so nothing of them need be marked.
//   3. Nothing is left behind that a view needs, beside the newest version of its key, or that must
//      be marked by itself: entries in logs that stay, and values in extents.
// Persistence: the one commit. A crash before it leaves chunks that an open frees; after it,
// chunks that are left behind, which an open frees as well.
// Source: braid's (docs/internals/decisions/0081).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compaction/lookup_filler.h"
#include "compaction/space_accounts.h"
#include "compaction/table_indexes.h"
#include "engine/background_limit.h"
#include "level/memory_budget.h"
#include "level/view_registry.h"
#include "merge/full_merge.h"
#include "tier/tier.h"

namespace braid::compaction {

class FullMerger {
 public:
  /// What is merged, and outlives it.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    space::Reclaimer* reclaimer;
    SpaceAccounts* accounts;
    TableIndexes* indexes;
    LookupFiller* lookup_filler;
    const level::MemoryBudget* budget;
    engine::BackgroundLimit* limit;
    const tier::Tier* tier;  // may be null
    const std::atomic<bool>* stop;
  };

  explicit FullMerger(const Store& store) noexcept : store_(store), pool_(*store.pool) {}

  /// Whether a full merge is less work than to link the tables of `state`, and may be begun. Not
  /// again where the last one came to nothing, before something was merged otherwise. Cost: a lock
  /// for each table, and a look at the views.
  bool IsDue(const level::ReadState& state) const;
  /// Whether one that is due is to wait for a table that is being flushed: the two are merged in
  /// one go. For a second at most. To be asked at each look for work.
  bool WaitsForFlush(const level::ReadState& state, bool is_due);
  /// Committed since the open. Any thread.
  uint64_t merges() const noexcept { return merges_.load(std::memory_order_relaxed); }
  /// Merges the tables of L0 with these ids, oldest last, unless a view needs what that would hide.
  /// Returns how many entries were read; 0: it came to nothing, for want of room, since it was
  /// stopped, or by invariant 3. Errors end writes. Throws std::bad_alloc.
  Result<uint64_t> Run(const std::vector<uint64_t>& ids);

 private:
  using List = std::shared_ptr<level::PmemTable>;
  /// What is read, newest first; L1 last.
  struct Inputs {
    std::vector<List> lists;
    std::vector<index::TreeSource> trees;  // of each; null: it has none that tells all
    uint64_t entries = 0;
    uint64_t newest = 0;  // number of a write
  };
  struct Slot {
    uint32_t head = 0;
    uint64_t table_id = 0;
  };

  bool MayEver() const;
  bool HasRoomFor(const level::ReadState& state, uint64_t entries) const;
  static Inputs InputsOf(const level::ReadState& state, size_t tables);
  bool MayBeMerged(const Inputs& inputs) const;
  bool MayBeLeftBehind(uint64_t newest) const;
  std::optional<Slot> TakeSlot();
  void Refuse();
  Result<uint64_t> GiveUp(const Status& status, const Slot& slot, merge::FullMerge* merge);
  Status Commit(const Inputs& inputs, const Slot& slot, const merge::FullMerge& merge);

  const Store store_;
  pool::PmemPool& pool_;
  std::atomic<uint64_t> merges_{0};
  uint64_t waits_from_ = 0;  // NowNanos; 0: it does not wait
  uint64_t not_before_ = 0;  // a table with this id is in L1
  uint64_t refusal_ = 0;     // that many more are waited for the next time
};

}  // namespace braid::compaction
