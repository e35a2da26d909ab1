// Purpose: what DRAM knows of a leaf in persistent memory: where its part of the key space begins,
// which slots are shown, fingerprints, its neighbours.
// Thread safety: `mutex` is held to change the leaf, or the link that leads on from it. Readers
// take no lock: they read `version`, then slots, then `version` and `replaced` again. Locks of
// several leaves are taken from left to right.
// Invariants:
//   1. A leaf is responsible for the keys from `low` to the next leaf's `low`.
//   2. `bitmap` shows what is durable only; a slot that is shown is not written to, and `version`
//      grows before a slot that is shown no longer is.
//   3. A leaf that is replaced never changes again.
//   4. `next` and the `prev` of the next leaf change under this leaf's mutex.
// Persistence: none; `offset` names the leaf.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/mutex.h"
#include "format/leaf.h"

namespace braid::leaf {

/// The first bytes of a key, so that words compare as keys do until they are equal.
inline uint64_t KeyPrefix(std::string_view key) noexcept {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) {
    word = word << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0u);
  }
  return word;
}

struct SpanNode;

/// `bitmap` has a bit for each slot.
static_assert(format::kLeafSlots <= 64);

struct LeafNode {
  LeafNode(std::string low_key, uint64_t leaf_offset)
      : low(std::move(low_key)), prefix(KeyPrefix(low)), offset(leaf_offset) {}

  const std::string low;
  const uint64_t prefix;
  const uint64_t offset;  // 0: the list's head, which holds nothing
  base::Mutex mutex;
  std::atomic<uint64_t> version{0};
  std::atomic<uint64_t> bitmap{0};
  std::atomic<LeafNode*> next{nullptr};
  std::atomic<LeafNode*> prev{nullptr};
  std::atomic<bool> loaded{false};  // bitmap and fingerprints are those of the leaf
  std::atomic<bool> replaced{false};
  std::array<std::atomic<uint8_t>, format::kLeafSlots> fingerprints{};
  SpanNode* towers = nullptr;  // SpanSkipList: its nodes of level 1 that stand here

  /// The list holds one reference, each iterator that stands here another one.
  void Ref() noexcept {
    BRAID_DCHECK(refs_.load(std::memory_order_relaxed) > 0);  // it can be found: the list holds it
    refs_.fetch_add(1, std::memory_order_relaxed);
  }
  void Unref() noexcept {
    BRAID_DCHECK(refs_.load(std::memory_order_relaxed) > 0);
    // Release and acquire: what others did with the node comes before its end.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~LeafNode() = default;
  std::atomic<uint32_t> refs_{1};
};

/// Whether a node's key (with its prefix) is at or before `key`; strictly before it.
inline bool AtOrBefore(std::string_view node_key, uint64_t node_prefix, std::string_view key,
                       uint64_t prefix, bool strict) noexcept {
  if (node_prefix != prefix) return node_prefix < prefix;
  const int order = node_key.compare(key);
  return order < 0 || (order == 0 && !strict);
}

}  // namespace braid::leaf
