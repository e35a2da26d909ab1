// Purpose: the memory of one DramBTree: nodes and separators, carved from blocks that start with
// the size of a leaf, so that an empty tree is one small allocation, and grow by a quarter up to 1
// MiB. What the tree unlinks is handed out again after a grace period; blocks are freed with the
// tree. The large ones are mappings of their own, so that what a tree gives up leaves the process.
//
// Thread safety: any thread may allocate, retire, take what was retired and give it back; one
// mutex, taken about once in 32 inserts.
//
// Invariants:
//   1. What was handed out stays as it is, and is not handed out again, before it was retired,
//      taken by TakeRetired and given to Reuse: readers of the tree may follow old pointers
//      (dram_btree_node.h, invariant 3). Between the last two the caller waits for them.
//   2. used_bytes() counts every byte handed out and not yet given to Reuse, with its rounding, and
//      the rest of one chunk of separators; reserved_bytes() every byte taken from the system.
//   3. Blocks have one size for each kind of node, and few sizes for separators, so that what is
//      free fits what is asked for later.
//
// Persistence: none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "index/dram_btree_node.h"
#include "media/dram_block.h"

namespace braid::index::btree_internal {

class NodeArena {
 public:
  NodeArena() = default;
  ~NodeArena() {
    while (blocks_ != nullptr) {
      Block* next = blocks_->next;
      media::GiveDramBlock(blocks_, blocks_->bytes);
      blocks_ = next;
    }
  }
  NodeArena(const NodeArena&) = delete;
  NodeArena& operator=(const NodeArena&) = delete;

  /// A new node; throws std::bad_alloc and changes nothing if memory is out.
  template <class NodeType>
  NodeType* New(NodeState initial) {
    void* memory = nullptr;
    {
      const base::MutexLock lock(mutex_);
      memory = free_nodes_[ClassOf<NodeType>()];
      if (memory != nullptr) {
        free_nodes_[ClassOf<NodeType>()] = NextFree(memory);
        AddUsed(sizeof(NodeType));
      } else {
        memory = Carve(sizeof(NodeType));
      }
    }
    // Not under the lock, since the memory may be touched for the first time.
    return ::new (memory) NodeType(initial);
  }

  /// A copy of `key`. Short ones share chunks, since they need no alignment of a whole line.
  const Separator* NewSeparator(std::string_view key) {
    const base::MutexLock lock(mutex_);
    const size_t which = SeparatorClass(key.size());
    const size_t bytes = SeparatorBytes(which);
    BRAID_DCHECK(which < free_separators_.size() && bytes >= sizeof(Separator) + key.size());
    void* memory = free_separators_[which];
    if (memory != nullptr) {
      free_separators_[which] = NextFree(memory);
      AddUsed(bytes);
    } else if (bytes > kLargestShort) {
      memory = Carve(bytes);
    } else {
      if (bytes > chunk_left_) {
        FreeRestOfChunk();
        chunk_ = Carve(kChunk);
        chunk_left_ = kChunk;
      }
      memory = chunk_;
      chunk_ += bytes;
      chunk_left_ -= bytes;
    }
    auto* separator = ::new (memory) Separator{static_cast<uint32_t>(key.size())};
    if (!key.empty()) std::memcpy(separator + 1, key.data(), key.size());
    return separator;
  }

  /// What was retired and is to be given to Reuse.
  class Retired {
   public:
    bool empty() const noexcept { return first_ == nullptr; }

   private:
    friend class NodeArena;
    Node* first_ = nullptr;
  };

  /// Of a node whose last state is published. `separator`, which may be null, parted a leaf from
  /// its left neighbour.
  void Retire(Node* node, const Separator* separator) noexcept {
    const base::MutexLock lock(mutex_);
    const NodeState state{node->state.load(std::memory_order_relaxed)};
    BRAID_DCHECK(state.unlinked() && (separator == nullptr || state.is_leaf()));
    // Readers that stand on it find its state changed before they use either.
    node->heads[0].store(reinterpret_cast<uintptr_t>(separator), std::memory_order_release);
    node->next.store(retired_.first_, std::memory_order_release);
    retired_.first_ = node;
    retired_bytes_.store(retired_bytes() + NodeBytes(state), std::memory_order_relaxed);
  }

  /// All that was retired until now.
  Retired TakeRetired() noexcept {
    const base::MutexLock lock(mutex_);
    retired_bytes_.store(0, std::memory_order_relaxed);
    return std::exchange(retired_, Retired{});
  }

  /// All operations that were under way when `retired` was taken have ended.
  void Reuse(Retired retired) noexcept {
    const base::MutexLock lock(mutex_);
    for (Node* node = retired.first_; node != nullptr;) {
      Node* next = node->next.load(std::memory_order_relaxed);
      const NodeState state{node->state.load(std::memory_order_relaxed)};
      BRAID_DCHECK(state.unlinked());  // invariant 1: it was retired
      const uintptr_t parted = node->heads[0].load(std::memory_order_relaxed);
      if (auto* separator = reinterpret_cast<Separator*>(parted); separator != nullptr) {
        const size_t which = SeparatorClass(separator->length);
        SubtractUsed(SeparatorBytes(which));
        PutFree(&free_separators_[which], separator);
      }
      SubtractUsed(NodeBytes(state));
      PutFree(&free_nodes_[state.is_leaf() ? ClassOf<Leaf>() : ClassOf<Inner>()], node);
      node = next;
    }
  }

  // Relaxed: statistics, ordered with nothing.
  size_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  size_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
  /// Of nodes that wait for TakeRetired.
  size_t retired_bytes() const { return retired_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kChunk = 512;
  /// Separators up to this size are multiples of kShortStep; larger ones powers of two.
  static constexpr size_t kLargestShort = kChunk / 4;
  static constexpr size_t kShortStep = 16;
  static constexpr size_t kShortClasses = kLargestShort / kShortStep;
  static constexpr size_t kLongClasses = 26;  // up to 2^33 bytes, since a length has 32 bits
  static constexpr size_t kLargestBlock = media::MemoryBlocks::kBytes;

  struct alignas(kLine) Block {
    Block* next;
    size_t bytes;
  };

  static constexpr size_t RoundUp(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  }

  template <class NodeType>
  static constexpr size_t ClassOf() {
    return sizeof(NodeType) == sizeof(Leaf) ? 0 : 1;
  }
  static_assert(sizeof(Leaf) != sizeof(Inner) && sizeof(Inner) % kLine == 0);
  static_assert(sizeof(Leaf) % kLine == 0 && sizeof(Block) % kLine == 0 && kChunk % kLine == 0);
  static_assert(2 * kLargestShort % kLine == 0, "long separators are whole lines");
  static_assert(kLargestShort % kShortStep == 0 && kShortStep % alignof(Separator) == 0);
  static_assert(kShortStep >= sizeof(void*), "what is free holds an address");
  static size_t NodeBytes(NodeState state) {
    return state.is_leaf() ? sizeof(Leaf) : sizeof(Inner);
  }
  static size_t SeparatorClass(size_t length) {
    const size_t bytes = sizeof(Separator) + length;
    if (bytes <= kLargestShort) return (bytes - 1) / kShortStep;
    return kShortClasses + std::bit_width((bytes - 1) / kLargestShort) - 1;
  }
  static size_t SeparatorBytes(size_t which) {
    return which < kShortClasses ? (which + 1) * kShortStep
                                 : 2 * kLargestShort << (which - kShortClasses);
  }

  // What is free holds the address of the next such, anywhere in a tree's memory.
  static void* NextFree(const void* memory) {
    void* next = nullptr;
    std::memcpy(&next, memory, sizeof next);
    return next;
  }
  static void PutFree(void** list, void* memory) {
    std::memcpy(memory, list, sizeof *list);
    *list = memory;
  }

  /// For a separator that fits in: the rest of a chunk is one of the short sizes.
  void FreeRestOfChunk() BRAID_REQUIRES(mutex_) {
    if (chunk_left_ == 0) return;
    BRAID_DCHECK(chunk_left_ < kLargestShort && chunk_left_ % kShortStep == 0);
    SubtractUsed(chunk_left_);
    PutFree(&free_separators_[chunk_left_ / kShortStep - 1], std::exchange(chunk_, nullptr));
    chunk_left_ = 0;
  }

  // Nothing comes between the load and the store.
  void AddUsed(size_t bytes) BRAID_REQUIRES(mutex_) {
    used_.store(used_bytes() + bytes, std::memory_order_relaxed);
    BRAID_DCHECK(used_bytes() <= reserved_bytes());  // invariant 2
  }
  void SubtractUsed(size_t bytes) BRAID_REQUIRES(mutex_) {
    BRAID_DCHECK(used_bytes() >= bytes);  // invariant 2
    used_.store(used_bytes() - bytes, std::memory_order_relaxed);
  }

  /// `bytes`, a multiple of a line, at the start of a line.
  char* Carve(size_t bytes) BRAID_REQUIRES(mutex_) {
    if (bytes > left_) AddBlock(bytes);
    BRAID_DCHECK(bytes % kLine == 0 && bytes <= left_);
    char* memory = cursor_;
    BRAID_DCHECK(reinterpret_cast<uintptr_t>(memory) % kLine == 0);
    cursor_ += bytes;
    left_ -= bytes;
    AddUsed(bytes);
    return memory;
  }

  void AddBlock(size_t bytes) BRAID_REQUIRES(mutex_) {
    const size_t size = std::max(next_block_, sizeof(Block) + bytes);
    auto* block = ::new (media::TakeDramBlock(size)) Block{blocks_, size};
    blocks_ = block;
    cursor_ = reinterpret_cast<char*>(block) + sizeof(Block);
    left_ = size - sizeof(Block);
    const size_t reserved = reserved_.load(std::memory_order_relaxed) + size;
    next_block_ = std::clamp(RoundUp(reserved / 4, kSecondBlock), kSecondBlock, kLargestBlock);
    reserved_.store(reserved, std::memory_order_relaxed);
  }

  // The first split takes a leaf, an inner node and a chunk of separators.
  static constexpr size_t kSecondBlock = 4096;

  base::Mutex mutex_;
  Block* blocks_ BRAID_GUARDED_BY(mutex_) = nullptr;
  char* cursor_ BRAID_GUARDED_BY(mutex_) = nullptr;
  size_t left_ BRAID_GUARDED_BY(mutex_) = 0;
  char* chunk_ BRAID_GUARDED_BY(mutex_) = nullptr;
  size_t chunk_left_ BRAID_GUARDED_BY(mutex_) = 0;
  size_t next_block_ BRAID_GUARDED_BY(mutex_) = sizeof(Block) + sizeof(Leaf);
  std::array<void*, 2> free_nodes_ BRAID_GUARDED_BY(mutex_){};
  std::array<void*, kShortClasses + kLongClasses> free_separators_{};
  Retired retired_;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> reserved_{0};
  std::atomic<size_t> retired_bytes_{0};
};

}  // namespace braid::index::btree_internal
