// Purpose: the structure of the store: the state that readers and writers look at, the manifest
// that makes it durable, the ids of tables, and the tables that wait for their checkpoint. They
// change together, under one lock, and nobody gets at them without it but for the shown state.
// Thread safety: any thread. The shown state is read inside an EpochGuard, without the lock. Its
// place in the order of locks: lsm_store.h.
// Invariant 1: a state that is shown never changes; one that was replaced is freed when its readers
// have left.
// Invariant 2: tables that wait for their checkpoint are the newest of L0, and in no manifest.
// Invariant 3: no id is given out twice, though its table may come to nothing.
// Persistence: level/manifest.h; all that may fail comes before a commit.
// Source: VersionSet and SuperVersion of LevelDB and RocksDB; the MANIFEST of ListDB 6.2.1.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/memory_users.h"
#include "base/stalls.h"
#include "engine/read_state.h"
#include "flush/checkpoint.h"
#include "level/manifest.h"
#include "space/reclaimer.h"

namespace braid::engine {

/// A state that is to be shown. It is made before anything durable depends on it: showing it needs
/// no memory. Throws std::bad_alloc where it is made and changed.
class NextState {
 public:
  explicit NextState(const ReadState& now)
      : state_(std::make_shared<ReadState>(now)), retired_(1) {}

  /// `fresh` becomes the active memtable, and the active one the newest that is sealed.
  void Seal(std::shared_ptr<MemTable> fresh);
  /// `fresh` becomes the active memtable; what was active is dropped, and holds nothing.
  void ReplaceActive(std::shared_ptr<MemTable> fresh) { state_->active = std::move(fresh); }
  void DropNewestSealed() { state_->immutables.erase(state_->immutables.begin()); }
  void DropOldestSealed() { state_->immutables.pop_back(); }
  /// To L0.
  void AddNewest(std::shared_ptr<level::PmemTable> table);
  /// Of L0.
  void DropOldest() { ChangedVersion().l0.pop_back(); }
  void ReplaceOldest(std::shared_ptr<level::PmemTable> table) {
    ChangedVersion().l0.back() = std::move(table);
  }

 private:
  friend class VersionSet;
  level::Version& ChangedVersion();

  std::shared_ptr<ReadState> state_;
  std::shared_ptr<level::Version> version_;  // null: that of the state before
  space::RetiredMemory retired_;             // one place for the state before
};

class VersionSet {
 public:
  /// The lock, held to read. One without a name is held to the end of its full expression, so that
  /// what it refers to is only had from one with a name.
  class ConstLocked {
   public:
    const ReadState& state() const& noexcept { return *set_->state_; }
    const ReadState& state() const&& = delete;
    /// The same, for longer than the lock.
    std::shared_ptr<const ReadState> Keep() const { return set_->state_; }
    const std::shared_ptr<level::PmemTable>& l1() const noexcept { return state().version->l1; }
    const level::Manifest& manifest() const noexcept { return set_->manifest_; }
    const format::ManifestRecord& record() const& noexcept { return set_->manifest_.record(); }
    const format::ManifestRecord& record() const&& = delete;
    uint64_t flushed_table_id() const noexcept { return record().flushed_table_id; }
    uint64_t merged_table_id() const noexcept { return record().merged_table_id; }
    /// The manifest as it will be when the tables that wait are committed.
    format::ManifestRecord RecordToCome() const;
    /// Oldest first.
    const std::list<flush::WaitingTable>& waiting() const noexcept { return set_->waiting_; }
    /// Whether the next table to be merged is in no manifest yet.
    bool OldestWaits() const noexcept;
    /// That the next table will have.
    uint64_t next_table_id() const noexcept { return set_->next_table_id_; }
    /// Of the bulk load under way, or 0.
    uint64_t loading_table_id() const noexcept { return set_->loading_table_id_; }
    /// Write-ahead logs of tables up to this id are given back, or retired.
    uint64_t logs_retired_to() const noexcept { return set_->logs_retired_to_; }

   protected:
    friend class VersionSet;
    ConstLocked(const VersionSet* set, std::unique_lock<std::mutex> lock) noexcept
        : set_(set), lock_(std::move(lock)) {}

   private:
    const VersionSet* set_;
    std::unique_lock<std::mutex> lock_;
  };

  /// The lock, held to change.
  class Locked : public ConstLocked {
   public:
    level::Manifest& manifest() const noexcept { return set_->manifest_; }
    format::ManifestRecord& record() const& noexcept { return set_->manifest_.record(); }
    format::ManifestRecord& record() const&& = delete;
    uint64_t NewTableId() const noexcept { return set_->next_table_id_++; }
    /// Ids from here on; not below what was given out.
    void SetNextTableId(uint64_t id) const noexcept { set_->next_table_id_ = id; }
    void SetLoadingTableId(uint64_t id) const noexcept { set_->loading_table_id_ = id; }
    void SetLogsRetiredTo(uint64_t id) const noexcept { set_->logs_retired_to_ = id; }

    NextState Next() const { return NextState(*set_->state_); }
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
    /// L1 was counted as a whole while no merge could change it. Durable with the next commit;
    /// until then it is not known, which is true as well.
    void SetEntriesOfL1(uint64_t entries) const;
    /// Takes the one table of the list, to be committed with its group.
    void AddWaiting(std::list<flush::WaitingTable>* table) const;
    /// Commits the oldest `count` tables that wait, and moves them to `committed`.
    Status CommitWaiting(size_t count, std::list<flush::WaitingTable>* committed) const;

   private:
    friend class VersionSet;
    Locked(VersionSet* set, std::unique_lock<std::mutex> lock) noexcept
        : ConstLocked(set, std::move(lock)), set_(set) {}

    VersionSet* set_;
  };

  VersionSet(pmem::PmemPool* pool, space::Reclaimer* reclaimer)
      : pool_(pool),
        reclaimer_(reclaimer),
        manifest_(pool),
        waiting_charge_(&pool->memory_users()) {}
  VersionSet(const VersionSet&) = delete;
  VersionSet& operator=(const VersionSet&) = delete;

  ConstLocked Lock() const { return {this, std::unique_lock(mutex_)}; }
  Locked Lock() { return {this, std::unique_lock(mutex_)}; }
  /// The same, where a writer waits.
  Locked LockWatched(base::Stalls* stalls) {
    return {this, base::LockWatched<std::unique_lock<std::mutex>>(mutex_, stalls)};
  }
  bool AnySealed() const { return !Lock().Keep()->immutables.empty(); }

  /// What reads and writes look at. Inside an EpochGuard.
  const ReadState& shown() const noexcept {
    // Acquire pairs with Locked::Show.
    return *shown_.load(std::memory_order_acquire);
  }
  /// Whether the last number drawn may be that of a state which is not shown yet: who has just
  /// learnt it registers anew.
  bool is_switching() const noexcept { return switching_.load(); }
  /// Changes with each state that is shown; odd while a merge changes what lookups find.
  std::atomic<uint64_t>& relinks() noexcept { return relinks_; }
  const std::atomic<uint64_t>& relinks() const noexcept { return relinks_; }

 private:
  void ChargeWaiting();

  pmem::PmemPool* const pool_;
  space::Reclaimer* const reclaimer_;
  alignas(64) std::atomic<const ReadState*> shown_{nullptr};  // owned by state_
  std::atomic<uint64_t> relinks_{0};
  std::atomic<bool> switching_{false};
  mutable std::mutex mutex_;
  // All of the following under mutex_.
  std::shared_ptr<const ReadState> state_;
  level::Manifest manifest_;
  uint64_t next_table_id_ = 0;
  uint64_t loading_table_id_ = 0;
  uint64_t logs_retired_to_ = 0;
  std::list<flush::WaitingTable> waiting_;
  base::MemoryCharge waiting_charge_;
};

}  // namespace braid::engine
