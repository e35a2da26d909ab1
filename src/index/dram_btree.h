// Purpose: DramBTree, a concurrent ordered map in DRAM from unique byte keys to 64-bit refs. The
// keys stay where the refs point to (log entries in persistent memory); the tree holds eight bytes
// of each and separators of its own. It is the memtable's index and the DRAM index over L1.
//
// Thread safety: all operations may run at the same time, except construction and destruction.
// Readers take no lock; a writer locks one leaf, and up to three nodes in a split or a join. A
// functor passed to Upsert or EraseIf runs under its leaf's lock and must not call back into the
// tree. Where nodes are to be used again (TakeRetired), all operations run inside an EpochGuard, or
// on the thread that takes them.
//
// Invariants (1 to 6 are those of dram_btree_node.h):
//   7. A key is in the leaf that a descent by it leads to, or in none: a node's range shrinks only
//      in a split, or when it shares with a neighbour, which changes its state and its parent's.
//   8. A read that begins after a commit functor began in a leaf, and touches this leaf, waits for
//      the outcome. So a thread that takes a snapshot number after a commit took a lower one, and
//      then reads, sees that commit.
//   9. Leaves are linked in key order; the leftmost is always the first one made, since the right
//      one of two leaves gives way. A leaf may be empty as long as nothing was erased from it; what
//      an erasure leaves sparse is joined with its neighbour.
//  10. Locks are taken parent first, then from left to right, and only by trying, so that no two
//      threads wait in a circle.
//
// Persistence: none; the entries that the refs name are made durable by the commit functor, and
// recovery inserts them again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/thread_slot.h"
#include "index/dram_btree_arena.h"
#include "index/dram_btree_edit.h"
#include "index/dram_btree_join.h"
#include "index/dram_btree_node.h"
#include "index/dram_btree_scan.h"
#include "index/keyed_refs.h"

namespace braid::index {

/// `KeyOf` is a cheap functor, std::string_view operator()(uint64_t ref) const. What it returns
/// must stay readable as long as any operation goes on that began before the ref left the tree.
/// It may have a member Prefetch(uint64_t ref), which FindMany calls ahead of reading the key, and
/// PrefetchEntry(uint64_t ref), which scans call for what is read first.
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
  /// `key`, or 0 to leave all as it is. Returns old_ref. Cost: one descent; no allocation except
  /// for a split, about once in 32 new keys.
  template <class Commit>
  uint64_t Upsert(std::string_view key, Commit&& commit) {
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      BRAID_DCHECK(where.index + (where.equal ? 1u : 0u) <= at.state.count());
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

  /// Puts `key`, which is above all keys of the tree, behind them; nobody else changes the tree.
  /// Cost: no search; a split for each full leaf.
  void Append(std::string_view key, uint64_t ref) {
    for (;;) {
      Leaf* const leaf = const_cast<Leaf*>(LastLeaf());
      const NodeState state = AwaitState(leaf);
      if (state.full()) {
        MakeRoom(key);
        continue;
      }
      NodeLock lock(leaf, state);
      if (!lock.held()) continue;
      const uint32_t count = state.count();
      // Relaxed: the lock is held.
      const auto last = [&](const auto& slots) {
        return slots[count - 1].load(std::memory_order_relaxed);
      };
      BRAID_DCHECK(count == 0 || key_of_(last(leaf->refs)) < key);
      const bool tied = count > 0 && last(leaf->heads) == base::WordAt(key, state.prefix_length());
      const LeafPosition end{.index = count, .equal = false, .tied = tied};
      lock.Publish(InsertIntoLeaf(leaf, state, end, key, ref, key_of_));
      AddToSize(1);
      return;
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

  /// Stores run[i].to in the place of run[i].from for i < n, as far as those come in this order,
  /// from `key` on, in one leaf; others may stand in between. Returns how many. The keys stay, so
  /// nothing else changes.
  template <class Change>
  size_t ReplaceRun(std::string_view key, const Change* run, size_t n) {
    for (;;) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      if (!where.equal) {
        if (Unchanged(at.leaf, at.state)) return 0;
        continue;
      }
      Leaf* leaf = const_cast<Leaf*>(at.leaf);
      NodeLock lock(leaf, at.state);
      if (!lock.held()) continue;
      // Relaxed: the lock is held.
      if (n == 0 || leaf->refs[where.index].load(std::memory_order_relaxed) != run[0].from)
        return 0;
      size_t done = 0;
      for (uint32_t i = where.index; i < at.state.count() && done < n; ++i) {
        std::atomic<uint64_t>& ref = leaf->refs[i];
        if (ref.load(std::memory_order_relaxed) != run[done].from) continue;
        // Release pairs with the acquire of readers (dram_btree_node.h).
        ref.store(run[done].to, std::memory_order_release);
        ++done;
      }
      lock.Publish(at.state.After(at.state.count()));
      return done;
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
      const NodeState next = RemoveFromLeaf(leaf, at.state, where.index);
      lock.Publish(next);
      AddToSize(-1);
      if (next.sparse() && next.count() % kJoinEvery == 0) {
        while (JoinOnTheWay(key)) {
        }
      }
      return true;
    }
  }

  /// Copies refs of keys from the first one >= key (> key if not inclusive) on, ascending, at most
  /// `cap`, as each leaf was at one moment. Returns their number; 0 only if no such key is in the
  /// tree (or cap is 0). To go on, call again with the last key and inclusive = false.
  size_t ScanForward(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    btree_internal::RefsOut refs(out, cap);
    ScanForwardInto(key, inclusive, &refs);
    return refs.count();
  }

  /// As ScanForward, descending from the last key <= key (< key if not inclusive).
  size_t ScanBackward(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    btree_internal::RefsOut refs(out, cap);
    ScanBackwardInto(key, inclusive, &refs);
    return refs.count();
  }

  /// The same, from either end or either way, with what the leaves know of the keys. Fewer than
  /// `cap` also where they are of too many leaves.
  size_t ScanKeyed(const ScanStart& start, KeyedRefs* out, size_t cap) const {
    btree_internal::KeyedOut keyed(out, cap);
    if (start.forward) {
      start.from_end ? ScanFromStartInto(&keyed)
                     : ScanForwardInto(start.key, start.inclusive, &keyed);
    } else {
      start.from_end ? ScanFromEndInto(&keyed)
                     : ScanBackwardInto(start.key, start.inclusive, &keyed);
    }
    return keyed.count();
  }

  /// As ScanBackward, not inclusive, but reads no entry where a few heads at most are equal to that
  /// of `key`: keys that are so near to it are left out.
  /// `finger`: the leaf that the last search came to, or null, and its state. No descent where it
  /// is that of `key`, too; it is set to that of this search.
  template <class Finger>
  size_t ScanBefore(std::string_view key, uint64_t* out, size_t cap, Finger* finger) const {
    btree_internal::RefsOut refs(out, cap);
    while (refs.room() != 0) {
      const Reached at = DescendFrom(*finger, key);
      *finger = {at.leaf, at.state.word};
      LeafPosition where = CandidateInLeaf(at.leaf, at.state, key);
      if (where.tied && !where.equal && HasManyTies(at.leaf, at.state, where.index)) {
        where = Resolve(at.leaf, at.state, key, where, key_of_);
      }
      if (CopyBackward(at, where.index, &refs)) break;
    }
    return refs.count();
  }

  size_t ScanFromStart(uint64_t* out, size_t cap) const {
    btree_internal::RefsOut refs(out, cap);
    ScanFromStartInto(&refs);
    return refs.count();
  }
  size_t ScanFromEnd(uint64_t* out, size_t cap) const {
    btree_internal::RefsOut refs(out, cap);
    ScanFromEndInto(&refs);
    return refs.count();
  }

  /// The ref of the greatest key <= key, or 0.
  uint64_t FindFloor(std::string_view key) const {
    uint64_t ref = 0;
    return ScanBackward(key, true, &ref, 1) == 0 ? 0 : ref;
  }

  /// Whether no key is in it, nor was its number drawn for one that is on its way (invariant 8). A
  /// tree whose keys were erased may say no.
  bool is_empty() const {
    const NodeState state = AwaitRoot().second;
    return state.is_leaf() && state.count() == 0;
  }
  /// The number of keys; exact when no operation is under way.
  size_t size() const {
    int64_t sum = 0;
    // Relaxed: a statistic, ordered with nothing.
    for (const Stripe& stripe : size_) sum += stripe.count.load(std::memory_order_relaxed);
    return static_cast<size_t>(std::max<int64_t>(sum, 0));
  }
  using Retired = btree_internal::NodeArena::Retired;
  /// The nodes that have given way until now. They are used again once the caller has waited for
  /// the operations that are under way, and called Reuse.
  Retired TakeRetired() noexcept { return arena_.TakeRetired(); }
  void Reuse(Retired retired) noexcept { arena_.Reuse(retired); }
  size_t retired_bytes() const { return arena_.retired_bytes(); }

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
  /// Entries that a scan asks for before it goes on to the next leaf.
  static constexpr size_t kFirstEntries = 2;
  /// A sparse leaf is looked at when so many more keys have left it.
  static constexpr uint32_t kJoinEvery = 8;

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
      if (root_.load(std::memory_order_acquire) == root) [[likely]] {
        BRAID_DCHECK(!state.unlinked());  // invariant 6
        return {root, state};
      }
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
        // All leaves have the same depth.
        BRAID_DCHECK(child_state.level() + 1 == state.level() && !child_state.unlinked());
        node = child;
        state = child_state;
      }
      if (state.is_leaf()) [[likely]]
        return {btree_internal::AsLeaf(node), state};
    }
  }

  /// The leaf of `finger`, where it is as it was then, and has keys on both sides of `key`; else by
  /// a descent.
  template <class Finger>
  Reached DescendFrom(const Finger& finger, std::string_view key) const {
    const auto* leaf = static_cast<const Leaf*>(finger.leaf);
    if (leaf == nullptr) return Descend(key);
    const NodeState state{finger.state};
    BRAID_DCHECK(state.is_leaf() && !state.locked());
    const bool is_here = btree_internal::IsBetweenHeads(leaf, state, key);
    if (!Unchanged(leaf, state) || !is_here) return Descend(key);
    return {leaf, state};
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
        BRAID_DCHECK(child_state.level() + 1 == state.level() && !child_state.unlinked());
        node = child;
        state = child_state;
      }
      if (state.is_leaf()) return btree_internal::AsLeaf(node);
    }
  }

  // What follows puts refs into an `Out` (dram_btree_scan.h) that has none yet.

  template <class Out>
  void ScanForwardInto(std::string_view key, bool inclusive, Out* out) const {
    while (out->room() != 0) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      const uint32_t begin = where.index + (where.equal && !inclusive ? 1 : 0);
      const Node* next = at.leaf->next.load(std::memory_order_acquire);
      PrefetchNext(true, next, at.state.count() - begin, *out);
      out->Copy(true, at.leaf, at.state, begin, at.state.count());
      if (!Unchanged(at.leaf, at.state)) continue;
      out->Keep();
      PrefetchEntries(*out);
      if (WalkForward(next, out)) return;
    }
  }

  template <class Out>
  void ScanBackwardInto(std::string_view key, bool inclusive, Out* out) const {
    while (out->room() != 0) {
      const Reached at = Descend(key);
      const LeafPosition where = SearchLeaf(at.leaf, at.state, key, key_of_);
      if (CopyBackward(at, where.index + (where.equal && inclusive ? 1 : 0), out)) return;
    }
  }

  /// From before slot `end` of a leaf on. False when the caller is to begin again.
  template <class Out>
  bool CopyBackward(const Reached& at, uint32_t end, Out* out) const {
    const Node* prev = at.leaf->prev.load(std::memory_order_acquire);
    PrefetchNext(false, prev, end, *out);
    out->Copy(false, at.leaf, at.state, 0, end);
    if (!Unchanged(at.leaf, at.state)) return false;
    out->Keep();
    PrefetchEntries(*out);
    return WalkBackward(at.leaf, prev, out);
  }

  /// Asks for what a scan looks at first: it comes while the next leaf is waited for.
  template <class Out>
  void PrefetchEntries(const Out& out) const {
    if constexpr (requires { key_of_.PrefetchEntry(uint64_t{}); }) {
      for (size_t i = 0; i < std::min(out.count(), kFirstEntries); ++i) {
        key_of_.PrefetchEntry(out.refs()[i]);
      }
    }
  }

  template <class Out>
  void ScanFromStartInto(Out* out) const {
    while (out->room() != 0) {
      if (WalkForward(first_leaf_, out)) return;
    }
  }
  template <class Out>
  void ScanFromEndInto(Out* out) const {
    while (out->room() != 0) {
      if (WalkBackward(nullptr, LastLeaf(), out)) return;
    }
  }

  /// Whether more keys than can be passed over have the head of that at `index`.
  static bool HasManyTies(const Leaf* leaf, NodeState state, uint32_t index) {
    constexpr uint32_t kFew = 4;
    return index + kFew < state.count() &&
           leaf->heads[index + kFew].load(std::memory_order_acquire) ==
               leaf->heads[index].load(std::memory_order_acquire);
  }

  /// Asks for what comes behind a leaf of which `here` slots are copied, if there is room for more.
  template <class Out>
  static void PrefetchNext(bool forward, const Node* node, size_t here, const Out& out) {
    if (node == nullptr || here >= out.room()) return;
    out.Prefetch(forward, btree_internal::AsLeaf(node), out.room() - here);
  }

  /// Adds the first refs at or behind `node` to those of `out`, leaf by leaf. What was in a leaf
  /// stays before what its neighbour to the right begins with, whichever of the two is split
  /// meanwhile, and even if they are joined. False when there is none yet and the way is lost: a
  /// leaf on it has given way. The caller begins again then, by the key.
  template <class Out>
  static bool WalkForward(const Node* node, Out* out) {
    while (node != nullptr && out->room() != 0) {
      const Leaf* leaf = btree_internal::AsLeaf(node);
      const NodeState state = AwaitState(leaf);
      if (state.unlinked()) return out->count() != 0;
      const Node* next = leaf->next.load(std::memory_order_acquire);
      PrefetchNext(true, next, state.count(), *out);
      out->Copy(true, leaf, state, 0, state.count());
      if (!Unchanged(leaf, state)) continue;
      out->Keep();
      node = next;
    }
    return true;
  }

  /// The same for the last refs before the leaf `behind` (nullptr: the end of the tree). `node` is
  /// a leaf to the left of it; since a `prev` that was read may be older than a split (invariant
  /// 5), the walk goes right from there until it stands directly before `behind`.
  template <class Out>
  static bool WalkBackward(const Node* behind, const Node* node, Out* out) {
    while (node != nullptr && out->room() != 0) {
      const Leaf* leaf = btree_internal::AsLeaf(node);
      const NodeState state = AwaitState(leaf);
      if (state.unlinked()) return out->count() != 0;
      const Node* prev = leaf->prev.load(std::memory_order_acquire);
      PrefetchNext(false, prev, state.count(), *out);
      out->Copy(false, leaf, state, 0, state.count());
      const Node* next = leaf->next.load(std::memory_order_acquire);
      if (!Unchanged(leaf, state)) continue;
      if (next != behind) {
        // Nothing leads to a leaf that has given way, and the end may be another one by now.
        if (next == nullptr || HasGivenWay(behind)) return out->count() != 0;
        node = next;
        continue;
      }
      out->Keep();
      behind = node;
      node = prev;
    }
    return true;
  }

  /// `node` may be null. Its lock is not waited for.
  static bool HasGivenWay(const Node* node) {
    return node != nullptr && NodeState{node->state.load(std::memory_order_acquire)}.unlinked();
  }

  /// Joins one sparse node on the way to `key` with a neighbour, where they fit together, or makes
  /// the root one level lower. Topmost first, so that a parent has two children at least when these
  /// are looked at. False when there was nothing to do.
  bool JoinOnTheWay(std::string_view key) {
    auto [node, state] = AwaitRoot();
    if (!state.is_leaf() && state.count() == 0) return LowerRoot(const_cast<Node*>(node), state);
    while (!state.is_leaf()) {
      const Inner* inner = btree_internal::AsInner(node);
      const uint32_t index = ChildIndex(inner, state, key);
      const Node* child = inner->children[index].load(std::memory_order_acquire);
      const NodeState child_state = AwaitState(child);
      if (!Unchanged(node, state)) return true;
      if (child_state.sparse()) {
        auto* parent = const_cast<Inner*>(inner);
        if (index < state.count() && JoinAt(parent, state, index)) return true;
        if (index > 0 && JoinAt(parent, state, index - 1)) return true;
      }
      node = child;
      state = child_state;
    }
    return false;
  }

  /// The only child of the root takes its place.
  bool LowerRoot(Node* root, NodeState state) {
    BRAID_DCHECK(!state.is_leaf() && state.count() == 0);
    NodeLock lock(root, state);
    if (!lock.held()) return true;
    BRAID_DCHECK(root_.load(std::memory_order_relaxed) == root);  // see Split
    // Release pairs with AwaitRoot. Before the root says that it is left: a thread that finds it
    // so finds the next one.
    root_.store(btree_internal::AsInner(root)->children[0].load(std::memory_order_relaxed),
                std::memory_order_release);
    lock.Publish(state.Unlinked());
    arena_.Retire(root, nullptr);
    return true;
  }

  /// Joins children `index` and `index` + 1, or lets an inner one that has a single child left
  /// share with the other. False when they are to stay as they are; true, too, when somebody else
  /// was there first.
  bool JoinAt(Inner* parent, NodeState state, uint32_t index) {
    BRAID_DCHECK(!state.is_leaf() && index < state.count());
    Node* left = parent->children[index].load(std::memory_order_acquire);
    Node* right = parent->children[index + 1].load(std::memory_order_acquire);
    const NodeState left_state = AwaitState(left);
    const NodeState right_state = AwaitState(right);
    const bool fit = btree_internal::FitTogether(left_state, right_state);
    if (!fit && (left_state.is_leaf() || (left_state.count() != 0 && right_state.count() != 0))) {
      return !Unchanged(parent, state);
    }
    NodeLock parent_lock(parent, state);
    if (!parent_lock.held()) return true;
    NodeLock left_lock(left, left_state);
    if (!left_lock.held()) return true;
    NodeLock right_lock(right, right_state);
    if (!right_lock.held()) return true;
    BRAID_DCHECK(left_state.level() + 1 == state.level());
    BRAID_DCHECK(right != first_leaf_);  // invariant 9
    const btree_internal::Separator* between =
        parent->separators[index].load(std::memory_order_relaxed);
    if (left_state.is_leaf()) {
      left_lock.Publish(JoinLeaves(btree_internal::AsLeaf(left), left_state,
                                   btree_internal::AsLeaf(right), right_state, key_of_));
    } else {
      const btree_internal::InnerRow row(btree_internal::AsInner(left), left_state.count(), between,
                                         btree_internal::AsInner(right), right_state.count());
      const uint32_t end = fit ? row.count() : row.count() / 2;
      left_lock.Publish(row.CopyTo(btree_internal::AsInner(left), left_state, 0, end));
      if (!fit) {
        right_lock.Publish(
            row.CopyTo(btree_internal::AsInner(right), right_state, end + 1, row.count()));
        parent_lock.Publish(
            btree_internal::ReplaceSeparator(parent, state, index, row.separator(end)));
        return true;
      }
    }
    parent_lock.Publish(btree_internal::RemoveFromInner(parent, state, index));
    right_lock.Publish(right_state.Unlinked());
    arena_.Retire(right, right_state.is_leaf() ? between : nullptr);
    return true;
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
    BRAID_DCHECK(state.full() && (parent == nullptr || !parent_state.full()));
    NodeLock parent_lock;
    if (parent != nullptr && !parent_lock.TryLock(parent, parent_state)) return;
    NodeLock lock(node, state);
    if (!lock.held()) return;
    // Without a parent, node still is the root: it was when its state was taken (AwaitRoot), and
    // the split that would have changed that would have changed its state.
    BRAID_DCHECK(parent != nullptr || root_.load(std::memory_order_relaxed) == node);
    Inner* new_root = nullptr;
    if (parent == nullptr) {  // made before anything changes, since memory may run out
      new_root = arena_.template New<Inner>(
          NodeState::Make(state.level() + 1, 0, 0, btree_internal::kMixedLengths));
    }
    const uint32_t at = SplitPoint(node, state, key, leftmost, rightmost);
    const btree_internal::SplitOutcome done =
        state.is_leaf() ? SplitLeaf(btree_internal::AsLeaf(node), state, at, key, key_of_, arena_)
                        : SplitInner(btree_internal::AsInner(node), state, at, arena_);
    BRAID_DCHECK(done.left_state.count() == at);
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
    BRAID_DCHECK(n <= kGroup);
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
        BRAID_DCHECK(child_state.level() + 1 == level);  // in step, also where one has failed
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
