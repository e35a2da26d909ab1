// Purpose: the memory of one DramSkipList: nodes, carved from blocks that begin small, so that an
// empty list is one small allocation, and double up to 256 KiB. All of it is freed with the list.
// Thread safety: any thread may allocate; the threads are spread over stripes, each with a mutex.
// Invariants:
//   1. What was handed out stays mapped and is not handed out again before the arena is destroyed,
//      unless it was given back: readers of the list may follow old pointers.
//   2. used_bytes() counts every byte handed out; reserved_bytes() every byte taken from the
//      system.
// Persistence: none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/check.h"
#include "base/mutex.h"
#include "base/thread_slot.h"

namespace braid::index {

class SkipListArena {
 public:
  SkipListArena() = default;
  ~SkipListArena() {
    for (Stripe& stripe : stripes_) {
      while (stripe.blocks != nullptr) {
        Block* next = stripe.blocks->next;
        ::operator delete(stripe.blocks);
        stripe.blocks = next;
      }
    }
  }
  SkipListArena(const SkipListArena&) = delete;
  SkipListArena& operator=(const SkipListArena&) = delete;

  /// `bytes`, a multiple of 8, aligned to 8. Throws std::bad_alloc and changes nothing then.
  void* Allocate(size_t bytes) {
    BRAID_DCHECK(bytes % kUnit == 0);
    Stripe& stripe = StripeOfThread();
    const base::MutexLock lock(stripe.mutex);
    if (bytes > stripe.left) AddBlock(stripe, bytes);
    BRAID_DCHECK(bytes <= stripe.left);
    char* memory = stripe.cursor;
    stripe.cursor += bytes;
    stripe.left -= bytes;
    // Relaxed: a statistic, ordered with nothing.
    used_.fetch_add(bytes, std::memory_order_relaxed);
    return memory;
  }

  /// Takes back what this thread got last and showed to nobody. If another thread of the stripe was
  /// served in between, the bytes stay unused.
  void GiveBack(void* memory, size_t bytes) noexcept {
    Stripe& stripe = StripeOfThread();
    const base::MutexLock lock(stripe.mutex);
    BRAID_DCHECK(bytes % kUnit == 0 && stripe.blocks != nullptr);  // it gave them
    // Relaxed: what this thread has added is in it.
    BRAID_DCHECK(used_.load(std::memory_order_relaxed) >= bytes);
    if (static_cast<char*>(memory) + bytes != stripe.cursor) return;
    stripe.cursor -= bytes;
    stripe.left += bytes;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // Relaxed: statistics, ordered with nothing.
  size_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  size_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kUnit = 8;
  static constexpr size_t kFirstBlock = 512;
  static constexpr size_t kLargestBlock = size_t{256} << 10;

  struct Block {
    Block* next;
  };
  static_assert(sizeof(Block) % kUnit == 0, "what is behind it is aligned, too");
  struct alignas(64) Stripe {
    base::Mutex mutex;
    Block* blocks BRAID_GUARDED_BY(mutex) = nullptr;
    char* cursor BRAID_GUARDED_BY(mutex) = nullptr;
    size_t left BRAID_GUARDED_BY(mutex) = 0;
    size_t next_block BRAID_GUARDED_BY(mutex) = kFirstBlock;
  };

  Stripe& StripeOfThread() noexcept { return stripes_[base::ThreadSlot() % stripes_.size()]; }

  void AddBlock(Stripe& stripe, size_t bytes) BRAID_REQUIRES(stripe.mutex) {
    const size_t size = std::max(stripe.next_block, sizeof(Block) + bytes);
    auto* block = ::new (::operator new(size)) Block{stripe.blocks};
    stripe.blocks = block;
    stripe.cursor = reinterpret_cast<char*>(block) + sizeof(Block);
    stripe.left = size - sizeof(Block);
    stripe.next_block = std::min(2 * stripe.next_block, kLargestBlock);
    reserved_.fetch_add(size, std::memory_order_relaxed);
  }

  std::array<Stripe, 16> stripes_;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> reserved_{0};
};

}  // namespace braid::index
