// Purpose: DramBTree, a concurrent ordered map in DRAM from unique byte keys to 64-bit refs. The
// keys stay where the refs point to (log entries in persistent memory); the tree holds eight bytes
// of each and separators of its own. It is the memtable's index and the DRAM index over L1.
//
// Thread safety: all operations may run at the same time, except construction and destruction.
// Readers take no lock; a writer locks one leaf, and up to three nodes in a split. A functor passed
// to Upsert or EraseIf runs under its leaf's lock and must not call back into the tree.
//
// Invariants (1 to 5 are those of dram_btree_node.h):
//   6. A key is in the leaf that a descent by it leads to, or in none: separators never change, and
//      a node's range shrinks only in a split, which changes its state and its parent's.
//   7. A read that begins after a commit functor began in a leaf, and touches this leaf, waits for
//      the outcome. So whoever takes a snapshot number after a commit took a lower one and then
//      reads, sees that commit.
//   8. Leaves are linked in key order; the leftmost is always the first one made. Leaves may be
//      empty. No node is freed before the tree.
//   9. Locks are taken parent first and only by trying, so that no two threads wait in a circle.
//
// Persistence: none; the entries that the refs name are made durable by the commit functor, and
// recovery inserts them anew.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/prefetch.h"
#include "base/thread_slot.h"
#include "index/dram_btree_arena.h"
#include "index/dram_btree_edit.h"
#include "index/dram_btree_node.h"

namespace braid::index {

/// `KeyOf` is a cheap functor, std::string_view operator()(uint64_t ref) const. What it returns
/// must stay readable as long as any operation goes on that began before the ref left the tree.
/// It may have a member Prefetch(uint64_t ref), which FindMany calls ahead of reading the key.
/// Keys may have any length from 0 to 2^32 - 1. Refs are not 0. Memory that runs out shows as
/// std::bad_alloc from Upsert, before commit is called, and leaves the tree as it was.
template <class KeyOf>
class alignas(64) DramBTree {
 public:
  explicit DramBTree(KeyOf key_of = {}) : key_of_(std::move(key_of)) {
    first_leaf_ = arena_.template New<Leaf>(btree_internal::NodeState::Make(0, 0, 0, 0));
    root_.store(first_leaf_, std::memory_order_release);
  }
  DramBTree(const DramBTree&) = delete;
  DramBTree& operator=(const DramBTree&) = delete;

  /// Calls commit(old_ref) under the lock of the leaf that holds or will hold `key`; old_ref is the
  /// ref stored for an equal key, or 0. commit returns the ref to store, whose key must equal
  /// `key`, or 0 to leave all as it is. Returns old_ref. Cost: one descent; no allocation but for a
  /// split, about once in 32 new keys.
  template <class Commit>
  uint64_t Upsert(std::string_view key, Commit&& commit) {
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      if (!where.equal && at.state.full()) {
        MakeRoom(key);
        continue;
      }
      Leaf* leaf = const_cast<Leaf*>(at.leaf);
      NodeLock lock(leaf, at.state);
      if (!lock.held()) continue;
      // Relaxed: the lock is held.
      const uint64_t old_ref =
          where.equal ? leaf->refs[where.index].load(std::memory_order_relaxed) : 0;
      const uint64_t new_ref = commit(old_ref);
      if (new_ref == 0) return old_ref;
      if (where.equal) {
        // Release pairs with the acquire of readers (dram_btree_node.h).
        leaf->refs[where.index].store(new_ref, std::memory_order_release);
        lock.Publish(at.state.After(at.state.count()));
      } else {
        lock.Publish(InsertIntoLeaf(leaf, at.state, where, key, new_ref, key_of_));
        AddToSize(1);
      }
      return old_ref;
    }
  }

  /// The ref of `key`, or 0.
  uint64_t Find(std::string_view key) const {
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      const uint64_t ref =
          where.equal ? at.leaf->refs[where.index].load(std::memory_order_acquire) : 0;
      if (Unchanged(at.leaf, at.state)) [[likely]]
        return ref;
    }
  }

  /// refs[i] = Find(keys[i]) for i < n, with up to eight lookups under way at a time: the misses of
  /// one are hidden behind those of the others.
  void FindMany(const std::string_view* keys, uint64_t* refs, size_t n) const {
    for (size_t at = 0; at < n; at += kGroup) {
      FindGroup(keys + at, refs + at, std::min(kGroup, n - at));
    }
  }

  /// Erases `key` if it is there and pred(ref), called under the leaf's lock, is true. Returns
  /// whether it erased.
  template <class Pred>
  bool EraseIf(std::string_view key, Pred&& pred) {
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      if (!where.equal) {
        if (Unchanged(at.leaf, at.state)) return false;
        continue;
      }
      Leaf* leaf = const_cast<Leaf*>(at.leaf);
      NodeLock lock(leaf, at.state);
      if (!lock.held()) continue;
      // Relaxed: the lock is held.
      if (!pred(leaf->refs[where.index].load(std::memory_order_relaxed))) return false;
      lock.Publish(RemoveFromLeaf(leaf, at.state, where.index));
      AddToSize(-1);
      return true;
    }
  }

  /// Copies refs of keys from the first one >= key (> key if not inclusive) on, ascending, at most
  /// `cap`, all from one leaf as it was at one moment. Returns their number; 0 only if no such key
  /// is in the tree (or cap is 0). To go on, call again with the last key and inclusive = false.
  size_t ScanForward(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    if (cap == 0) return 0;
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      const uint32_t begin = where.index + (where.equal && !inclusive ? 1 : 0);
      const Node* next = at.leaf->next.load(std::memory_order_acquire);
      PrefetchRefs(next);
      const size_t n = CopyAscending(at.leaf, begin, at.state.count(), out, cap);
      if (!Unchanged(at.leaf, at.state)) continue;
      return n + WalkForward(next, out + n, cap - n);
    }
  }

  /// As ScanForward, descending from the last key <= key (< key if not inclusive).
  size_t ScanBackward(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    if (cap == 0) return 0;
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      const uint32_t end = where.index + (where.equal && inclusive ? 1 : 0);
      const Node* prev = at.leaf->prev.load(std::memory_order_acquire);
      PrefetchRefs(prev);
      const size_t n = CopyDescending(at.leaf, end, out, cap);
      if (!Unchanged(at.leaf, at.state)) continue;
      return n + WalkBackward(at.leaf, prev, out + n, cap - n);
    }
  }

  size_t ScanFromStart(uint64_t* out, size_t cap) const {
    return cap == 0 ? 0 : WalkForward(first_leaf_, out, cap);
  }
  size_t ScanFromEnd(uint64_t* out, size_t cap) const {
    return cap == 0 ? 0 : WalkBackward(nullptr, LastLeaf(), out, cap);
  }

  /// The ref of the greatest key <= key, or 0.
  uint64_t FindFloor(std::string_view key) const {
    uint64_t ref = 0;
    return ScanBackward(key, true, &ref, 1) == 0 ? 0 : ref;
  }

  /// The number of keys; exact when no operation is under way.
  size_t size() const {
    int64_t sum = 0;
    // Relaxed: a statistic, ordered with nothing.
    for (const Stripe& stripe : size_) sum += stripe.count.load(std::memory_order_relaxed);
    return static_cast<size_t>(std::max<int64_t>(sum, 0));
  }
  /// Bytes of all nodes and separators.
  size_t memory_bytes() const { return arena_.used_bytes(); }
  /// Bytes taken from the system for them: at most one block of 1 MiB more, for large trees.
  size_t reserved_bytes() const { return arena_.reserved_bytes(); }

 private:
  using Node = btree_internal::Node;
  using Leaf = btree_internal::Leaf;
  using Inner = btree_internal::Inner;
  using NodeState = btree_internal::NodeState;
  using NodeLock = btree_internal::NodeLock;
  using LeafPosition = btree_internal::LeafPosition;

  static constexpr size_t kGroup = 8;

  struct Reached {
    const Leaf* leaf;
    NodeState state;
  };
  // One counter would be the one line that all writers fight for.
  struct alignas(64) Stripe {
    std::atomic<int64_t> count{0};
  };

  void AddToSize(int64_t change) {
    // Relaxed: a statistic, ordered with nothing.
    size_[base::ThreadSlot() % size_.size()].count.fetch_add(change, std::memory_order_relaxed);
  }

  /// The root and its state, which was taken while it was the root.
  std::pair<const Node*, NodeState> AwaitRoot() const {
    for (;;) {
      // Acquire pairs with the release store of the thread that made this root.
      const Node* root = root_.load(std::memory_order_acquire);
      const NodeState state = AwaitState(root);
      if (root_.load(std::memory_order_acquire) == root) [[likely]]
        return {root, state};
    }
  }

  Reached Descend(std::string_view key) const {
    for (;;) {
      auto [node, state] = AwaitRoot();
      while (!state.is_leaf()) {
        const Inner* inner = btree_internal::AsInner(node);
        const uint32_t index = ChildIndex(inner, state, key);
        const Node* child = inner->children[index].load(std::memory_order_acquire);
        btree_internal::PrefetchSlots(child);
        const NodeState child_state = AwaitState(child);
        // Checked after the child's state was taken: then this state is of a time when the child
        // was responsible for the key (invariant 6).
        if (!Unchanged(node, state)) [[unlikely]]
          break;
        node = child;
        state = child_state;
      }
      if (state.is_leaf()) [[likely]]
        return {btree_internal::AsLeaf(node), state};
    }
  }

  /// The leaf at the right end, at some moment during the call.
  const Leaf* LastLeaf() const {
    for (;;) {
      auto [node, state] = AwaitRoot();
      while (!state.is_leaf()) {
        const Inner* inner = btree_internal::AsInner(node);
        const Node* child = inner->children[state.count()].load(std::memory_order_acquire);
        const NodeState child_state = AwaitState(child);
        if (!Unchanged(node, state)) break;
        node = child;
        state = child_state;
      }
      if (state.is_leaf()) return btree_internal::AsLeaf(node);
    }
  }

  static size_t CopyAscending(const Leaf* leaf, uint32_t begin, uint32_t end, uint64_t* out,
                              size_t cap) {
    size_t n = 0;
    for (uint32_t i = begin; i < end && n < cap; ++i) {
      out[n++] = leaf->refs[i].load(std::memory_order_acquire);
    }
    return n;
  }

  static size_t CopyDescending(const Leaf* leaf, uint32_t end, uint64_t* out, size_t cap) {
    size_t n = 0;
    for (uint32_t i = end; i > 0 && n < cap; --i) {
      out[n++] = leaf->refs[i - 1].load(std::memory_order_acquire);
    }
    return n;
  }

  /// What a walk reads of a leaf, or of none.
  static void PrefetchRefs(const Node* node) {
    if (node == nullptr) return;
    base::Prefetch(node);
    base::PrefetchRange(&btree_internal::AsLeaf(node)->refs, sizeof(Leaf::refs));
  }

  /// The first refs at or behind `node`, leaf by leaf. What was in a leaf stays before what its
  /// neighbour to the right begins with, whichever of the two is split meanwhile.
  static size_t WalkForward(const Node* node, uint64_t* out, size_t cap) {
    size_t n = 0;
    while (node != nullptr && n < cap) {
      const Leaf* leaf = btree_internal::AsLeaf(node);
      const NodeState state = AwaitState(leaf);
      const Node* next = leaf->next.load(std::memory_order_acquire);
      PrefetchRefs(next);
      const size_t more = CopyAscending(leaf, 0, state.count(), out + n, cap - n);
      if (!Unchanged(leaf, state)) continue;
      n += more;
      node = next;
    }
    return n;
  }

  /// The last refs before the leaf `behind` (nullptr: the end of the tree). `node` is a leaf to the
  /// left of it; since `prev` may lag behind splits (invariant 5), the walk goes right from there
  /// until it stands directly before `behind`.
  static size_t WalkBackward(const Node* behind, const Node* node, uint64_t* out, size_t cap) {
    size_t n = 0;
    while (node != nullptr && n < cap) {
      const Leaf* leaf = btree_internal::AsLeaf(node);
      const NodeState state = AwaitState(leaf);
      const Node* prev = leaf->prev.load(std::memory_order_acquire);
      PrefetchRefs(prev);
      const size_t more = CopyDescending(leaf, state.count(), out + n, cap - n);
      const Node* next = leaf->next.load(std::memory_order_acquire);
      if (!Unchanged(leaf, state)) continue;
      if (next != behind) {
        node = next;
        continue;
      }
      n += more;
      behind = node;
      node = prev;
    }
    return n;
  }

  /// Splits the topmost full node on the way to `key`; the caller begins again. Full inner nodes
  /// are split on the way down, so that a parent always has room for one separator more.
  void MakeRoom(std::string_view key) {
    const Node* parent = nullptr;
    NodeState parent_state;
    uint32_t index = 0;
    bool leftmost = true;
    bool rightmost = true;
    auto [node, state] = AwaitRoot();
    while (!state.full()) {
      if (state.is_leaf()) return;
      const Inner* inner = btree_internal::AsInner(node);
      index = ChildIndex(inner, state, key);
      const Node* child = inner->children[index].load(std::memory_order_acquire);
      const NodeState child_state = AwaitState(child);
      if (!Unchanged(node, state)) return;
      leftmost = leftmost && index == 0;
      rightmost = rightmost && index == state.count();
      parent = std::exchange(node, child);
      parent_state = std::exchange(state, child_state);
    }
    Split(const_cast<Node*>(parent), parent_state, index, const_cast<Node*>(node), state, key,
          leftmost, rightmost);
  }

  /// Where to part a full node. At the ends of the tree a key beyond all others leaves the full
  /// node full: loads in or against key order then fill every node.
  uint32_t SplitPoint(const Node* node, NodeState state, std::string_view key, bool leftmost,
                      bool rightmost) const {
    const uint32_t count = state.count();
    if (!leftmost && !rightmost) return count / 2;
    if (state.is_leaf()) {
      const uint32_t index = SearchLeaf(btree_internal::AsLeaf(node), state, key, key_of_).index;
      if (rightmost && index == count) return count;
      return leftmost && index == 0 ? 0 : count / 2;
    }
    const uint32_t index = ChildIndex(btree_internal::AsInner(node), state, key);
    if (rightmost && index == count) return count - 1;
    return leftmost && index == 0 ? 0 : count / 2;
  }

  void Split(Node* parent, NodeState parent_state, uint32_t index, Node* node, NodeState state,
             std::string_view key, bool leftmost, bool rightmost) {
    NodeLock parent_lock;
    if (parent != nullptr && !parent_lock.Try(parent, parent_state)) return;
    NodeLock lock(node, state);
    if (!lock.held()) return;
    // Without a parent, node still is the root: it was when its state was taken (AwaitRoot), and
    // the split that would have changed that would have changed its state.
    Inner* new_root = nullptr;
    if (parent == nullptr) {  // made before anything changes, since memory may run out
      new_root = arena_.template New<Inner>(
          NodeState::Make(state.level() + 1, 0, 0, btree_internal::kMixedLengths));
    }
    const uint32_t at = SplitPoint(node, state, key, leftmost, rightmost);
    const btree_internal::SplitOutcome done =
        state.is_leaf() ? SplitLeaf(btree_internal::AsLeaf(node), state, at, key, key_of_, arena_)
                        : SplitInner(btree_internal::AsInner(node), state, at, arena_);
    if (parent != nullptr) {
      parent_lock.Publish(InsertIntoInner(btree_internal::AsInner(parent), parent_state, index,
                                          done.separator, done.right));
    } else {
      new_root->children[0].store(node, std::memory_order_release);
      const NodeState root_state{new_root->state.load(std::memory_order_relaxed)};
      const NodeState next = InsertIntoInner(new_root, root_state, 0, done.separator, done.right);
      new_root->state.store(next.word, std::memory_order_release);
      // Release pairs with AwaitRoot; before the unlock, so that no one takes the left half's new
      // state for the root's.
      root_.store(new_root, std::memory_order_release);
    }
    lock.Publish(done.left_state);
  }

  /// Find for up to eight keys, level by level. All leaves have the same depth, so the lookups stay
  /// in step; one that meets a change falls back to Find.
  void FindGroup(const std::string_view* keys, uint64_t* refs, size_t n) const {
    std::array<const Node*, kGroup> nodes;
    std::array<NodeState, kGroup> states;
    std::array<LeafPosition, kGroup> where;
    std::array<bool, kGroup> failed{};
    auto [root, root_state] = AwaitRoot();
    nodes.fill(root);
    states.fill(root_state);
    for (uint32_t level = root_state.level(); level > 0; --level) {
      std::array<const Node*, kGroup> children;
      for (size_t i = 0; i < n; ++i) {
        const Inner* inner = btree_internal::AsInner(nodes[i]);
        const uint32_t index = ChildIndex(inner, states[i], keys[i]);
        children[i] = inner->children[index].load(std::memory_order_acquire);
        btree_internal::PrefetchHeads(children[i]);
      }
      for (size_t i = 0; i < n; ++i) {
        const NodeState child_state = AwaitState(children[i]);
        failed[i] = failed[i] || !Unchanged(nodes[i], states[i]);
        nodes[i] = children[i];
        states[i] = child_state;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const Leaf* leaf = btree_internal::AsLeaf(nodes[i]);
      where[i] = btree_internal::CandidateInLeaf(leaf, states[i], keys[i]);
      if (where[i].tied) base::Prefetch(&leaf->refs[where[i].index]);
    }
    if constexpr (requires { key_of_.Prefetch(uint64_t{}); }) {
      for (size_t i = 0; i < n; ++i) {
        if (!where[i].tied) continue;
        const Leaf* leaf = btree_internal::AsLeaf(nodes[i]);
        key_of_.Prefetch(leaf->refs[where[i].index].load(std::memory_order_acquire));
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const Leaf* leaf = btree_internal::AsLeaf(nodes[i]);
      refs[i] = 0;
      if (where[i].tied && !failed[i]) {
        if (!where[i].equal) where[i] = Resolve(leaf, states[i], keys[i], where[i], key_of_);
        if (where[i].equal) refs[i] = leaf->refs[where[i].index].load(std::memory_order_acquire);
      }
      if (failed[i] || !Unchanged(leaf, states[i])) refs[i] = Find(keys[i]);
    }
  }

  [[no_unique_address]] KeyOf key_of_;
  std::atomic<Node*> root_{nullptr};
  Leaf* first_leaf_ = nullptr;
  btree_internal::NodeArena arena_;
  std::array<Stripe, 8> size_;
};

}  // namespace braid::index
