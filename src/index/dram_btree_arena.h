// Purpose: the memory of one DramBTree: nodes and separators, carved from blocks that start with
// the size of a leaf, so that an empty tree is one small allocation, and grow by a quarter up to 1
// MiB. All of it is freed at once, with the tree. The large ones are mappings of their own, so that
// what a tree gives up leaves the process.
//
// Thread safety: any thread may allocate; one mutex, taken about once in 32 inserts.
//
// Invariants:
//   1. What was handed out stays mapped and is not handed out again before the arena dies; readers
//      of the tree may follow old pointers (dram_btree_node.h, invariant 3).
//   2. used_bytes() counts every byte handed out, with its rounding; reserved_bytes() every byte
//      taken from the system.
//
// Persistence: none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

#include "index/dram_btree_node.h"
#include "pmem/dram_block.h"

namespace braid::index::btree_internal {

class NodeArena {
 public:
  NodeArena() = default;
  ~NodeArena() {
    while (blocks_ != nullptr) {
      Block* next = blocks_->next;
      pmem::GiveDramBlock(blocks_, blocks_->bytes);
      blocks_ = next;
    }
  }
  NodeArena(const NodeArena&) = delete;
  NodeArena& operator=(const NodeArena&) = delete;

  /// A new node; throws std::bad_alloc and changes nothing if memory is out.
  template <class NodeType>
  NodeType* New(NodeState initial) {
    std::lock_guard lock(mutex_);
    return ::new (Carve(sizeof(NodeType))) NodeType(initial);
  }

  /// A copy of `key`. Short ones share chunks, since they need no alignment of a whole line.
  const Separator* NewSeparator(std::string_view key) {
    std::lock_guard lock(mutex_);
    const size_t bytes = RoundUp(sizeof(Separator) + key.size(), alignof(Separator));
    char* memory = nullptr;
    if (bytes > kChunk / 4) {
      memory = Carve(RoundUp(bytes, kLine));
    } else {
      if (bytes > chunk_left_) {
        chunk_ = Carve(kChunk);
        chunk_left_ = kChunk;
      }
      memory = chunk_;
      chunk_ += bytes;
      chunk_left_ -= bytes;
    }
    auto* separator = ::new (memory) Separator{static_cast<uint32_t>(key.size())};
    if (!key.empty()) std::memcpy(memory + sizeof(Separator), key.data(), key.size());
    return separator;
  }

  // Relaxed: statistics, ordered with nothing.
  size_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  size_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kChunk = 512;
  static constexpr size_t kLargestBlock = size_t{1} << 20;

  struct alignas(kLine) Block {
    Block* next;
    size_t bytes;
  };

  static constexpr size_t RoundUp(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  }

  /// `bytes`, a multiple of a line, at the start of a line.
  char* Carve(size_t bytes) {
    if (bytes > left_) AddBlock(bytes);
    char* memory = cursor_;
    cursor_ += bytes;
    left_ -= bytes;
    used_.store(used_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    return memory;
  }

  void AddBlock(size_t bytes) {
    const size_t size = std::max(next_block_, sizeof(Block) + bytes);
    auto* block = ::new (pmem::TakeDramBlock(size)) Block{blocks_, size};
    blocks_ = block;
    cursor_ = reinterpret_cast<char*>(block) + sizeof(Block);
    left_ = size - sizeof(Block);
    const size_t reserved = reserved_.load(std::memory_order_relaxed) + size;
    next_block_ = std::clamp(RoundUp(reserved / 4, kSecondBlock), kSecondBlock, kLargestBlock);
    reserved_.store(reserved, std::memory_order_relaxed);
  }

  // The first split takes a leaf, an inner node and a chunk of separators.
  static constexpr size_t kSecondBlock = 4096;

  std::mutex mutex_;
  Block* blocks_ = nullptr;
  char* cursor_ = nullptr;
  size_t left_ = 0;
  char* chunk_ = nullptr;
  size_t chunk_left_ = 0;
  size_t next_block_ = sizeof(Block) + sizeof(Leaf);
  std::atomic<size_t> used_{0};
  std::atomic<size_t> reserved_{0};
};

}  // namespace braid::index::btree_internal
