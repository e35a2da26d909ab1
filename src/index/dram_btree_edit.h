// Purpose: changes of DramBTree's nodes: prefix upkeep, insertion into and removal from one node,
// and the splits. Descents and the public operations are in dram_btree.h.
//
// Thread safety: the caller holds the lock of every node that a function here changes, or is the
// only one who knows the node yet. Optimistic readers may be looking on: every field is stored with
// release, which pairs with their acquire (dram_btree_node.h); what they read in the middle of a
// change they throw away.
//
// Invariants: those of dram_btree_node.h hold whenever the caller publishes the state returned.
//
// Persistence: none.
#pragma once

#include "base/check.h"
#include "index/dram_btree_arena.h"
#include "index/dram_btree_node.h"

namespace braid::index::btree_internal {

inline uint32_t CommonLength(std::string_view a, std::string_view b, size_t limit) {
  const size_t end = std::min({a.size(), b.size(), limit});
  size_t at = 0;
  while (at < end && a[at] == b[at]) ++at;
  return static_cast<uint32_t>(at);
}

/// Keys or parts of keys written out of a node's own fields, so that the entries stay untouched.
class KeyBuffer {
 public:
  KeyBuffer(const Node* node, uint32_t prefix_length) : length_(prefix_length) {
    BRAID_DCHECK(prefix_length <= kMaxPrefix);
    for (uint32_t at = 0; at < prefix_length; at += 8) {
      Put(at, node->prefix[at / 8].load(std::memory_order_relaxed));
    }
  }
  KeyBuffer& Append(uint64_t head) {
    BRAID_DCHECK(length_ <= kMaxPrefix);  // there is room for one head
    Put(length_, head);
    length_ += kHeadBytes;
    return *this;
  }
  std::string_view view() const { return {bytes_.data(), length_}; }

 private:
  void Put(uint32_t at, uint64_t word) {
    const uint64_t bytes = __builtin_bswap64(word);
    std::memcpy(bytes_.data() + at, &bytes, sizeof(bytes));
  }

  std::array<char, kMaxPrefix + kHeadBytes> bytes_;
  uint32_t length_;
};

inline void StorePrefix(Node* node, std::string_view prefix) {
  BRAID_DCHECK(prefix.size() <= kMaxPrefix);
  for (uint32_t at = 0; at < prefix.size(); at += 8) {
    node->prefix[at / 8].store(base::WordAt(prefix, at), std::memory_order_release);
  }
}

/// Moves the heads from behind a prefix of `from` bytes to behind its first `to` bytes. The bytes
/// that leave the prefix are known, so no key is read.
inline void ShrinkPrefix(Node* node, uint32_t count, uint32_t from, uint32_t to) {
  BRAID_DCHECK(to < from && count <= node->heads.size());
  const KeyBuffer buffer(node, from);
  const uint64_t leaving = base::WordAt(buffer.view(), to);
  const uint32_t bytes = from - to;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t head = node->heads[i].load(std::memory_order_relaxed);
    node->heads[i].store(bytes >= kHeadBytes ? leaving : leaving | head >> (8 * bytes),
                         std::memory_order_release);
  }
  StorePrefix(node, buffer.view().substr(0, to));
}

/// Whether so many neighbours have equal heads that a longer prefix is worth reading all keys for.
inline bool TiesAreCommon(const Node* node, uint32_t count) {
  uint32_t ties = 0;
  for (uint32_t i = 1; i < count; ++i) {
    ties += node->heads[i - 1].load(std::memory_order_relaxed) ==
            node->heads[i].load(std::memory_order_relaxed);
  }
  return ties * 16 > count;
}

/// Makes the prefix as long as the keys allow if ties are common. `key_at(i)` gives key i. Returns
/// the prefix length from now on.
template <class KeyAt>
uint32_t TightenPrefix(Node* node, uint32_t count, uint32_t prefix_length, const KeyAt& key_at) {
  BRAID_DCHECK(count <= node->heads.size() && prefix_length <= kMaxPrefix);
  if (count == 0 || prefix_length == kMaxPrefix || !TiesAreCommon(node, count)) {
    return prefix_length;
  }
  const uint64_t differing = node->heads[0].load(std::memory_order_relaxed) ^
                             node->heads[count - 1].load(std::memory_order_relaxed);
  if (differing >> 56 != 0) return prefix_length;
  const std::string_view first = key_at(0);
  const uint32_t longest = CommonLength(first, key_at(count - 1), kMaxPrefix);
  if (longest <= prefix_length) return prefix_length;
  StorePrefix(node, first.substr(0, longest));
  for (uint32_t i = 0; i < count; ++i) {
    node->heads[i].store(base::WordAt(key_at(i), longest), std::memory_order_release);
  }
  return longest;
}

/// Makes the node's prefix one that `key` has as well. Returns its length.
inline uint32_t AdmitToPrefix(Node* node, NodeState state, std::string_view key) {
  const uint32_t prefix = state.prefix_length();
  if (state.count() == 0 || prefix == 0) return 0;
  const uint32_t common = CommonLength(KeyBuffer(node, prefix).view(), key, prefix);
  if (common < prefix) ShrinkPrefix(node, state.count(), prefix, common);
  return common;
}

template <class Slots>
void OpenSlot(Slots& slots, uint32_t index, uint32_t count) {
  BRAID_DCHECK(index <= count && count < slots.size());
  for (uint32_t i = count; i > index; --i) {
    slots[i].store(slots[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
}

template <class Slots>
void CloseSlot(Slots& slots, uint32_t index, uint32_t count) {
  BRAID_DCHECK(index < count && count <= slots.size());
  for (uint32_t i = index + 1; i < count; ++i) {
    slots[i - 1].store(slots[i].load(std::memory_order_relaxed), std::memory_order_release);
  }
}

template <class Slots>
void CopySlots(Slots& to, const Slots& from, uint32_t begin, uint32_t end) {
  BRAID_DCHECK(begin <= end && end <= from.size());
  for (uint32_t i = begin; i < end; ++i) {
    to[i - begin].store(from[i].load(std::memory_order_relaxed), std::memory_order_release);
  }
}

/// Fills the heads from `begin` on with padding (invariant 1).
inline void PadHeads(Node* node, uint32_t begin, uint32_t end) {
  BRAID_DCHECK(begin <= end && end <= node->heads.size());
  for (uint32_t i = begin; i < end; ++i) {
    node->heads[i].store(kPaddingHead, std::memory_order_release);
  }
}

/// Puts `key` with `ref` where SearchLeaf found it missing. Returns the leaf's next state.
template <class KeyOf>
NodeState InsertIntoLeaf(Leaf* leaf, NodeState state, const LeafPosition& where,
                         std::string_view key, uint64_t ref, const KeyOf& key_of) {
  BRAID_DCHECK(state.is_leaf() && !state.full() && ref != 0);
  BRAID_DCHECK(!where.equal && where.index <= state.count());
  const uint32_t count = state.count();
  uint32_t prefix = AdmitToPrefix(leaf, state, key);
  const uint32_t length = static_cast<uint32_t>(std::min(key.size(), size_t{kMixedLengths}));
  const uint32_t uniform = count == 0 || state.uniform_length() == length ? length : kMixedLengths;
  OpenSlot(leaf->heads, where.index, count);
  OpenSlot(leaf->refs, where.index, count);
  leaf->heads[where.index].store(base::WordAt(key, prefix), std::memory_order_release);
  leaf->refs[where.index].store(ref, std::memory_order_release);
  if (where.tied) {
    prefix = TightenPrefix(leaf, count + 1, prefix, [&](uint32_t i) -> std::string_view {
      return key_of(leaf->refs[i].load(std::memory_order_relaxed));
    });
  }
  return state.After(count + 1, prefix, uniform);
}

inline NodeState RemoveFromLeaf(Leaf* leaf, NodeState state, uint32_t index) {
  const uint32_t count = state.count();
  CloseSlot(leaf->heads, index, count);
  CloseSlot(leaf->refs, index, count);
  PadHeads(leaf, count - 1, count);
  return state.After(count - 1);
}

inline auto SeparatorsOf(const Inner* inner) {
  return
      [inner](uint32_t i) { return inner->separators[i].load(std::memory_order_relaxed)->view(); };
}

/// Puts `separator` at `index` and the child to its right behind it. Returns the next state.
inline NodeState InsertIntoInner(Inner* inner, NodeState state, uint32_t index,
                                 const Separator* separator, Node* right) {
  const uint32_t count = state.count();
  BRAID_DCHECK(!state.is_leaf() && !state.full());
  // All leaves have the same depth. Relaxed: a node never changes its level.
  BRAID_DCHECK(NodeState{right->state.load(std::memory_order_relaxed)}.level() + 1 ==
               state.level());
  const std::string_view key = separator->view();
  uint32_t prefix = AdmitToPrefix(inner, state, key);
  OpenSlot(inner->heads, index, count);
  OpenSlot(inner->separators, index, count);
  OpenSlot(inner->children, index + 1, count + 1);
  inner->heads[index].store(base::WordAt(key, prefix), std::memory_order_release);
  inner->separators[index].store(separator, std::memory_order_release);
  inner->children[index + 1].store(right, std::memory_order_release);
  prefix = TightenPrefix(inner, count + 1, prefix, SeparatorsOf(inner));
  return state.After(count + 1, prefix, kMixedLengths);
}

/// The shortest bytes above `left` and not above `right`; left < right.
inline std::string_view ShortestSeparator(std::string_view left, std::string_view right) {
  return right.substr(0, CommonLength(left, right, right.size()) + 1);
}

/// One half of a split that is done but not yet published: the new right node, what parts it from
/// the left one, and the state the left node gets.
struct SplitOutcome {
  Node* right;
  const Separator* separator;
  NodeState left_state;
};

/// What parts the slots below `at` from the others in a full leaf; the key to be inserted stands in
/// for the side that stays empty.
template <class KeyOf>
const Separator* LeafSeparator(const Leaf* leaf, NodeState state, uint32_t at,
                               std::string_view new_key, const KeyOf& key_of, NodeArena& arena) {
  BRAID_DCHECK(state.full() && at <= state.count());
  const auto key_at = [&](uint32_t i) -> std::string_view {
    return key_of(leaf->refs[i].load(std::memory_order_relaxed));
  };
  if (at == 0) return arena.NewSeparator(ShortestSeparator(new_key, key_at(0)));
  if (at == state.count()) return arena.NewSeparator(ShortestSeparator(key_at(at - 1), new_key));
  const uint64_t left = leaf->heads[at - 1].load(std::memory_order_relaxed);
  const uint64_t right = leaf->heads[at].load(std::memory_order_relaxed);
  if (left == right) {
    return arena.NewSeparator(ShortestSeparator(key_at(at - 1), key_at(at)));
  }
  // The heads tell it. The first byte in which they differ is above 0 on the right side, so it and
  // all before it are bytes of the right key and not padding.
  KeyBuffer left_key(leaf, state.prefix_length());
  KeyBuffer right_key = left_key;
  return arena.NewSeparator(
      ShortestSeparator(left_key.Append(left).view(), right_key.Append(right).view()));
}

/// Moves the slots from `at` on into a new leaf to the right of `leaf`.
template <class KeyOf>
SplitOutcome SplitLeaf(Leaf* leaf, NodeState state, uint32_t at, std::string_view new_key,
                       const KeyOf& key_of, NodeArena& arena) {
  const uint32_t count = state.count();
  const uint32_t prefix = state.prefix_length();
  const Separator* separator = LeafSeparator(leaf, state, at, new_key, key_of, arena);
  Leaf* right = arena.New<Leaf>(NodeState{});

  const auto tightened = [&](Leaf* half, uint32_t half_count) {
    return TightenPrefix(half, half_count, prefix, [&](uint32_t i) -> std::string_view {
      return key_of(half->refs[i].load(std::memory_order_relaxed));
    });
  };
  CopySlots(right->heads, leaf->heads, at, count);
  CopySlots(right->refs, leaf->refs, at, count);
  StorePrefix(right, KeyBuffer(leaf, prefix).view());
  const uint32_t right_prefix = tightened(right, count - at);
  const NodeState right_state =
      NodeState::Make(0, count - at, right_prefix, state.uniform_length());
  right->state.store(right_state.word, std::memory_order_release);

  PadHeads(leaf, at, count);
  const uint32_t left_prefix = tightened(leaf, at);
  Node* next = leaf->next.load(std::memory_order_relaxed);
  // Invariant 5: under the lock of the left one both directions are exact.
  BRAID_DCHECK(next == nullptr || next->prev.load(std::memory_order_relaxed) == leaf);
  right->next.store(next, std::memory_order_release);
  right->prev.store(leaf, std::memory_order_release);
  if (next != nullptr) next->prev.store(right, std::memory_order_release);
  leaf->next.store(right, std::memory_order_release);
  return {right, separator, state.After(at, left_prefix, state.uniform_length())};
}

/// Moves the separators behind `at` into a new inner node; the one at `at` goes up.
inline SplitOutcome SplitInner(Inner* inner, NodeState state, uint32_t at, NodeArena& arena) {
  BRAID_DCHECK(!state.is_leaf() && at < state.count());
  const uint32_t count = state.count();
  const uint32_t prefix = state.prefix_length();
  Inner* right = arena.New<Inner>(NodeState{});
  CopySlots(right->heads, inner->heads, at + 1, count);
  CopySlots(right->separators, inner->separators, at + 1, count);
  CopySlots(right->children, inner->children, at + 1, count + 1);
  StorePrefix(right, KeyBuffer(inner, prefix).view());
  const uint32_t moved = count - at - 1;
  const uint32_t right_prefix = TightenPrefix(right, moved, prefix, SeparatorsOf(right));
  const NodeState right_state = NodeState::Make(state.level(), moved, right_prefix, kMixedLengths);
  right->state.store(right_state.word, std::memory_order_release);

  const Separator* separator = inner->separators[at].load(std::memory_order_relaxed);
  PadHeads(inner, at, count);
  const uint32_t left_prefix = TightenPrefix(inner, at, prefix, SeparatorsOf(inner));
  return {right, separator, state.After(at, left_prefix, kMixedLengths)};
}

}  // namespace braid::index::btree_internal
