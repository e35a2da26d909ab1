// Purpose: the upper levels of a skip list whose bottom level is a list of leaves: DRAM only, a
// tower for some leaves, heights decided by searches and not by chance. A search that passes more
// than `span` nodes on a level asks for the node where it stands to be raised by one level. The key
// space is cut into ranges, each with heads of its own; ranges that get large are divided, small
// neighbours are united.
// Thread safety: Find from any thread, inside an EpochGuard, without locks. Changes are serialised
// by a mutex of this object, which is the last in every order of locks and is held for a few steps.
// Invariants:
//   1. Every level of a range is sorted by key; a node of a level stands on one of the level below.
//   2. A node's leaf begins at or before the node's key, and is not replaced for longer than its
//      replacement takes. So a search ends at or to the left of the leaf it looks for, and the
//      leaves' own links lead on.
//   3. What was unlinked is deleted after a grace period.
// Persistence: none.
// Source: NV-Skiplist 3.4, Algorithm 2 (deterministic heights), multiple headers; the division of
// ranges is what the source leaves as future work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "leaf/leaf_node.h"

namespace braid::leaf {

/// A node of a tower: the one of level 1 stands on a leaf.
struct SpanNode {
  SpanNode(std::string node_key, bool is_head)
      : key(std::move(node_key)), prefix(KeyPrefix(key)), head(is_head) {}

  const std::string key;
  const uint64_t prefix;
  const bool head;
  std::atomic<SpanNode*> next{nullptr};
  SpanNode* down = nullptr;              // set before the node is shown
  std::atomic<LeafNode*> leaf{nullptr};  // level 1 only
  // Under SpanSkipList::mutex_:
  SpanNode* up = nullptr;
  SpanNode* sibling = nullptr;  // the next one on the same leaf; of the next that was removed
  bool removed = false;
};

class SpanSkipList {
 public:
  struct Limits {
    uint32_t span = 3;
    uint32_t ranges = 1;            ///< at first, of equal width
    bool divide = true;             ///< divide and unite ranges
    uint64_t leaves_a_range = 256;  ///< least number of leaves at which a range is divided
  };
  /// What a search found worth raising.
  struct Raises {
    static constexpr int kMax = 4;
    struct One {
      SpanNode* node;
      LeafNode* leaf;
    };
    One all[kMax];
    int count = 0;
    void Add(SpanNode* node, LeafNode* leaf) noexcept {
      if (count < kMax) all[count++] = {node, leaf};
    }
  };
  /// What was unlinked; destroyed by the owner after a grace period.
  class Garbage {
   public:
    Garbage() = default;
    Garbage(Garbage&& other) noexcept
        : nodes_(std::exchange(other.nodes_, nullptr)), others_(std::move(other.others_)) {}
    ~Garbage();
    bool empty() const noexcept { return nodes_ == nullptr && others_.empty(); }

   private:
    friend class SpanSkipList;
    SpanNode* nodes_ = nullptr;
    std::vector<std::shared_ptr<const void>> others_;
  };

  /// `first`: the head of the list of leaves, which is never destroyed.
  SpanSkipList(LeafNode* first, const Limits& limits);
  ~SpanSkipList();

  /// The last leaf that begins at or before `key` (`before`: strictly before it, or the list's
  /// head), as of some moment of the call; replaced when it is just being so. Inside an
  /// EpochGuard. `raises` may be null.
  LeafNode* Find(std::string_view key, Raises* raises) const noexcept {
    return Search<false>(key, raises);
  }
  LeafNode* FindBefore(std::string_view key) const noexcept { return Search<true>(key, nullptr); }

  /// The last leaf of all; as Find.
  LeafNode* FindLast() const noexcept;

  /// Carries out what a search asked for, in the range of `key`. Inside the EpochGuard of the
  /// search. Without memory it does nothing.
  void Raise(std::string_view key, const Raises& raises) noexcept;

  /// Towers of `old` leaves, which are marked replaced, go to those of `made`, or to `before`.
  void Replace(LeafNode* before, const std::vector<LeafNode*>& old,
               const std::vector<LeafNode*>& made) noexcept;

  /// Counts a leaf that the open has found, where Replace did not.
  void Count(const LeafNode* leaf) noexcept;

  Garbage TakeGarbage() noexcept;
  void PutBack(Garbage garbage);
  uint64_t nodes() const noexcept { return nodes_.load(std::memory_order_relaxed); }
  uint64_t ranges() const;
  std::vector<std::string> RangeLows() const;
  /// What contradicts the invariants, as text; while nobody changes the list.
  std::vector<std::string> Check() const;

 private:
  static constexpr uint32_t kMaxLevels = 20;
  struct Range {
    std::string low;
    std::atomic<SpanNode*> top{nullptr};
    std::vector<SpanNode*> heads;  // mutex_; by level, from 1
    std::atomic<int64_t> leaves{0};
  };
  struct Directory {
    std::vector<uint64_t> prefixes;
    std::vector<Range*> ranges;
    Range* Find(std::string_view key) const noexcept { return ranges[Position(key)]; }
    size_t Position(std::string_view key) const noexcept;
  };

  template <bool kStrict>
  LeafNode* Search(std::string_view key, Raises* raises) const noexcept;
  static SpanNode* PredecessorAt(const Range& range, size_t level, std::string_view key,
                                 bool strict) noexcept;
  void RaiseLeaf(std::string_view key, LeafNode* leaf) BRAID_REQUIRES(mutex_);
  void RaiseNode(SpanNode* node) BRAID_REQUIRES(mutex_);
  void RemoveTower(SpanNode* bottom) noexcept BRAID_REQUIRES(mutex_);
  static void Point(SpanNode* node, LeafNode* leaf) noexcept;
  static void Detach(SpanNode* node) noexcept;
  void AddHead(Range* range, LeafNode* leaf);
  void Divide(Range* range) BRAID_REQUIRES(mutex_);
  void Unite(size_t left) BRAID_REQUIRES(mutex_);
  void FitRange(Range* range) BRAID_REQUIRES(mutex_);
  void Publish(std::shared_ptr<Directory> next) BRAID_REQUIRES(mutex_);
  void Discard(SpanNode* node) noexcept BRAID_REQUIRES(mutex_);
  uint64_t DivideAt() const noexcept BRAID_REQUIRES(mutex_);

  const Limits limits_;
  LeafNode* const first_;
  mutable base::Mutex mutex_;
  std::atomic<const Directory*> directory_{nullptr};
  std::shared_ptr<Directory> directory_owner_ BRAID_GUARDED_BY(mutex_);
  // Those of the directory, in order.
  std::vector<std::shared_ptr<Range>> ranges_ BRAID_GUARDED_BY(mutex_);
  SpanNode* garbage_ BRAID_GUARDED_BY(mutex_) = nullptr;
  std::vector<std::shared_ptr<const void>> discarded_ BRAID_GUARDED_BY(mutex_);
  std::atomic<uint64_t> nodes_{0};
};

}  // namespace braid::leaf
