// Purpose: the target of writes: a table that can be written to, with the log that makes it
// durable. This is what all kinds of it have in common: id, state and size.
// Thread safety: reads from any thread, without locks. Writes: see Write and WriteBatch. The store
// decides when the state changes.
// Invariants:
//   1. A write that has returned is durable, and each read that begins later finds it.
//   2. What a write has drawn a sequence number for, in a memtable that is not frozen yet, has a
//      lower number than anything in a newer memtable.
// Persistence: each kind's own.
// Source: LevelDB's MemTable and log, as one object; ListDB 6.2.1 (its log is the table to come).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/stalls.h"
#include "index/entry_tree.h"
#include "log/index_unified_log.h"

namespace braid::memtable {

class PmemMemTable;

/// Life of a memtable. Only forwards.
enum class State : uint8_t {
  kMutable,    ///< takes writes
  kImmutable,  ///< takes no new write; those under way may still finish
  kFlushing,   ///< a flush job makes a table of its entries
  kFlushed,    ///< the L0 table has taken its place
};

class MemTable : public index::SortedRun {
 public:
  /// What all memtables of a store write with, and what outlives them.
  struct Store {
    pool::PmemPool* pool;
    std::atomic<uint64_t>* sequence;  // last number drawn
    base::Stalls* stalls;             // counts what holds a write back
  };
  /// What a conditional write has read: the table holds no version of the key but the one with this
  /// number (0: none is known).
  struct Condition {
    uint64_t sequence;
  };
  /// Of which a flush makes a table.
  struct FlushSource {
    std::shared_ptr<index::EntryIndex> entries;  // null: `list` has them
    bool is_copied;  // they lie in a log of its own, else where the table is to have them
    const PmemMemTable* list = nullptr;  // linked already
    /// All of them are to be copied, so that nothing of their log stays. Of a frozen memtable that
    /// its writers have left.
    bool only_copies = false;
  };

  /// Writes one entry, with a number of its own. One writer a shard at a time, inside an
  /// EpochGuard; `condition` may be null. Errors, of which none leaves anything: TryAgain (the
  /// memtable is frozen, or does not meet the condition), OutOfSpace, OutOfMemory, InvalidArgument
  /// (a key too long for a chunk), IOError (the medium, or no number is left). One fence; allocates
  /// where a node of the index or a chunk is full.
  virtual Status Write(uint32_t shard, log::PendingEntry* pending, const Condition* condition) = 0;
  /// Writes all entries, with numbers that follow each other, or none. Nobody else writes to any
  /// memtable of the store. Errors as for Write; but where `*is_torn` is set the batch is durable,
  /// a part of it is in the memtable, hidden by its numbers, and no other write may draw these: the
  /// next open finds the whole batch. One fence.
  virtual Status WriteBatch(uint32_t shard, std::span<log::PendingEntry> entries,
                            pool::AllocationClass allocation, bool* is_torn) = 0;

  virtual FlushSource flush_source() const = 0;
  /// DRAM it takes.
  virtual uint64_t memory_bytes() const noexcept = 0;
  /// Whether its index lies in persistent memory, so that its flush copies and links nothing.
  virtual bool is_persistent() const noexcept { return false; }
  /// `table` is what its flush has made of it: before others know the table.
  virtual void BecomeTable(const std::shared_ptr<const index::SortedRun>& table) noexcept {
    BRAID_DCHECK(table != nullptr && state() == State::kFlushing);
  }

  uint64_t id() const noexcept { return id_; }
  /// Of the entries written to it. Approximate while others write.
  uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  uint64_t entries() const noexcept final { return entries_.load(std::memory_order_relaxed); }
  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Keys that iterators have passed in it, where the kind of memtable counts them.
  uint64_t passed() const noexcept { return passed_.load(std::memory_order_relaxed); }

  /// It takes no more writes, from before a newer memtable is shown.
  void Freeze() noexcept;
  /// The same for one that nobody has written to, and which Unfreeze makes as it was.
  void FreezeForNow() noexcept {
    BRAID_DCHECK(state() == State::kMutable);
    is_frozen_.store(true);
  }
  void Unfreeze() noexcept {
    BRAID_CHECK(state() == State::kMutable);  // an immutable one may be under flush
    is_frozen_.store(false);
  }
  /// A writer that has drawn its number and then still finds it false drew a lower number than any
  /// writer of a newer memtable. Sequentially consistent.
  bool is_frozen() const noexcept { return is_frozen_.load(); }
  /// Moves to the next state; the order is checked.
  void Advance(State next) noexcept;

 protected:
  explicit MemTable(uint64_t id) noexcept : id_(id) {}

  void Account(uint64_t bytes, uint64_t entries) noexcept {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    entries_.fetch_add(entries, std::memory_order_relaxed);
  }
  /// For cursors over it.
  std::atomic<uint64_t>* passed_count() const noexcept { return &passed_; }

 private:
  const uint64_t id_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> entries_{0};
  std::atomic<State> state_{State::kMutable};
  std::atomic<bool> is_frozen_{false};
  alignas(64) mutable std::atomic<uint64_t> passed_{0};  // not on the line of what writers count
};

}  // namespace braid::memtable
