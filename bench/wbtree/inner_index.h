// Purpose: the inner nodes of the wB+-tree, in DRAM: from a key to the leaf that is responsible for
// it.
//
// Thread safety: Find at any time, without locks; Insert from any thread, one at a time by a mutex;
// Build before anyone else knows the index. A reader takes the version, walks, and looks whether
// the version is the same; a change, one in some thirty inserts into the tree, makes the version
// odd while it goes on. Fields are stored with release and loaded with acquire, so that a reader
// which saw a part of a change also sees that the version is another.
//
// Invariants:
//   1. The children of a node of level n > 0 are nodes of level n - 1 at all times, also during a
//      change; those of level 0 are leaves. So a walk through a changing index is safe.
//   2. keys[i] is the lowest key below children[i + 1].
//   3. No node is freed before the index.
//
// Persistence: none; recovery builds it from the chain of leaves.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bench/wbtree/wb_format.h"

namespace braid::bench::wbtree {

class InnerIndex {
 public:
  InnerIndex() = default;
  InnerIndex(const InnerIndex&) = delete;
  InnerIndex& operator=(const InnerIndex&) = delete;

  /// `leaves`: lowest key and number of each, ascending, not empty; the first key is ignored.
  void Build(const std::vector<std::pair<uint64_t, LeafNumber>>& leaves);
  /// The leaf that is responsible for `key` at some moment during the call.
  LeafNumber Find(uint64_t key) const;
  /// Adds a leaf whose lowest key is `low`. The split in persistent memory has happened already, so
  /// there is no way back: memory that runs out ends the process.
  void Insert(uint64_t low, LeafNumber leaf) noexcept;

  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kKeys = 63;  // so that a node has 64 children

  struct alignas(64) Node {
    explicit Node(uint32_t node_level) : level(node_level) {}
    const uint32_t level;
    std::atomic<uint32_t> count{0};  // of keys
    std::array<std::atomic<uint64_t>, kKeys> keys{};
    std::array<std::atomic<uint64_t>, kKeys + 1> children{};  // Node*, at level 0 LeafNumber
  };

  Node* NewNode(uint32_t level);
  static uint32_t ChildIndex(const Node* node, uint64_t key);
  static Node* Child(const Node* node, uint32_t index);
  static void InsertInto(Node* node, uint32_t index, uint64_t key, uint64_t child);
  static uint64_t SplitNode(Node* left, Node* right);

  std::atomic<uint64_t> version_{0};  // odd: a change is under way
  std::atomic<Node*> root_{nullptr};
  mutable std::mutex mutex_;  // held by a change; guards nodes_
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace braid::bench::wbtree
