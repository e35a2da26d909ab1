// Purpose: all writes: puts, deletes, batches of one update, conditional puts; and what becomes of
// leaves that are full or nearly empty by them.
// Thread safety: any thread.
// Locks, in the order they may be taken: that of a Pause, mutexes of leaves (left to right), locks
// of heap, list and index, those of the reclaimer's extents. LeafScheduler's, without any of these.
// Invariants:
//   1. A write takes effect under the mutex of the leaf that is responsible for its key, when
//      readers are shown a bitmap that is durable. That is its place in the order of all calls.
//   2. Sequence numbers of a key grow with its versions; they order what a salvage finds, and
//      nothing else.
//   3. While a Pause lives no write is under way.
// Persistence: see leaf_list.h. On page-cache media nothing but a close outlives the operating
// system: writes that ask for more are refused.
// Source: NV-Skiplist 3.3, 3.5; entries of any size, concurrency and space are braid's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/mutex.h"
#include "base/stalls.h"
#include "braid/db.h"
#include "engine/write_errors.h"
#include "leaf/leaf_list.h"
#include "leaf/leaf_reclaimer.h"
#include "leaf/leaf_scheduler.h"
#include "log/entry_heap.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"
#include "space/large_values.h"

namespace braid::leaf {

class LeafWriter {
 public:
  /// What is written to, and outlives the writer.
  struct Store {
    pool::PmemPool* pool;
    const std::atomic<bool>* closed;
    engine::WriteErrors* errors;
    pool::ChunkUsage* usage;
    LeafList* list;
    log::EntryHeap* heap;
    space::LargeValues* large_values;
    LeafReclaimer* reclaimer;
    LeafScheduler* scheduler;
    base::Stalls* stalls;
  };
  /// While it lives no write is under way. Not inside an EpochGuard.
  class Pause;

  explicit LeafWriter(const Store& store) : store_(store), pool_(*store.pool), list_(*store.list) {}
  LeafWriter(const LeafWriter&) = delete;
  LeafWriter& operator=(const LeafWriter&) = delete;

  /// What recovery has found. Before any write.
  void Begin(uint64_t last_sequence, uint64_t entries) noexcept;

  // As the DB calls of the same names.
  Status Put(const WriteOptions& options, Slice key, Slice value);
  Status Delete(const WriteOptions& options, Slice key);
  Status Write(const WriteOptions& options, const WriteBatch& batch);
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired);

  /// Before each attempt of a write, of whatever kind: why writes have ended, if they have.
  Status Admit() const { return store_.errors->ended() ? store_.errors->WhyEnded() : Status::OK(); }
  /// The last one drawn; writes that were refused may have drawn numbers above the greatest.
  uint64_t last_sequence() const noexcept { return sequence_.load(); }
  /// That leaves name.
  uint64_t entries() const noexcept {
    return opened_entries_ + counters_.Sum(Counter::kInserted) - counters_.Sum(Counter::kRemoved);
  }
  void Fill(Statistics* statistics) const;

 private:
  enum class Counter : uint8_t {
    kPuts,
    kDeletes,
    kBatches,
    kBytesPut,
    kInserted,
    kRemoved,
    kCount
  };
  /// What a conditional write asks for, and whether it was so.
  struct Condition {
    std::optional<Slice> expected;
    bool met = false;
    bool wants_copy = false;  // it was met, and nothing written: the value is to be copied first
  };

  bool closed() const noexcept { return store_.closed->load(std::memory_order_acquire); }
  Status CheckSync(const WriteOptions& options) const;
  Status Update(const WriteOptions& options, log::PendingEntry pending, Condition* condition);
  Status TryUpdate(log::PendingEntry* pending, Condition* condition);
  Status UpdateLeaf(LeafNode* node, log::PendingEntry* pending, Condition* condition);
  Status PutInLeaf(LeafNode* node, const LeafLookup& found, log::PendingEntry* pending);
  Status RemoveFromLeaf(LeafNode* node, const LeafLookup& found);
  Status MakeFirstLeaf(LeafNode* head, pool::AllocationClass allocation);
  Status Split(LeafNode* node, pool::AllocationClass allocation);
  Status Shrink(std::string_view key);
  Result<std::vector<LeafItem>> ItemsOf(const LeafNode& node) const;

  const Store store_;
  pool::PmemPool& pool_;
  LeafList& list_;
  base::Counters<Counter, static_cast<size_t>(Counter::kCount)> counters_;
  alignas(64) std::atomic<uint64_t> sequence_{0};  // last one drawn
  uint64_t opened_entries_ = 0;
  alignas(64) std::atomic<bool> paused_{false};  // writes wait at pause_mutex_
  base::Mutex pause_mutex_;
};

class LeafWriter::Pause {
 public:
  explicit Pause(LeafWriter* writer);
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  LeafWriter& writer_;
  base::MutexHold lock_;
};

}  // namespace braid::leaf
