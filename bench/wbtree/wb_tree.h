// Purpose: a wB+-tree from 8-byte keys to 8-byte values, the structure that NV-Skiplist was
// compared with (its section 4.1): leaves in persistent memory with entries in no order, a slot
// array that keeps the order and a bitmap that commits; redo logging of splits; inner nodes in
// DRAM.
//
// Thread safety: Put, Get, Delete and the scans from any threads at the same time; Open, Verify and
// destruction alone. A writer locks its leaf; readers take no lock: they read the leaf's version,
// the leaf, and the version again (memory orders: wb_format.h, LoadWord).
//
// Invariants (others: wb_format.h, inner_index.h):
//   1. A lock is held until what it guarded is durable, so no reader sees what a crash could still
//      take back.
//   2. `LeafState::last` is the largest key a leaf is responsible for; it shrinks in a split, and
//      is read under the version like the leaf. Who finds a key beyond it searches anew.
//   3. Leaves are never given back, empty ones included: keys of the same range fill them again.
//   4. Locks are taken in this order: leaf, redo record, inner index or pool.
//
// Persistence, by section 3.3 of the paper: a split writes a redo record, the image of the new leaf
// (k lines, one fence: commits); then the new leaf and the slots of the old one (k + 1 lines, one
// fence); then bitmap and next of the old one (1 line, one fence): 2k + 2 lines. The record counts
// as long as the old leaf's next is the one in the record, so it needs no mark of its own when it
// is done with. Recovery repeats such splits, walks the chain of leaves, makes invalid slots anew,
// and builds the inner nodes. Each step gives the same when it is repeated. Changes of one leaf:
// leaf_ops.h. On page media the stores survive a process crash, and no power loss.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bench/wbtree/inner_index.h"
#include "bench/wbtree/leaf_ops.h"
#include "bench/wbtree/wb_format.h"
#include "braid/status.h"
#include "media/media.h"
#include "media/persist.h"

namespace braid::bench::wbtree {

struct WbTreeOptions {
  /// Size of the first segment and of those that follow; a multiple of 64.
  uint64_t initial_bytes = uint64_t{64} << 20;
  uint64_t growth_bytes = uint64_t{64} << 20;
  /// Updates overwrite the value, one line and one fence, instead of adding an entry and changing
  /// the order as the published structure does for values of any size.
  bool update_in_place = false;
  /// As PoolOptions has them: a slower medium, for measurements.
  uint32_t emulate_write_ns = 0;
  uint32_t emulate_write_mb_s = 0;
};

struct WbTreeStatistics {
  uint64_t leaves = 0;
  uint64_t splits = 0;  ///< since it was opened
  uint64_t redone_splits = 0;
  uint64_t rebuilt_slots = 0;
  uint64_t lines_flushed = 0;
  uint64_t fences = 0;
  uint64_t inner_bytes = 0;  ///< DRAM: inner nodes and the leaves' locks
};

class WbTree {
 public:
  /// Opens the tree on the media, or makes one where the media has no segment. Errors: Corruption,
  /// OutOfSpace, IOError.
  static Result<std::unique_ptr<WbTree>> Open(std::unique_ptr<media::Media> media,
                                              const WbTreeOptions& options);
  WbTree(const WbTree&) = delete;
  WbTree& operator=(const WbTree&) = delete;

  /// Durable when it returns. Errors: OutOfSpace, IOError; nothing has changed then. Cost: four
  /// lines and three fences; a split besides about once in 32 new keys.
  Status Put(uint64_t key, uint64_t value);
  bool Get(uint64_t key, uint64_t* value) const;
  /// Whether the key was there. Three lines, three fences.
  bool Delete(uint64_t key);
  /// Calls visit(key, value) for each key from `first` on, ascending, until it returns false. Each
  /// leaf is shown as it was at one moment.
  template <class Visit>
  void ScanFrom(uint64_t first, Visit&& visit) const {
    LeafCopy copy;
    std::optional<LeafNumber> leaf;
    for (;;) {
      CopyLeaf(first, leaf, &copy);
      for (uint32_t i = 0; i < copy.count; ++i) {
        if (copy.entries[i].key < first) continue;
        if (!visit(copy.entries[i].key, copy.entries[i].value)) return;
      }
      if (copy.last == ~uint64_t{0}) return;
      first = copy.last + 1;
      leaf = copy.next;
    }
  }
  /// The same for all keys, descending.
  template <class Visit>
  void ScanBackward(Visit&& visit) const {
    LeafCopy copy;
    for (uint64_t end = ~uint64_t{0};; end = copy.low - 1) {
      CopyLeaf(end, std::nullopt, &copy);
      for (uint32_t i = copy.count; i > 0; --i) {
        const Entry& entry = copy.entries[i - 1];
        if (entry.key <= end && !visit(entry.key, entry.value)) return;
      }
      if (copy.low == 0) return;
    }
  }

  /// Checks the invariants of every leaf and that the inner nodes lead to it.
  Status Verify() const;
  WbTreeStatistics Statistics() const;
  MediaClass media_class() const { return ops_.media_class(); }
  bool media_class_forced() const { return media_->media_class_forced(); }

 private:
  /// DRAM beside each leaf.
  struct alignas(16) LeafState {
    std::atomic<uint64_t> version{0};  // odd: locked
    std::atomic<uint64_t> last{0};
  };
  static constexpr uint64_t kStatesAPage = uint64_t{1} << 12;
  static constexpr uint64_t kStatePages = uint64_t{1} << 13;
  struct StatePage {
    std::array<LeafState, kStatesAPage> states;
  };
  struct LeafCopy {
    uint64_t low = 0;
    uint64_t last = 0;
    LeafNumber next = 0;
    uint32_t count = 0;
    std::array<Entry, kLeafEntries> entries;
  };
  struct alignas(64) RedoLock {
    std::mutex mutex;
  };
  class LeafLock;

  WbTree(std::unique_ptr<media::Media> media, const WbTreeOptions& options);

  Leaf* LeafAt(LeafNumber number) const {
    return reinterpret_cast<Leaf*>(media_->base() + kLeavesOffset) + (number - 1);
  }
  Leaf* RedoRecord(size_t index) const {
    return reinterpret_cast<Leaf*>(media_->base() + kRedoOffset) + index;
  }
  LeafState* StateOf(LeafNumber number) const {
    // Acquire pairs with the release in MakeState.
    StatePage* page = state_pages_[number / kStatesAPage].load(std::memory_order_acquire);
    return &page->states[number % kStatesAPage];
  }
  void MakeState(LeafNumber number, uint64_t last);
  uint64_t LeavesIn(uint64_t pool_bytes) const {
    return pool_bytes < kLeavesOffset ? 0 : (pool_bytes - kLeavesOffset) / sizeof(Leaf);
  }

  Status Create();
  Status AddSegment(uint64_t bytes, bool first);
  Status CheckHeader() const;
  Status RedoSplits();
  Status WalkLeaves();
  Status CheckLeaf(LeafNumber number, uint64_t last) const;
  Status DamagedLeaf(LeafNumber number, const char* what) const;

  Result<LeafNumber> AllocateLeaf();
  Status Split(LeafNumber number);
  void MakeNewLeaf(Leaf* leaf, const Leaf& image);
  void CopyLeaf(uint64_t key, std::optional<LeafNumber> hint, LeafCopy* copy) const;

  const WbTreeOptions options_;
  const std::unique_ptr<media::Media> media_;
  media::PersistOps ops_;
  InnerIndex inner_;
  std::unique_ptr<std::atomic<StatePage*>[]> state_pages_;
  std::array<RedoLock, kRedoRecords> redo_locks_;

  mutable std::mutex pool_mutex_;  // guards what follows
  std::vector<std::unique_ptr<StatePage>> owned_pages_;
  std::vector<LeafNumber> free_leaves_;  // that a crash kept from being linked
  LeafNumber next_leaf_ = 1;             // the first that was never used
  uint64_t published_bytes_ = 0;
  std::atomic<uint64_t> splits_{0};
  uint64_t redone_splits_ = 0;
  uint64_t rebuilt_slots_ = 0;
};

}  // namespace braid::bench::wbtree
