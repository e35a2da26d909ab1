// Purpose: how DramBTree's nodes give way when keys leave: two neighbours under one parent become
// one, or share what they have. The splits and what both need are in dram_btree_edit.h.
//
// Thread safety: the caller holds the locks of the parent and of both neighbours; readers as there.
//
// Invariants: those of dram_btree_node.h hold whenever the caller publishes the states returned.
// What is left behind keeps its slots, for readers that still stand on it.
//
// Persistence: none.
#pragma once

#include "base/check.h"
#include "index/dram_btree_edit.h"

namespace braid::index::btree_internal {

/// Up to so many slots of two neighbours are put into one: it must not be full at once.
inline constexpr uint32_t kJoined = kLeafSlots * 3 / 4;

/// Whether neighbours with these states are to become one. An empty leaf always gives way.
inline bool FitTogether(NodeState left, NodeState right) {
  BRAID_DCHECK(left.level() == right.level());
  const uint32_t between = left.is_leaf() ? 0 : 1;  // the separator comes down
  if (left.count() + between + right.count() <= kJoined) return true;
  return left.is_leaf() && (left.count() == 0 || right.count() == 0);
}

/// Takes the separator at `index`, and the child to its right, out of `inner`. Returns the next
/// state.
inline NodeState RemoveFromInner(Inner* inner, NodeState state, uint32_t index) {
  const uint32_t count = state.count();
  CloseSlot(inner->heads, index, count);
  CloseSlot(inner->separators, index, count);
  CloseSlot(inner->children, index + 1, count + 1);
  PadHeads(inner, count - 1, count);
  return state.After(count - 1);
}

/// Moves all of `right` into `left`, its neighbour, and takes it out of the chain of leaves.
/// Returns left's next state.
template <class KeyOf>
NodeState JoinLeaves(Leaf* left, NodeState state, const Leaf* right, NodeState right_state,
                     const KeyOf& key_of) {
  const uint32_t count = state.count();
  const uint32_t more = right_state.count();
  BRAID_DCHECK(state.is_leaf() && FitTogether(state, right_state));
  BRAID_DCHECK(left->next.load(std::memory_order_relaxed) == right);  // invariant 5
  uint32_t prefix = state.prefix_length();
  uint32_t uniform = state.uniform_length();
  if (more != 0) {
    const KeyBuffer right_prefix(right, right_state.prefix_length());
    if (count == 0) {
      prefix = right_state.prefix_length();
      uniform = right_state.uniform_length();
      StorePrefix(left, right_prefix.view());
    } else {
      const uint32_t common =
          CommonLength(KeyBuffer(left, prefix).view(), right_prefix.view(), kMaxPrefix);
      if (common < prefix) ShrinkPrefix(left, count, prefix, common);
      prefix = common;
      if (right_state.uniform_length() != uniform) uniform = kMixedLengths;
    }
    // The bytes that are in right's prefix and not in the common one.
    BRAID_DCHECK(prefix <= right_state.prefix_length());
    const uint64_t leaving = base::WordAt(right_prefix.view(), prefix);
    const uint32_t bytes = right_state.prefix_length() - prefix;
    for (uint32_t i = 0; i < more; ++i) {
      const uint64_t head = right->heads[i].load(std::memory_order_relaxed);
      left->heads[count + i].store(bytes >= kHeadBytes ? leaving : leaving | head >> (8 * bytes),
                                   std::memory_order_release);
      left->refs[count + i].store(right->refs[i].load(std::memory_order_relaxed),
                                  std::memory_order_release);
    }
    prefix = TightenPrefix(left, count + more, prefix, [&](uint32_t i) -> std::string_view {
      return key_of(left->refs[i].load(std::memory_order_relaxed));
    });
  }
  // Nobody else stores to the one behind: its left neighbour is locked.
  Node* next = right->next.load(std::memory_order_relaxed);
  BRAID_DCHECK(next == nullptr || next->prev.load(std::memory_order_relaxed) == right);
  left->next.store(next, std::memory_order_release);
  if (next != nullptr) next->prev.store(left, std::memory_order_release);
  return state.After(count + more, prefix, uniform);
}

/// The separators and children of two neighbours in a row, with what parts the two.
class InnerRow {
 public:
  InnerRow(const Inner* left, uint32_t left_count, const Separator* between, const Inner* right,
           uint32_t right_count) {
    Append(left, left_count);
    separators_[count_++] = between;
    Append(right, right_count);
    BRAID_DCHECK(count_ == left_count + 1 + right_count);
  }
  uint32_t count() const { return count_; }  // of separators; there is a child more
  const Separator* separator(uint32_t i) const {
    BRAID_DCHECK(i < count_);
    return separators_[i];
  }

  /// Makes separators begin .. end - 1, and the children around them, all that `inner` has. Returns
  /// its next state.
  NodeState CopyTo(Inner* inner, NodeState state, uint32_t begin, uint32_t end) const {
    BRAID_DCHECK(!state.is_leaf() && begin <= end && end <= count_);
    const uint32_t n = end - begin;
    BRAID_DCHECK(n <= kInnerKeys);
    for (uint32_t i = 0; i < n; ++i) {
      inner->heads[i].store(base::WordAt(separators_[begin + i]->view(), 0),
                            std::memory_order_release);
      inner->separators[i].store(separators_[begin + i], std::memory_order_release);
    }
    for (uint32_t i = 0; i <= n; ++i) {
      inner->children[i].store(children_[begin + i], std::memory_order_release);
    }
    PadHeads(inner, n, static_cast<uint32_t>(inner->heads.size()));
    const uint32_t prefix = TightenPrefix(inner, n, 0, SeparatorsOf(inner));
    return state.After(n, prefix, kMixedLengths);
  }

 private:
  void Append(const Inner* inner, uint32_t count) {
    for (uint32_t i = 0; i <= count; ++i) {
      children_[count_ + i] = inner->children[i].load(std::memory_order_relaxed);
    }
    for (uint32_t i = 0; i < count; ++i) {
      separators_[count_++] = inner->separators[i].load(std::memory_order_relaxed);
    }
  }

  std::array<const Separator*, 2 * kInnerKeys + 1> separators_;
  std::array<Node*, 2 * (kInnerKeys + 1)> children_;
  uint32_t count_ = 0;
};

/// Puts `separator` in the place of the one at `index`. Returns the next state.
inline NodeState ReplaceSeparator(Inner* inner, NodeState state, uint32_t index,
                                  const Separator* separator) {
  BRAID_DCHECK(!state.is_leaf() && index < state.count());
  const std::string_view key = separator->view();
  const uint32_t prefix = AdmitToPrefix(inner, state, key);
  inner->heads[index].store(base::WordAt(key, prefix), std::memory_order_release);
  inner->separators[index].store(separator, std::memory_order_release);
  return state.After(state.count(), prefix, kMixedLengths);
}

}  // namespace braid::index::btree_internal
