// Purpose: the nodes of DramBTree: their layout, their version lock, and the search inside one
// node. A node holds, in key order, the "heads" of its keys: the eight bytes that follow the prefix
// which all keys of the node share, as a big-endian number, short keys padded with zeros. Comparing
// heads decides nearly every search without touching the keys; equal heads need the whole key.
//
// Thread safety: optimistic lock coupling (Leis et al., "The ART of Practical Synchronization",
// DaMoN 2016, applied to a B+-tree). Readers take no lock: they read the state word, then fields,
// then check that the state word is the same; writers lock by setting bit 0 of it.
//   Memory orders, used throughout: fields are stored with release and read with acquire. A reader
//   that sees a field of an unfinished change therefore also sees the locked state word (or a later
//   one) when it checks, since the check cannot move above an acquire load. On x86 both are plain
//   moves. Relaxed loads are used only by the holder of a node's lock, whose compare-and-swap
//   (acquire) pairs with the release store of the unlock before.
//
// Invariants:
//   1. heads[i] <= heads[i + 1] for i + 1 < count; heads at and behind count are kPaddingHead.
//   2. All keys of a node begin with its prefix; the prefix need not be the longest such.
//   3. Slots below the count of an unlocked state word were filled before that word was stored, and
//      later stores put only live values there: a child pointer, separator or ref read from them is
//      always safe to follow, even if the check that comes after fails.
//   4. If uniform_length() is not kMixedLengths, every key of the leaf has this length.
//   5. `next` is exact while the node is unlocked. `prev` is stored under the lock of the left
//      neighbour, so a reader of the node may have read what was true before a change there.
//   6. A node that was unlinked says so in its state, which never changes again: nothing leads to
//      it any more, and it is used again only when all operations of that time have ended.
//
// Persistence: none; recovery rebuilds the tree from the entries its refs point to.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/compare.h"
#include "base/prefetch.h"

namespace braid::index::btree_internal {

inline constexpr uint32_t kLeafSlots = 64;
inline constexpr uint32_t kInnerKeys = 63;  // so that an inner node has 64 children
inline constexpr uint32_t kHeadBytes = 8;
inline constexpr uint32_t kMaxPrefix = 40;
inline constexpr uint32_t kMixedLengths = 63;
inline constexpr uint64_t kPaddingHead = ~uint64_t{0};

// Each fits its part of the state word.
static_assert(kLeafSlots < 1u << 7 && kInnerKeys < 1u << 7);
static_assert(kMaxPrefix < 1u << 6 && kMixedLengths < 1u << 6);
static_assert(kMaxPrefix % kHeadBytes == 0, "a prefix is kept in whole words");

/// The state word of a node: bit 0 lock, then level (4 bits), count (7), prefix length (6), uniform
/// key length (6), unlinked (1) and a version that grows with every change (39).
struct NodeState {
  uint64_t word = 0;

  static NodeState Make(uint32_t level, uint32_t count, uint32_t prefix, uint32_t uniform) {
    BRAID_DCHECK(level < 1u << 4 && count <= (level == 0 ? kLeafSlots : kInnerKeys));
    BRAID_DCHECK(prefix <= kMaxPrefix && uniform <= kMixedLengths);
    return {uint64_t{level} << 1 | uint64_t{count} << 5 | uint64_t{prefix} << 12 |
            uint64_t{uniform} << 18};
  }
  bool locked() const { return (word & 1) != 0; }
  bool is_leaf() const { return (word & 0x1e) == 0; }
  uint32_t level() const { return static_cast<uint32_t>(word >> 1) & 0xf; }
  uint32_t count() const { return static_cast<uint32_t>(word >> 5) & 0x7f; }
  uint32_t prefix_length() const { return static_cast<uint32_t>(word >> 12) & 0x3f; }
  uint32_t uniform_length() const { return static_cast<uint32_t>(word >> 18) & 0x3f; }
  bool full() const { return count() >= (is_leaf() ? kLeafSlots : kInnerKeys); }
  /// Worth a look whether a neighbour has room for what is left.
  bool sparse() const { return count() <= (is_leaf() ? kLeafSlots : kInnerKeys) / 4; }
  bool unlinked() const { return (word & kUnlinked) != 0; }
  uint64_t version() const { return word >> 25; }

  /// The unlocked state that follows a change.
  NodeState After(uint32_t count, uint32_t prefix, uint32_t uniform) const {
    return {(version() + 1) << 25 | Make(level(), count, prefix, uniform).word};
  }
  NodeState After(uint32_t count) const { return After(count, prefix_length(), uniform_length()); }
  /// The last state of a node that is left.
  NodeState Unlinked() const {
    BRAID_DCHECK(!unlinked());  // invariant 6
    return {After(count()).word | kUnlinked};
  }

 private:
  static constexpr uint64_t kUnlinked = uint64_t{1} << 24;
};

/// A key that parts two children: the shortest bytes that sort above the left and not above the
/// right side. The bytes lie behind the length, in the tree's arena.
struct Separator {
  uint32_t length;

  std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), length}; }
};

struct alignas(64) Node {
  std::atomic<uint64_t> state{0};
  std::array<std::atomic<uint64_t>, kMaxPrefix / 8> prefix;  // big-endian words, zeros behind
  std::atomic<Node*> next{nullptr};                          // leaves, and nodes left
  std::atomic<Node*> prev{nullptr};                          // leaves only
  std::array<std::atomic<uint64_t>, 64> heads;

  explicit Node(NodeState initial) : state(initial.word) {
    for (auto& head : heads) head.store(kPaddingHead, std::memory_order_relaxed);
  }
};

struct Leaf : Node {
  using Node::Node;
  std::array<std::atomic<uint64_t>, kLeafSlots> refs;
};

struct Inner : Node {
  using Node::Node;
  std::array<std::atomic<Node*>, kInnerKeys + 1> children;
  std::array<std::atomic<const Separator*>, kInnerKeys> separators;
};

static_assert(sizeof(Leaf) == 64 + 512 + 512, "a leaf is one header line, heads and refs");
static_assert(sizeof(Inner) <= 64 + 512 + 512 + 512);
static_assert(std::tuple_size_v<decltype(Node::heads)> == kLeafSlots,
              "a search looks at eight lines of eight heads, whatever the count");
static_assert(std::tuple_size_v<decltype(Inner::children)> <= kLeafSlots);

inline Leaf* AsLeaf(Node* node) { return static_cast<Leaf*>(node); }
inline const Leaf* AsLeaf(const Node* node) { return static_cast<const Leaf*>(node); }
inline Inner* AsInner(Node* node) { return static_cast<Inner*>(node); }
inline const Inner* AsInner(const Node* node) { return static_cast<const Inner*>(node); }

// ---- Version lock -------------------------------------------------------------------------------

inline void CpuPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

[[gnu::noinline]] inline NodeState WaitUntilUnlocked(const Node* node) {
  for (uint32_t spins = 0;; ++spins) {
    if (spins < 100) {
      CpuPause();
    } else {
      sched_yield();  // the writer may have lost its processor while it holds the lock
    }
    const NodeState state{node->state.load(std::memory_order_acquire)};
    if (!state.locked()) return state;
  }
}

/// The state of `node` as soon as it is unlocked. Waiting is part of the contract: what a writer
/// commits under the lock must not be missed by a reader that comes after.
inline NodeState AwaitState(const Node* node) {
  const NodeState state{node->state.load(std::memory_order_acquire)};
  if (!state.locked()) [[likely]]
    return state;
  return WaitUntilUnlocked(node);
}

/// Whether everything read from `node` since `state` was taken belongs together.
inline bool Unchanged(const Node* node, NodeState state) {
  // Relaxed is enough: the fields before were read with acquire, so this load stays behind them.
  return node->state.load(std::memory_order_relaxed) == state.word;
}

/// Holds a node's lock from a known state on. Unless Publish was called, the destructor puts the
/// old state back, which is right as long as nothing was changed.
class NodeLock {
 public:
  NodeLock() = default;
  NodeLock(Node* node, NodeState expected) { TryLock(node, expected); }
  ~NodeLock() {
    if (node_ != nullptr) Publish(state_);
  }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

  /// Locks `node` if its state still is `expected`; never waits.
  bool TryLock(Node* node, NodeState expected) {
    BRAID_DCHECK(node_ == nullptr && !expected.locked());
    uint64_t word = expected.word;
    // Acquire pairs with the release of the last unlock; nothing is published by locking.
    if (!node->state.compare_exchange_strong(word, word | 1, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
      return false;
    }
    BRAID_DCHECK(!expected.unlinked());  // invariant 6: nothing has led here
    node_ = node;
    state_ = expected;
    return true;
  }
  bool held() const { return node_ != nullptr; }
  void Publish(NodeState next) {
    BRAID_DCHECK(node_ != nullptr && !next.locked());
    BRAID_DCHECK(next.level() == state_.level());
    // A reader must see of a change that there was one.
    BRAID_DCHECK(next.word == state_.word || next.version() == state_.After(0).version());
    BRAID_DCHECK(PaddedFrom(next.count()));  // invariant 1
    // Release pairs with AwaitState and with the compare-and-swap of the next writer.
    node_->state.store(next.word, std::memory_order_release);
    node_ = nullptr;
  }

 private:
  /// Whether the heads from `count` on are padding, judged by the first of them.
  bool PaddedFrom(uint32_t count) const {
    // Relaxed: the lock is held.
    return count == node_->heads.size() ||
           node_->heads[count].load(std::memory_order_relaxed) == kPaddingHead;
  }

  Node* node_ = nullptr;
  NodeState state_;
};

// ---- Heads and prefixes -------------------------------------------------------------------------

/// Keeps the first `bytes` (below 8) of a big-endian word.
inline uint64_t KeepBytes(uint64_t word, uint32_t bytes) {
  BRAID_DCHECK(bytes < kHeadBytes);
  return bytes == 0 ? 0 : word & (~uint64_t{0} << (64 - 8 * bytes));
}

/// Below, equal or above 0 as `key` sorts before, starts with, or sorts behind the node's prefix.
inline int CompareToPrefix(const Node* node, uint32_t prefix_length, std::string_view key) {
  BRAID_DCHECK(prefix_length <= kMaxPrefix);
  for (uint32_t at = 0; at < prefix_length; at += 8) {
    const uint64_t expected = node->prefix[at / 8].load(std::memory_order_acquire);
    uint64_t word = base::WordAt(key, at);
    if (prefix_length - at < 8) word = KeepBytes(word, prefix_length - at);
    if (word != expected) return word < expected ? -1 : 1;
  }
  return key.size() < prefix_length ? -1 : 0;
}

/// The number of heads h for which goes_before(h); it must hold for a front part of them. In two
/// steps without branches: the last heads of the first seven cache lines tell the line, and its
/// eight heads the place. The loads of a step do not wait for each other, which makes it faster
/// than a binary search even in a warm node (65 against 71 ns for a lookup in two levels). The
/// padding (invariant 1) makes it independent of the count.
template <class GoesBefore>
uint32_t CountHeads(const Node* node, const GoesBefore& goes_before) {
  const auto before = [&](const std::atomic<uint64_t>& head) -> uint32_t {
    return goes_before(head.load(std::memory_order_acquire)) ? 1 : 0;
  };
  const std::atomic<uint64_t>* head = node->heads.data();
  const uint32_t lines = (before(head[7]) + before(head[15]) + before(head[23])) +
                         (before(head[31]) + before(head[39])) +
                         (before(head[47]) + before(head[55]));
  head += 8 * lines;
  return 8 * lines + ((before(head[0]) + before(head[1])) + (before(head[2]) + before(head[3]))) +
         ((before(head[4]) + before(head[5])) + (before(head[6]) + before(head[7])));
}

inline uint32_t CountBelow(const Node* node, uint64_t head) {
  return CountHeads(node, [head](uint64_t other) { return other < head; });
}

/// As CountBelow, with the equal ones. A head equal to the padding counts the padding as well.
inline uint32_t CountNotAbove(const Node* node, uint64_t head) {
  return CountHeads(node, [head](uint64_t other) { return other <= head; });
}

/// For a single descent: asks for the header and for the refs or children of a node that is about
/// to be searched, so that the one needed does not become a miss that waits for the search. The
/// lines of the heads are loaded side by side by the search itself. Measured: 620 ns a lookup among
/// 1 M keys with heads fetched ahead, 470 with refs as well; fetching the heads too gains nothing.
inline void PrefetchSlots(const Node* node) {
  const char* lines = reinterpret_cast<const char*>(node);
  base::Prefetch(lines);
  base::PrefetchRange(lines + sizeof(Node), sizeof(Leaf) - sizeof(Node));
}

/// For many descents at once, which have the time to ask for the one slot later: header and heads.
inline void PrefetchHeads(const Node* node) { base::PrefetchRange(node, sizeof(Node)); }

// ---- Search in one node -------------------------------------------------------------------------

/// The index of the child whose range holds `key`: the number of separators not above it.
inline uint32_t ChildIndex(const Inner* node, NodeState state, std::string_view key) {
  BRAID_DCHECK(!state.is_leaf());
  const uint32_t prefix = state.prefix_length();
  if (prefix != 0) {
    const int order = CompareToPrefix(node, prefix, key);
    if (order != 0) return order < 0 ? 0 : state.count();
  }
  const uint64_t head = base::WordAt(key, prefix);
  uint32_t high = std::min(CountNotAbove(node, head), state.count());
  if (high == 0 || node->heads[high - 1].load(std::memory_order_acquire) != head) return high;
  uint32_t low = std::min(CountBelow(node, head), high);
  while (low < high) {  // among equal heads the whole separators decide
    const uint32_t middle = (low + high) / 2;
    if (node->separators[middle].load(std::memory_order_acquire)->view() <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct LeafPosition {
  uint32_t index = 0;  // of the first key not below the one looked for
  bool equal = false;  // that key is the one looked for
  bool tied = false;   // some key of the leaf has the same head
};

/// The part of SearchLeaf that reads no entry: if `tied` and not `equal`, whole keys must decide
/// from `index` on.
inline LeafPosition CandidateInLeaf(const Leaf* leaf, NodeState state, std::string_view key) {
  BRAID_DCHECK(state.is_leaf());
  const uint32_t count = state.count();
  const uint32_t prefix = state.prefix_length();
  if (prefix != 0) {
    const int order = CompareToPrefix(leaf, prefix, key);
    if (order != 0) return {order < 0 ? 0 : count, false, false};
  }
  const uint64_t head = base::WordAt(key, prefix);
  const uint32_t low = CountBelow(leaf, head);
  if (low >= count || leaf->heads[low].load(std::memory_order_acquire) != head) {
    return {std::min(low, count), false, false};
  }
  // Equal head, equal length, and all bytes of both keys are in prefix and head: the keys are equal
  // (invariant 4). This saves the access to the entry, the dearest step of an overwrite.
  static_assert(kMixedLengths > kMaxPrefix + kHeadBytes);
  const bool equal = key.size() == state.uniform_length() && key.size() <= prefix + kHeadBytes;
  return {low, equal, true};
}

/// Whether the leaf has a key below and one above `key`, by their heads alone: then it is that of
/// `key`. False also where equal heads do not tell.
inline bool IsBetweenHeads(const Leaf* leaf, NodeState state, std::string_view key) {
  BRAID_DCHECK(state.is_leaf());
  const uint32_t count = state.count();
  const uint32_t prefix = state.prefix_length();
  if (count < 2 || (prefix != 0 && CompareToPrefix(leaf, prefix, key) != 0)) return false;
  const uint64_t head = base::WordAt(key, prefix);
  return leaf->heads[0].load(std::memory_order_acquire) < head &&
         head < leaf->heads[count - 1].load(std::memory_order_acquire);
}

/// Completes a tied candidate: decides among keys with equal heads by whole keys.
template <class KeyOf>
LeafPosition Resolve(const Leaf* leaf, NodeState state, std::string_view key,
                     LeafPosition candidate, const KeyOf& key_of) {
  BRAID_DCHECK(candidate.tied && !candidate.equal && candidate.index < state.count());
  const uint64_t head = base::WordAt(key, state.prefix_length());
  uint32_t low = candidate.index;
  uint32_t high = low + 1;
  while (high < state.count() && leaf->heads[high].load(std::memory_order_acquire) == head) ++high;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const std::string_view other = key_of(leaf->refs[middle].load(std::memory_order_acquire));
    const int order = key.compare(other);
    if (order == 0) return {middle, true, true};
    if (order > 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, false, true};
}

template <class KeyOf>
LeafPosition SearchLeaf(const Leaf* leaf, NodeState state, std::string_view key,
                        const KeyOf& key_of) {
  const LeafPosition where = CandidateInLeaf(leaf, state, key);
  if (!where.tied || where.equal) [[likely]]
    return where;
  return Resolve(leaf, state, key, where, key_of);
}

}  // namespace braid::index::btree_internal
