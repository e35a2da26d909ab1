// Purpose: all writes but range deletes and bulk loads: puts, deletes, batches, and the conditional
// ones.
// Thread safety: any thread.
// Locks, in the order they may be taken: that of batches, then the shards', ascending; both before
// those of LargeValues and the VersionSet.
// Invariants:
//   1. Sequence numbers are drawn under the lock of the memtable leaf that the write goes to, and
//      the leaf stays locked until the entry is durable and inserted. So the order of sequence
//      numbers is a linearization, and a snapshot at the last drawn number needs no waiting.
//   2. A batch of several updates holds all shard locks, so that no other write draws a number
//      between its own; its numbers are published when all its entries are inserted.
//   3. All writes are admitted in one place, and look once more under their shard lock whether
//      writes have ended: the numbers of a batch that failed after it was durable are not drawn
//      again.
// Persistence: a write is durable when its call returns (log/index_unified_log.h); on page-cache
// media with WriteOptions::sync.
// Source: ListDB 6.2.1, 6.3.1.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/counters.h"
#include "base/key_range_set.h"
#include "base/mutex.h"
#include "engine/write_errors.h"
#include "level/memory_budget.h"
#include "level/version_set.h"
#include "log/index_unified_log.h"
#include "read/reader.h"
#include "space/large_values.h"
#include "write/attempts.h"
#include "write/kept_range.h"
#include "write/write_controller.h"

namespace braid::write {

/// The answer to a transaction that comes too late.
Status ChangedMeanwhile();

class Writer {
 public:
  /// What a write wants done by the store it belongs to.
  class Host {
   public:
    /// There is work, and jobs that rest.
    virtual void Wake() noexcept = 0;
    /// `full` is to give way to an empty memtable. Throws std::bad_alloc.
    virtual void SwitchFullMemTable(const memtable::MemTable* full) = 0;
    /// Whether there may be room again, for who found none; `reclaimed`, by Reclaimer::times, is
    /// from before.
    virtual bool WaitForSpace(uint64_t reclaimed) = 0;
    /// Makes durable, on page-cache media, what was written until now.
    virtual Status Sync() = 0;
    /// Writes end.
    virtual void Fail(const Status& reason) noexcept = 0;

   protected:
    ~Host() = default;
  };
  /// What is written to, and outlives the writer.
  struct Store {
    pool::PmemPool* pool;
    const level::VersionSet* versions;
    const read::Reader* reader;
    const space::Reclaimer* reclaimer;
    const level::MemoryBudget* budget;
    space::LargeValues* large_values;
    WriteController* controller;
    engine::WriterPace* pace;
    const engine::WriteErrors* errors;
    std::atomic<uint64_t>* sequence;           // last one drawn
    const std::atomic<uint32_t>* jobs_asleep;  // that rest until they are woken
    Host* host;
  };
  explicit Writer(const Store& store, uint32_t shards);

  // As the DB calls of the same names.
  Status Put(const WriteOptions& options, Slice key, Slice value);
  Status Delete(const WriteOptions& options, Slice key);
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired);

  /// What a batch comes to: no key of `ranges` is left, and then `entries` are written. None of
  /// these was covered by a later range of the batch, whose bytes they point to.
  struct NetUpdates {
    base::KeyRangeSet ranges;
    std::vector<log::PendingEntry> entries;
  };
  /// Counts them. Errors: InvalidArgument (limits).
  Result<NetUpdates> UpdatesOf(const WriteBatch& batch);
  /// A condition of a batch: nobody has written one of its keys, or of `keys`, since then.
  struct Unchanged {
    std::span<const Slice> keys;
    const Snapshot* since;
  };
  /// Writes all, in order, as one step; none: with sync, syncs what was written before. Of no
  /// ranges. `unchanged` may be null; Busy when it is not met.
  Status WriteAll(const WriteOptions& options, std::vector<log::PendingEntry> entries,
                  const Unchanged* unchanged);

  /// Why writes are refused now, if they are; waits where the store is behind.
  Status Admit();
  /// Deletes keys of the ranges that the caller keeps, as one batch.
  Status DeleteKept(const WriteOptions& options, std::vector<log::PendingEntry> entries);
  /// As WriteAll. All but the last `after` entries are such deletes, which `unchanged` says nothing
  /// about.
  Status WriteKept(const WriteOptions& options, std::vector<log::PendingEntry> entries,
                   size_t after, const Unchanged* unchanged);
  void CountDeletes(uint64_t keys) { counters_.Add(Counter::kDeletes, keys); }

  /// While it is held, no batch is written, and no memtable switched.
  base::MutexHold HoldBatches() { return base::MutexHold(batch_mutex_); }
  base::MutexHold HoldBatchesWatched() {
    return base::LockWatched(batch_mutex_, store_.controller->stalls());
  }
  /// While they are held, nobody writes. Under HoldBatches, except for a moment.
  std::vector<base::MutexHold> LockShards();
  uint32_t shards() const noexcept { return static_cast<uint32_t>(shards_.size()); }
  /// Held by a DeleteRange, and by callers that must exclude one.
  base::MutexHold OwnKeptRange() { return kept_range_.Own(); }
  /// The ranges that their owner keeps for itself; null: none. When this returns, no write is under
  /// way that has not seen them.
  void ShowKeptRange(const base::KeyRangeSet* ranges) noexcept;
  bool closed() const noexcept { return store_.reader->closed(); }
  void Fill(Statistics* statistics) const;

 private:
  enum class Counter : uint8_t { kPuts, kDeletes, kBatches, kBytesPut, kCount };
  /// The writer of a batch: a delete of ranges may write to those that it keeps for itself.
  enum class For : uint8_t { kUser, kRangeDelete };
  struct alignas(64) ShardLock {
    base::Mutex mutex;
  };
  /// What a conditional batch has looked at: it is written only if `state` is still the one that
  /// is shown, and its memtables hold no version of `keys` with a number above `since`.
  struct BatchCondition {
    std::vector<index::LookupKey> keys;
    uint64_t since;
    std::shared_ptr<const level::ReadState> state;
  };

  /// Calls `attempt` until it has written, or has another reason not to than one that passes.
  template <class Attempt>
  Status AttemptUntilDone(For whom, Attempt&& attempt);
  Status WhyRefused(Status status);
  void AwaitRange();
  bool failed() const noexcept { return store_.errors->failed(); }
  uint32_t ShardOfThread() const noexcept { return pool_.region_map().ShardOfThread(shards()); }
  Status CopyLarge(space::LargeValues::Scope* large, pool::AllocationClass allocation);
  Status Update(const WriteOptions& options, log::PendingEntry pending);
  Status TryUpdate(log::PendingEntry* pending);
  Status Insert(memtable::MemTable* target, log::PendingEntry* pending,
                const memtable::MemTable::Condition* condition);
  Status AfterWrite(const WriteOptions& options);
  // batch_writes.cc
  /// `condition` may be null.
  Status WriteEntries(const WriteOptions& options, std::vector<log::PendingEntry> entries, For whom,
                      BatchCondition* condition);
  Status TryBatch(std::vector<log::PendingEntry>* entries, pool::AllocationClass allocation,
                  For whom, const BatchCondition* condition);
  // compare_and_swap.cc
  Result<bool> TryCompareAndSwap(log::PendingEntry* pending, std::optional<Slice> expected,
                                 const space::LargeValues::Scope& large, bool* wants_copy);
  // write_unless_changed.cc
  static Result<BatchCondition> ConditionOf(const Unchanged& unchanged,
                                            std::span<const log::PendingEntry> entries);
  Status CheckUnchanged(const Unchanged& unchanged) const;
  Status LookBeforeBatch(BatchCondition* condition) const;
  Status LookUp(const BatchCondition& condition, const index::ReadView& view) const;
  Status CheckInMemTables(const BatchCondition& condition, For whom) const;

  const Store store_;
  pool::PmemPool& pool_;
  std::vector<ShardLock> shards_;
  base::Mutex batch_mutex_;
  KeptRange kept_range_;
  base::Counters<Counter, static_cast<size_t>(Counter::kCount)> counters_;
};

template <class Attempt>
Status Writer::AttemptUntilDone(For whom, Attempt&& attempt) {
  struct Host {
    Writer& writer;
    For whom;
    Status Admit() { return writer.Admit(); }
    uint64_t TimesReclaimed() const { return writer.store_.reclaimer->times(); }
    void AwaitTurn() {
      if (whom == For::kUser) writer.AwaitRange();
    }
    bool WaitForSpace(uint64_t reclaimed) { return writer.store_.host->WaitForSpace(reclaimed); }
    Status WhyRefused(Status s) { return writer.WhyRefused(std::move(s)); }
  };
  return write::AttemptUntilDone(Host{*this, whom}, std::forward<Attempt>(attempt));
}

}  // namespace braid::write
