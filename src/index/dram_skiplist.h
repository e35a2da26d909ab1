// Purpose: DramSkipList, a concurrent ordered map in DRAM from unique byte keys to 64-bit refs: the
// memtable of ListDB, with the contract of DramBTree. A node holds its key, so that searches read
// no persistent memory.
//
// Thread safety: all operations may run at the same time, except construction and destruction.
// Readers take no lock; a writer locks one node. A functor passed to Upsert or EraseIf runs under
// that lock and must not call back into the list.
//
// Invariants:
//   1. A node's lock guards its ref and the gap behind it, that is link(0): both change only while
//      it is held. A key that is not in the list belongs to the gap behind its predecessor.
//   2. A read that begins after a commit functor began waits for it if it comes to the place: it
//      looks at the lock before it reads the ref, and before it takes a gap for empty. A commit
//      that locks after that look draws its number later than the reader its own.
//   3. Nodes are never unlinked and never freed before the list. So a predecessor stays one, a node
//      found by its key stays its node, and an erased key is a node whose ref is 0.
//   4. Layers above the bottom are shortcuts, linked after it without a lock: each is a sorted part
//      of the bottom layer. A search is right without them.
//   5. No thread holds two locks.
//
// Persistence: none; the commit functor makes entries durable, and recovery inserts them again.
// Source: ListDB 6.2 (skip list as the memtable); locks and the waiting of readers are braid's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/compare.h"
#include "base/thread_random.h"
#include "base/thread_slot.h"
#include "index/dram_btree_node.h"
#include "index/dram_skiplist_arena.h"

namespace braid::index {

/// Keys may have any length from 0 to 2^32 - 1. Refs are not 0. Memory that runs out shows as
/// std::bad_alloc from Upsert, before commit is called, and leaves the list as it was.
class alignas(64) DramSkipList {
 public:
  DramSkipList() {
    void* memory = arena_.Allocate(Node::Bytes(kMaxHeight, 0));
    head_ = ::new (memory) Node(kMaxHeight, {});
  }
  DramSkipList(const DramSkipList&) = delete;
  DramSkipList& operator=(const DramSkipList&) = delete;

  /// Calls commit(old_ref) under the lock of the place that holds or will hold `key`; old_ref is
  /// the ref stored for an equal key, or 0. commit returns the ref to store, or 0 to leave all as
  /// it is. Returns old_ref. Cost: one descent, and one allocation for a new key.
  template <class Commit>
  uint64_t Upsert(std::string_view key, Commit&& commit) {
    const Target target(key);
    Path path;
    Node* at = Descend(target, &path);
    Unused unused(&arena_);
    for (;;) {
      Node* next = Walk(target, &at);
      if (next != nullptr && next->Compare(target) == 0) return Replace(next, commit);
      // Memory may run out: before anything is locked.
      if (unused.node == nullptr) unused.Make(key, RandomHeight());
      NodeLock lock(at);
      // Relaxed: the lock is held.
      if (at->link(0).load(std::memory_order_relaxed) != next) continue;
      const uint64_t ref = commit(uint64_t{0});
      if (ref == 0) return 0;
      Node* node = unused.Take();
      node->ref.store(ref, std::memory_order_relaxed);
      node->link(0).store(next, std::memory_order_relaxed);
      // Release pairs with the acquire in Next: the node is complete when it is found.
      at->link(0).store(node, std::memory_order_release);
      lock.Unlock();
      LinkShortcuts(node, target, path);
      AddToSize(1);
      return 0;
    }
  }

  /// Erases `key` if it is there and pred(ref), called under the lock, is true. Returns whether it
  /// erased. The node stays until the list is destroyed.
  template <class Pred>
  bool EraseIf(std::string_view key, Pred&& pred) {
    const Target target(key);
    Node* at = Descend(target, nullptr);
    for (;;) {
      Node* next = Walk(target, &at);
      if (next == nullptr || next->Compare(target) != 0) {
        if (IsEmptyGap(at, next)) return false;
        continue;
      }
      const NodeLock lock(next);
      const uint64_t ref = next->ref.load(std::memory_order_relaxed);  // the lock is held
      if (ref == 0 || !pred(ref)) return false;
      next->ref.store(0, std::memory_order_release);
      AddToSize(-1);
      return true;
    }
  }

  /// The ref of `key`, or 0.
  uint64_t Find(std::string_view key) const {
    const Target target(key);
    Node* at = Descend(target, nullptr);
    for (;;) {
      Node* next = Walk(target, &at);
      if (next != nullptr && next->Compare(target) == 0) return AwaitRef(next);
      if (IsEmptyGap(at, next)) [[likely]]
        return 0;
    }
  }

  /// The ref of the greatest key <= key, or 0.
  uint64_t FindFloor(std::string_view key) const {
    uint64_t ref = 0;
    return ScanBackward(key, true, &ref, 1) == 0 ? 0 : ref;
  }

  /// Copies refs of keys from the first one >= key (> key if not inclusive) on, ascending, at most
  /// `cap` and at most kScan. Returns their number; 0 only if no such key is in the list (or cap is
  /// 0). To go on, call again with the last key and inclusive = false.
  size_t ScanForward(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    const Target target(key);
    return Collect(Descend(target, nullptr), &target, inclusive, out, cap);
  }
  size_t ScanFromStart(uint64_t* out, size_t cap) const {
    return Collect(head_, nullptr, true, out, cap);
  }

  /// The same, descending from the last key <= key (< key if not inclusive).
  size_t ScanBackward(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    const Target target(key);
    return CollectBefore(&target, inclusive, out, cap);
  }
  size_t ScanFromEnd(uint64_t* out, size_t cap) const {
    return CollectBefore(nullptr, true, out, cap);
  }

  /// The number of keys; exact when no operation is under way.
  size_t size() const {
    int64_t sum = 0;
    // Relaxed: a statistic, ordered with nothing.
    for (const Stripe& stripe : size_) sum += stripe.count.load(std::memory_order_relaxed);
    return static_cast<size_t>(std::max<int64_t>(sum, 0));
  }
  /// Bytes of all nodes.
  size_t memory_bytes() const { return arena_.used_bytes(); }
  /// Bytes taken from the system for them.
  size_t reserved_bytes() const { return arena_.reserved_bytes(); }

  static constexpr uint32_t kMaxHeight = 12;  // 4^12 nodes at the ratio of 1/4
  /// Refs copied by one scan at most: a reader of a few keys should not touch many nodes.
  static constexpr size_t kScan = 32;

 private:
  /// A key to compare with, and its first eight bytes as a number.
  struct Target {
    explicit Target(std::string_view sought) : key(sought), head(base::WordAt(sought, 0)) {}
    std::string_view key;
    uint64_t head;
  };

  struct Node {
    Node(uint32_t tower, std::string_view key)
        : head(base::WordAt(key, 0)),
          key_bytes(static_cast<uint32_t>(key.size())),
          height(static_cast<uint16_t>(tower)) {
      BRAID_DCHECK(tower >= 1 && tower <= kMaxHeight && key_bytes == key.size());
      for (uint32_t layer = 0; layer < tower; ++layer) {
        ::new (&link(layer)) std::atomic<Node*>(nullptr);
      }
      if (!key.empty()) std::memcpy(static_cast<void*>(&link(tower)), key.data(), key.size());
    }
    static size_t Bytes(uint32_t tower, size_t key_bytes) noexcept {
      return (sizeof(Node) + tower * sizeof(std::atomic<Node*>) + key_bytes + 7) & ~size_t{7};
    }
    /// The links lie behind the node, bottom first; the key follows them.
    std::atomic<Node*>& link(uint32_t layer) noexcept {
      BRAID_DCHECK(layer <= height);  // the key lies where one more would be
      return reinterpret_cast<std::atomic<Node*>*>(this + 1)[layer];
    }
    const std::atomic<Node*>& link(uint32_t layer) const noexcept {
      return const_cast<Node*>(this)->link(layer);
    }
    std::string_view key() const noexcept {
      return {reinterpret_cast<const char*>(&link(height)), key_bytes};
    }
    /// Sign of this node's key against `target`.
    int Compare(const Target& target) const noexcept {
      if (head != target.head) return head < target.head ? -1 : 1;
      return key().compare(target.key);
    }

    uint64_t head;  // of the key
    std::atomic<uint64_t> ref{0};
    uint32_t key_bytes;
    uint16_t height;
    std::atomic<uint16_t> locked{0};
  };
  static_assert(sizeof(Node) == 24);
  static_assert(sizeof(Node) % alignof(std::atomic<Node*>) == 0, "links lie behind it");

  using Path = std::array<Node*, kMaxHeight>;

  /// Spins, since a commit takes a fence or two; yields when the holder has lost its processor.
  static void Pause(uint32_t spins) {
    if (spins < 100) {
      btree_internal::CpuPause();
    } else {
      sched_yield();
    }
  }

  class NodeLock {
   public:
    explicit NodeLock(Node* node) : node_(node) {
      for (uint32_t spins = 0;; ++spins) {
        uint16_t open = 0;
        // Acquire pairs with the release of the holder before; the loads under the lock stay there.
        if (node_->locked.compare_exchange_weak(open, 1, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
          return;
        }
        Pause(spins);
      }
    }
    ~NodeLock() { Unlock(); }
    NodeLock(const NodeLock&) = delete;
    NodeLock& operator=(const NodeLock&) = delete;
    void Unlock() {
      if (node_ == nullptr) return;
      BRAID_DCHECK(node_->locked.load(std::memory_order_relaxed) == 1);
      // Release pairs with AwaitUnlocked and with the next holder.
      node_->locked.store(0, std::memory_order_release);
      node_ = nullptr;
    }

   private:
    Node* node_;
  };

  /// A node that was made before it was known whether it will be needed.
  struct Unused {
    explicit Unused(SkipListArena* from) : arena(from) {}
    ~Unused() {
      if (node != nullptr) arena->GiveBack(node, Node::Bytes(node->height, node->key_bytes));
    }
    Unused(const Unused&) = delete;
    Unused& operator=(const Unused&) = delete;
    void Make(std::string_view key, uint32_t height) {
      BRAID_DCHECK(node == nullptr);
      node = ::new (arena->Allocate(Node::Bytes(height, key.size()))) Node(height, key);
    }
    Node* Take() noexcept {
      BRAID_DCHECK(node != nullptr);  // nothing may fail behind the commit
      return std::exchange(node, nullptr);
    }
    SkipListArena* arena;
    Node* node = nullptr;
  };

  // One counter would be the one line that all writers fight for.
  struct alignas(64) Stripe {
    std::atomic<int64_t> count{0};
  };

  void AddToSize(int64_t change) {
    // Relaxed: a statistic, ordered with nothing.
    size_[base::ThreadSlot() % size_.size()].count.fetch_add(change, std::memory_order_relaxed);
  }

  static uint32_t RandomHeight() noexcept {
    const uint64_t random = base::ThreadRandom() | (1ull << 62);
    const auto zeros = static_cast<uint32_t>(std::countr_zero(random));
    return std::min(1 + zeros / 2, kMaxHeight);
  }

  static Node* Next(const Node* node, uint32_t layer) noexcept {
    BRAID_DCHECK(layer < node->height);  // invariant 4: it was found in this layer
    // Acquire pairs with the release that linked the node behind.
    return node->link(layer).load(std::memory_order_acquire);
  }

  /// Waits until nobody holds the lock of `node` (invariant 2). Reads of its ref and gap come
  /// after.
  static void AwaitUnlocked(const Node* node) noexcept {
    // Acquire pairs with the holder's release, and keeps the reads behind it.
    for (uint32_t spins = 0; node->locked.load(std::memory_order_acquire) != 0; ++spins) {
      Pause(spins);
    }
  }
  static uint64_t AwaitRef(const Node* node) noexcept {
    AwaitUnlocked(node);
    return node->ref.load(std::memory_order_acquire);
  }
  /// Whether there is nothing between `at` and `next`, and no commit under way that would change
  /// it.
  static bool IsEmptyGap(const Node* at, const Node* next) noexcept {
    AwaitUnlocked(at);
    return Next(at, 0) == next;
  }

  /// The last node before `target` that the layers above the bottom lead to; the layers' last nodes
  /// go to `path`.
  Node* Descend(const Target& target, Path* path) const noexcept {
    Node* at = head_;
    Node* bound = nullptr;  // known to be at or behind the target
    for (uint32_t layer = kMaxHeight - 1; layer > 0; --layer) {
      for (;;) {
        Node* next = Next(at, layer);
        if (next == nullptr || next == bound) break;
        if (next->Compare(target) >= 0) {
          bound = next;
          break;
        }
        at = next;
      }
      if (path != nullptr) (*path)[layer] = at;
    }
    return at;
  }

  /// Moves *at right along the bottom to the last node before `target`; returns the one behind it.
  static Node* Walk(const Target& target, Node** at) noexcept {
    for (;;) {
      Node* next = Next(*at, 0);
      if (next == nullptr || next->Compare(target) >= 0) return next;
      *at = next;
    }
  }

  template <class Commit>
  uint64_t Replace(Node* node, Commit&& commit) {
    const NodeLock lock(node);
    const uint64_t old_ref = node->ref.load(std::memory_order_relaxed);  // the lock is held
    const uint64_t new_ref = commit(old_ref);
    if (new_ref == 0) return old_ref;
    // Release pairs with the acquire of readers that came before the lock was taken.
    node->ref.store(new_ref, std::memory_order_release);
    if (old_ref == 0) AddToSize(1);
    return old_ref;
  }

  void LinkShortcuts(Node* node, const Target& target, const Path& path) noexcept {
    for (uint32_t layer = 1; layer < node->height; ++layer) {
      Node* at = path[layer];
      for (;;) {
        Node* next = Next(at, layer);
        if (next != nullptr && next->Compare(target) < 0) {
          at = next;
          continue;
        }
        node->link(layer).store(next, std::memory_order_relaxed);
        // Release pairs with the acquire in Next.
        if (at->link(layer).compare_exchange_weak(next, node, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
          break;
        }
      }
    }
  }

  /// Refs from the first node on that is not before `target` (null: of the list). `at` is before
  /// it.
  size_t Collect(Node* at, const Target* target, bool inclusive, uint64_t* out, size_t cap) const {
    BRAID_DCHECK(inclusive || target != nullptr);
    Node* next = nullptr;
    for (;;) {
      next = target == nullptr ? Next(at, 0) : Walk(*target, &at);
      if (!inclusive && next != nullptr && next->Compare(*target) == 0) {
        AwaitUnlocked(next);
        next = Next(next, 0);
        break;
      }
      if (IsEmptyGap(at, next)) break;
    }
    size_t n = 0;
    for (cap = std::min(cap, kScan); next != nullptr && n < cap;) {
      AwaitUnlocked(next);  // for its ref and for the gap behind it
      const uint64_t ref = next->ref.load(std::memory_order_acquire);
      if (ref != 0) out[n++] = ref;
      next = Next(next, 0);
    }
    return n;
  }

  /// The last refs before `target` (null: of the list), descending. There are no links
  /// backwards: goes right from a shortcut before the target and keeps the last ones.
  size_t CollectBefore(const Target* target, bool inclusive, uint64_t* out, size_t cap) const {
    if (cap == 0) return 0;
    cap = std::min(cap, kScan);
    Target bound = target == nullptr ? Target({}) : *target;
    for (bool bounded = target != nullptr;; bounded = true, inclusive = false) {
      const Node* start = StartBefore(bounded ? &bound : nullptr);
      std::array<uint64_t, kScan> ring;
      size_t seen = 0;
      for (const Node* at = start; at != nullptr;) {
        AwaitUnlocked(at);  // for its ref and for the gap behind it
        const uint64_t ref = at->ref.load(std::memory_order_acquire);
        BRAID_DCHECK(at != head_ || ref == 0);
        if (ref != 0) ring[seen++ % cap] = ref;  // the head has none
        at = Next(at, 0);
        const int order = at != nullptr && bounded ? at->Compare(bound) : -1;
        if (order > 0 || (order == 0 && !inclusive)) break;
      }
      const size_t n = std::min(seen, cap);
      for (size_t i = 0; i < n; ++i) out[i] = ring[(seen - 1 - i) % cap];
      if (n != 0 || start == head_) return n;
      bound = Target(start->key());  // all erased from there on
    }
  }

  /// A node before `target` (null: before the end), about as far as a scan reaches.
  const Node* StartBefore(const Target* target) const noexcept {
    const Node* at = head_;
    for (uint32_t layer = kMaxHeight - 1; layer > 1; --layer) {
      for (const Node* next = Next(at, layer);
           next != nullptr && (target == nullptr || next->Compare(*target) < 0);
           next = Next(at, layer)) {
        at = next;
      }
    }
    return at;
  }

  SkipListArena arena_;
  Node* head_;
  std::array<Stripe, 8> size_;
};

}  // namespace braid::index
