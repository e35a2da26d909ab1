// Purpose: the inner nodes' search, insertion and splits. Thread safety, invariants: see
// inner_index.h; relaxed loads are those of the thread that holds the mutex.
// Persistence: none.
#include "bench/wbtree/inner_index.h"

#include <sched.h>

#include <algorithm>

#include "base/check.h"

namespace braid::bench::wbtree {
namespace {

uint64_t Relaxed(const std::atomic<uint64_t>& word) {
  // Relaxed: only the holder of the mutex stores.
  return word.load(std::memory_order_relaxed);
}

uint64_t AsChild(const void* node) { return reinterpret_cast<uintptr_t>(node); }

}  // namespace

InnerIndex::Node* InnerIndex::NewNode(uint32_t level) {
  nodes_.push_back(std::make_unique<Node>(level));
  return nodes_.back().get();
}

InnerIndex::Node* InnerIndex::Child(const Node* node, uint32_t index) {
  return reinterpret_cast<Node*>(
      static_cast<uintptr_t>(node->children[index].load(std::memory_order_acquire)));
}

/// The number of keys that are <= `key`.
uint32_t InnerIndex::ChildIndex(const Node* node, uint64_t key) {
  uint32_t begin = 0;
  uint32_t n = std::min(node->count.load(std::memory_order_acquire), kKeys);
  while (n > 0) {
    const uint32_t half = n / 2;
    const bool right = node->keys[begin + half].load(std::memory_order_acquire) <= key;
    begin = right ? begin + half + 1 : begin;
    n = right ? n - half - 1 : half;
  }
  return begin;
}

void InnerIndex::Build(const std::vector<std::pair<uint64_t, LeafNumber>>& leaves) {
  BRAID_CHECK(!leaves.empty());
  constexpr size_t kFill = (kKeys + 1) * 3 / 4;  // room for the splits to come
  std::vector<std::pair<uint64_t, uint64_t>> below(leaves.begin(), leaves.end());
  for (uint32_t level = 0;; ++level) {
    std::vector<std::pair<uint64_t, uint64_t>> nodes;
    for (size_t at = 0; at < below.size(); at += kFill) {
      Node* node = NewNode(level);
      const size_t end = std::min(at + kFill, below.size());
      // Release: as everywhere; nobody reads yet.
      for (size_t i = at; i < end; ++i) {
        if (i > at) node->keys[i - at - 1].store(below[i].first, std::memory_order_release);
        node->children[i - at].store(below[i].second, std::memory_order_release);
      }
      node->count.store(static_cast<uint32_t>(end - at - 1), std::memory_order_release);
      nodes.emplace_back(below[at].first, AsChild(node));
    }
    below = std::move(nodes);
    if (below.size() == 1) break;
  }
  root_.store(nodes_.back().get(), std::memory_order_release);
}

LeafNumber InnerIndex::Find(uint64_t key) const {
  for (uint32_t tries = 0;; ++tries) {
    // Acquire pairs with the release store that ended the last change.
    const uint64_t version = version_.load(std::memory_order_acquire);
    if ((version & 1) != 0) {
      if (tries % 64 == 63) sched_yield();
      continue;
    }
    const Node* node = root_.load(std::memory_order_acquire);
    while (node != nullptr && node->level > 0) node = Child(node, ChildIndex(node, key));
    if (node == nullptr) continue;  // the slot is being filled
    const LeafNumber leaf = node->children[ChildIndex(node, key)].load(std::memory_order_acquire);
    if (version_.load(std::memory_order_acquire) == version) [[likely]]
      return leaf;
  }
}

/// Puts a key and the child to its right at `index`; there is room.
void InnerIndex::InsertInto(Node* node, uint32_t index, uint64_t key, uint64_t child) {
  // Relaxed: only the holder of the mutex stores. Release below pairs with the readers' acquire.
  const uint32_t count = node->count.load(std::memory_order_relaxed);
  for (uint32_t i = count; i > index; --i) {
    node->keys[i].store(Relaxed(node->keys[i - 1]), std::memory_order_release);
    node->children[i + 1].store(Relaxed(node->children[i]), std::memory_order_release);
  }
  node->keys[index].store(key, std::memory_order_release);
  node->children[index + 1].store(child, std::memory_order_release);
  node->count.store(count + 1, std::memory_order_release);
}

/// Moves the upper half of the full node `left` to the empty `right`; returns the key between.
uint64_t InnerIndex::SplitNode(Node* left, Node* right) {
  constexpr uint32_t kLeft = kKeys / 2;
  constexpr uint32_t kRight = kKeys - kLeft - 1;
  // Release pairs with the readers' acquire.
  for (uint32_t i = 0; i < kRight; ++i) {
    right->keys[i].store(Relaxed(left->keys[kLeft + 1 + i]), std::memory_order_release);
  }
  for (uint32_t i = 0; i <= kRight; ++i) {
    right->children[i].store(Relaxed(left->children[kLeft + 1 + i]), std::memory_order_release);
  }
  right->count.store(kRight, std::memory_order_release);
  left->count.store(kLeft, std::memory_order_release);
  return Relaxed(left->keys[kLeft]);
}

void InnerIndex::Insert(uint64_t low, LeafNumber leaf) noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Node*, uint32_t>> path;
  for (Node* node = root_.load(std::memory_order_relaxed);;) {  // relaxed: under the mutex
    path.emplace_back(node, ChildIndex(node, low));
    if (node->level == 0) break;
    node = Child(node, path.back().second);
  }
  // Made before the version is odd, so that readers do not wait for the allocator: a sibling for
  // each full node from the bottom up, and a root when that one is full.
  std::vector<Node*> siblings;
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    if (at->first->count.load(std::memory_order_relaxed) < kKeys) break;  // under the mutex
    siblings.push_back(NewNode(at->first->level));
  }
  Node* new_root =
      siblings.size() == path.size() ? NewNode(path.front().first->level + 1) : nullptr;

  // Relaxed: what is stored behind it is stored with release, so it cannot be seen without it.
  const uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  uint64_t key = low;
  uint64_t child = leaf;
  for (size_t i = 0; i < path.size(); ++i) {
    const auto [node, index] = path[path.size() - 1 - i];
    if (i >= siblings.size()) {
      InsertInto(node, index, key, child);
      break;
    }
    Node* right = siblings[i];
    const uint64_t middle = SplitNode(node, right);
    const uint32_t left_count = node->count.load(std::memory_order_relaxed);  // under the mutex
    if (index <= left_count) {
      InsertInto(node, index, key, child);
    } else {
      InsertInto(right, index - left_count - 1, key, child);
    }
    key = middle;
    child = AsChild(right);
  }
  if (new_root != nullptr) {
    // Release: as everywhere.
    new_root->children[0].store(AsChild(path.front().first), std::memory_order_release);
    InsertInto(new_root, 0, key, child);
    root_.store(new_root, std::memory_order_release);
  }
  // Release pairs with the acquire in Find.
  version_.store(version + 2, std::memory_order_release);
}

size_t InnerIndex::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size() * sizeof(Node);
}

}  // namespace braid::bench::wbtree
