// Purpose: the structure of the store: the state that readers and writers look at, the manifest
// that makes it durable, the ids of tables, and the tables that wait for their group. They
// change together, under one lock, and only the shown state can be accessed without it.
// Thread safety: any thread. The shown state is read inside an EpochGuard, without the lock. Its
// place in the order of locks: lsm_store.h.
// Invariants:
//   1. A state that is shown never changes; one that was replaced is freed when its readers have
//      left.
//   2. Tables that wait for their group are the newest of L0, and in no manifest.
//   3. No id is given out twice, though its table may come to nothing.
// Persistence: level/manifest.h; all that may fail comes before a commit.
// Source: VersionSet and SuperVersion of LevelDB and RocksDB; the MANIFEST of ListDB 6.2.1.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/function_ref.h"
#include "base/memory_users.h"
#include "base/mutex.h"
#include "base/stalls.h"
#include "index/merge_epoch.h"
#include "level/manifest.h"
#include "level/read_state.h"
#include "level/waiting_table.h"
#include "space/reclaimer.h"

namespace braid::level {

/// A state that is to be shown. It is made before anything durable depends on it: showing it needs
/// no memory. Throws std::bad_alloc where it is made and changed.
class NextState {
 public:
  explicit NextState(const ReadState& now)
      : state_(std::make_shared<ReadState>(now)), retired_(1) {}

  /// `fresh` becomes the active memtable, and the active one the newest immutable one.
  void SwitchMemTable(std::shared_ptr<memtable::MemTable> fresh);
  /// `fresh` becomes the active memtable; what was active is dropped, and holds nothing.
  void ReplaceActive(std::shared_ptr<memtable::MemTable> fresh);
  void DropNewestImmutable();
  void DropOldestImmutable();
  /// To L0.
  void AddNewest(std::shared_ptr<level::Table> table);
  /// Of a level.
  void DropOldest(size_t level);
  /// The list that a level takes entries in with from here on.
  void AddList(size_t level, std::shared_ptr<level::PmemTable> list);
  void ReplaceOldest(size_t level, std::shared_ptr<level::Table> table);
  /// All levels at once.
  void ReplaceLevels(std::vector<level::Level> levels);

 private:
  friend class VersionSet;
  void Change(size_t level, base::FunctionRef<void(level::Level* tables)> change);

  std::shared_ptr<ReadState> state_;
  space::RetiredMemory retired_;  // one place for the state before
};

class VersionSet {
  /// A list that the manifest does not name any more; readers of earlier states may look at its
  /// head, in place.
  struct RemovedList {
    uint32_t head;
    std::weak_ptr<const level::PmemTable> list;
  };
  /// Reached by what Lock returns, and by nobody else.
  struct Data {
    explicit Data(pool::PmemPool* pool) : manifest(pool), waiting_charge(&pool->memory_users()) {}

    std::shared_ptr<const ReadState> state;
    level::Manifest manifest;
    uint64_t next_table_id = 0;
    uint64_t loading_table_id = 0;
    uint64_t logs_retired_to = 0;
    std::list<WaitingTable> waiting;
    base::MemoryCharge waiting_charge;
    std::vector<RemovedList> removed_lists;
  };

 public:
  /// The lock, held to read. One without a name is held to the end of its full expression, so that
  /// what it refers to is only had from one with a name.
  class ConstLocked {
   public:
    const ReadState& state() const& noexcept { return *data_->state; }
    const ReadState& state() const&& = delete;
    /// The same, for longer than the lock.
    std::shared_ptr<const ReadState> Keep() const { return data_->state; }
    /// The list that everything is merged into.
    std::shared_ptr<level::PmemTable> bottom() const { return state().version->KeepBottom(); }
    const level::Manifest& manifest() const noexcept { return data_->manifest; }
    const format::ManifestState& record() const& noexcept { return data_->manifest.record(); }
    const format::ManifestState& record() const&& = delete;
    uint64_t flushed_table_id() const noexcept { return record().flushed_table_id; }
    uint64_t merged_table_id() const noexcept { return record().merged_table_id; }
    /// The manifest as it will be when the tables that wait are committed.
    format::ManifestState RecordToCome() const;
    /// Oldest first.
    const std::list<WaitingTable>& waiting() const noexcept { return data_->waiting; }
    /// Whether a table up to this id is in no manifest yet.
    bool Waits(uint64_t id) const noexcept;
    /// That the next table will have.
    uint64_t next_table_id() const noexcept { return data_->next_table_id; }
    /// Of the bulk load under way, or 0.
    uint64_t loading_table_id() const noexcept { return data_->loading_table_id; }
    /// Write-ahead logs of tables up to this id are given back, or retired.
    uint64_t logs_retired_to() const noexcept { return data_->logs_retired_to; }

   protected:
    friend class VersionSet;
    ConstLocked(const Data* data, base::MutexHold lock) noexcept
        : data_(data), lock_(std::move(lock)) {}

   private:
    const Data* data_;
    base::MutexHold lock_;
  };

  /// The lock, held to change.
  class Locked : public ConstLocked {
   public:
    level::Manifest& manifest() const noexcept { return data_->manifest; }
    format::ManifestState& record() const& noexcept { return data_->manifest.record(); }
    format::ManifestState& record() const&& = delete;
    uint64_t NewTableId() const noexcept { return data_->next_table_id++; }
    /// Ids from here on; not below what was given out.
    void SetNextTableId(uint64_t id) const noexcept {
      BRAID_DCHECK(id >= data_->next_table_id);  // invariant 3
      data_->next_table_id = id;
    }
    /// As Manifest::TakeHead, once heads are given back that no reader of a list looks at any more.
    Result<uint32_t> TakeHead() const;
    /// The list is about to leave its level. Its head is no other table's for as long as anybody
    /// has the list.
    void KeepHead(const std::shared_ptr<level::PmemTable>& list) const;
    void SetLoadingTableId(uint64_t id) const noexcept { data_->loading_table_id = id; }
    void SetLogsRetiredTo(uint64_t id) const noexcept { data_->logs_retired_to = id; }

    NextState Next() const { return NextState(*data_->state); }
    /// The first state, before others know the set; the manifest is loaded.
    void Begin(ReadState first, uint64_t next_table_id) const;
    /// `next` takes the place of the state it was made from.
    void Show(NextState next) const noexcept;
    /// The same for a state whose entries have the number `last`, which becomes `*sequence`. A view
    /// that learns the number must not read the state before: see is_switching.
    void ShowWithNumber(NextState next, std::atomic<uint64_t>* sequence,
                        uint64_t last) const noexcept;
    /// The newest of L0, in the manifest's record, which the caller commits.
    void AddTable(const format::TableRecord& table) const;
    /// The bottom was counted as a whole while no merge could change it. Durable with the next
    /// commit; until then it is not known, which is true as well.
    void SetEntriesOfBottom(uint64_t entries) const;
    /// Takes the one table of the list, to be committed with its group.
    void AddWaiting(std::list<WaitingTable>* table) const;
    /// Commits the oldest `count` tables that wait, and moves them to `committed`.
    Status CommitWaiting(size_t count, std::list<WaitingTable>* committed) const;

   private:
    friend class VersionSet;
    Locked(VersionSet* set, Data* data, base::MutexHold lock) noexcept
        : ConstLocked(data, std::move(lock)), set_(set), data_(data) {}
    void ChargeWaiting() const;

    VersionSet* set_;
    Data* data_;
  };

  VersionSet(pool::PmemPool* pool, space::Reclaimer* reclaimer)
      : reclaimer_(reclaimer), data_(pool) {}
  VersionSet(const VersionSet&) = delete;
  VersionSet& operator=(const VersionSet&) = delete;

  ConstLocked Lock() const { return {&data_, base::MutexHold(mutex_)}; }
  Locked Lock() { return {this, &data_, base::MutexHold(mutex_)}; }
  /// The same, where a writer waits.
  Locked LockWatched(base::Stalls* stalls) {
    return {this, &data_, base::LockWatched(mutex_, stalls)};
  }
  bool AnyImmutable() const {
    const ConstLocked versions = Lock();
    return !versions.state().immutables.empty();
  }

  /// What reads and writes look at. Inside an EpochGuard.
  const ReadState& shown() const noexcept {
    // Acquire pairs with Locked::Show.
    return *shown_.load(std::memory_order_acquire);
  }
  /// Whether the last number drawn may be that of a state which is not shown yet: a caller that has
  /// just read it registers again.
  bool is_switching() const noexcept { return switching_.load(); }
  /// What lookups ask that have met an obsolete entry.
  index::MergeEpoch& merge_epoch() noexcept { return merge_epoch_; }
  /// Id of the newest table of L0 that a merge has begun to take entries from; 0: none.
  const std::atomic<uint64_t>& merged_up_to() const noexcept { return merged_up_to_; }
  /// Before the merge changes anything. One thread at a time.
  void NoteMergeOf(uint64_t table) noexcept {
    if (table <= merged_up_to_.load(std::memory_order_relaxed)) return;
    // Release pairs with what a reader loads that has met what the merge has done.
    merged_up_to_.store(table, std::memory_order_release);
  }
  const index::MergeEpoch& merge_epoch() const noexcept { return merge_epoch_; }

 private:
  space::Reclaimer* const reclaimer_;
  alignas(64) std::atomic<const ReadState*> shown_{nullptr};  // owned by data_.state
  index::MergeEpoch merge_epoch_;
  std::atomic<uint64_t> merged_up_to_{0};
  std::atomic<bool> switching_{false};
  mutable base::Mutex mutex_;
  Data data_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::level
