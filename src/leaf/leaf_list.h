// Purpose: the list of leaves in persistent memory: the bottom level of a skip list whose upper
// levels are in DRAM (span_skiplist.h), and the only one that is durable.
// Thread safety: Find inside an EpochGuard, without locks. What changes leaves needs the mutexes
// that each function names. Allocation has a lock of its own.
// Invariants:
//   1. The leaves that the links lead to from the head are sorted and do not overlap.
//   2. A slot, and what it names, is durable before the bit that shows it; a leaf is before the
//      link that leads to it.
//   3. Readers see a bit, or leave a leaf that was replaced, only when that is durable
//      (leaf_node.h).
//   4. A leaf that was replaced is reused only after a grace period.
// Persistence: Commit and Replace each commit by one store of 8 bytes: the leaf's bitmap, with the
// new bit set and the old one cleared; the link before the leaves that are replaced. Before that
// store nothing has changed, after it everything has.
// Source: NV-Skiplist 3.3, Algorithms 1 and 3; checks, concurrency, replacing of several leaves by
// any number and what becomes of empty ones are braid's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "leaf/leaf_node.h"
#include "leaf/span_skiplist.h"
#include "pool/pool.h"

namespace braid::leaf {

/// An entry on its way into a leaf.
struct LeafItem {
  uint64_t entry;
  uint64_t key_hash;
};

/// A leaf to be made.
struct LeafPlan {
  std::string low;
  std::vector<LeafItem> items;
};

struct LeafLookup {
  enum class State : uint8_t { kAbsent, kFound, kRetry, kCorrupt };
  State state = State::kAbsent;
  uint32_t slot = 0;
  uint64_t offset = 0;  // of the entry; for kCorrupt the place of the damage
};

/// A leaf as it was at one moment: its entries in key order.
struct LeafView {
  uint64_t version = 0;
  std::vector<uint64_t> entries;
};

class LeafList {
 public:
  LeafList(pool::PmemPool* pool, const SpanSkipList::Limits& limits, bool verify);
  ~LeafList();

  /// The end of an empty list, durable with the pool.
  static void Create(pool::PmemPool* pool);

  LeafNode* head() noexcept { return head_; }
  SpanSkipList& upper() noexcept { return *upper_; }
  const SpanSkipList& upper() const noexcept { return *upper_; }

  // ---- Reading ----------------------------------------------------------------------------------

  /// Reads the leaf's bitmap and tags into DRAM, once. With the node's mutex, or without.
  Status LoadLocked(LeafNode* node) const;
  Status Load(LeafNode* node) const;
  /// The slot that holds `key` in a loaded leaf. kRetry: the leaf changed meanwhile.
  LeafLookup Find(const LeafNode& node, std::string_view key, uint64_t key_hash) const noexcept;
  /// The entries of a loaded leaf in key order; false: it changed meanwhile.
  Result<bool> View(const LeafNode& node, LeafView* view) const;
  /// What a search has found, checked; Corruption at damage. While the entry can't be freed.
  Status ValueOf(uint64_t entry, std::string_view* value) const;
  /// The entry a slot names, checked; null, and what is wrong, at damage.
  const format::EntryHeader* EntryOf(const LeafNode& node, uint32_t slot, Status* status) const;

  // ---- Changing: the node's mutex is held -------------------------------------------------------

  /// Writes a slot that is not shown, and flushes it. Durable by the caller's next fence.
  void Stage(LeafNode* node, uint32_t slot, const LeafItem& item);
  /// Shows the slots of `bitmap`: one store, flushed and fenced before readers see it.
  void Commit(LeafNode* node, uint64_t bitmap);
  /// Lets a slot name a copy of its entry; durable by the caller's next fence. Readers find either.
  void Redirect(LeafNode* node, uint32_t slot, uint64_t entry);
  /// Puts leaves made by `plans` in the place of `old`, which follow `before` in the list; the
  /// mutexes of `before` and `old` are held. On error nothing has happened.
  Status Replace(LeafNode* before, const std::vector<LeafNode*>& old,
                 const std::vector<LeafPlan>& plans, pool::AllocationClass allocation);
  /// Finds the leaf that is responsible for `key` and locks it; it is alive and loaded. Without any
  /// leaf's mutex, inside an EpochGuard.
  Status Lock(std::string_view key, base::MutexHold* lock, LeafNode** node);
  /// Locks a leaf and the one before it. False when the leaf is replaced. Without any leaf's mutex,
  /// inside an EpochGuard.
  static bool LockWithPrevious(LeafNode* node, base::MutexHold* previous_lock,
                               base::MutexHold* lock, LeafNode** previous);

  // ---- Space ------------------------------------------------------------------------------------

  /// What was replaced and waits for its readers to leave.
  struct Garbage {
    std::vector<LeafNode*> nodes;
    SpanSkipList::Garbage upper;
    bool empty() const noexcept { return nodes.empty() && upper.empty(); }
  };
  Garbage TakeGarbage();
  /// After a grace period: leaves are reused, chunks without any are freed.
  void Release(Garbage garbage);
  /// Keeps it for later.
  void PutBack(Garbage garbage);
  /// Destroys what stands for it in DRAM only; the list is about to be destroyed.
  static void Forget(Garbage garbage);
  size_t garbage_leaves() const;

  // ---- Open: nobody else is there ---------------------------------------------------------------

  /// A node behind the last one, for a leaf that the links lead to.
  LeafNode* Append(std::string low, uint64_t offset);
  /// Takes the leaves that no node names for free, and frees chunks that hold no other.
  void TakeFreeLeaves();
  /// Raises every leaf that the heights call for, as searches would.
  void BuildUpper();

  // ---- Bytes ------------------------------------------------------------------------------------

  /// The leaf at `offset`, or null when none can be there.
  format::Leaf* LeafAt(uint64_t offset) const noexcept;
  /// What is wrong with its header, commit word and tags; ok when nothing is.
  Status CheckLeaf(uint64_t offset) const;
  uint64_t* LinkOf(const LeafNode& node) const noexcept;
  static uint64_t LeavesInChunk(const pool::PmemPool& pool) noexcept {
    return (pool.chunk_bytes() - sizeof(format::LogChunkHeader)) / sizeof(format::Leaf);
  }
  uint64_t leaves() const noexcept { return leaves_.load(std::memory_order_relaxed); }
  uint64_t free_leaves() const;
  const pool::PmemPool& pool() const noexcept { return *pool_; }

 private:
  Result<uint64_t> Allocate(pool::AllocationClass allocation);
  void FreeLeaf(uint64_t offset);
  void WriteLeaf(uint64_t offset, const LeafPlan& plan, uint64_t next);
  static uint64_t SlotPlace(uint64_t leaf, uint32_t slot) noexcept {
    BRAID_DCHECK(slot < format::kLeafSlots);
    return leaf + format::Leaf::kHeaderBytes + slot * sizeof(format::LeafSlot);
  }
  uint64_t LeafPlace(uint64_t chunk, uint64_t index) const noexcept {
    BRAID_DCHECK(index < LeavesInChunk(*pool_));
    return pool_->ChunkOffset(chunk) + sizeof(format::LogChunkHeader) +
           index * sizeof(format::Leaf);
  }

  pool::PmemPool* pool_;
  const bool verify_;
  LeafNode* head_;
  LeafNode* last_;  // open only
  std::unique_ptr<SpanSkipList> upper_;
  std::atomic<uint64_t> leaves_{0};

  mutable base::Mutex space_mutex_;
  // By chunk: places of leaves; chunks that have a free leaf.
  std::map<uint64_t, std::vector<uint32_t>> free_ BRAID_GUARDED_BY(space_mutex_);
  std::set<uint64_t> with_room_ BRAID_GUARDED_BY(space_mutex_);
  std::vector<LeafNode*> garbage_ BRAID_GUARDED_BY(space_mutex_);
};

}  // namespace braid::leaf
