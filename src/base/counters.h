// Purpose: event counters that threads bump without sharing a cache line, summed when read.
// Thread safety: Add from any thread; Sum sees every Add that happened before it, and may see
// others.
// Persistence: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/thread_slot.h"

namespace braid::base {

/// N counters, named by an enum whose values are 0 .. N - 1.
template <class Name, size_t N>
class Counters {
 public:
  /// Returns what this thread has added with it, as OfThread does.
  [[gnu::always_inline]] uint64_t Add(Name name, uint64_t amount = 1) noexcept {
    const uint32_t slot = ThreadSlot();
    std::atomic<uint64_t>& counter = lanes_[slot].values[static_cast<size_t>(name)];
    if (slot < kMaxExclusiveSlots) {
      // Only this thread writes the lane, so a plain load and store lose nothing and cost no lock.
      const uint64_t sum = counter.load(std::memory_order_relaxed) + amount;
      counter.store(sum, std::memory_order_relaxed);
      return sum;
    }
    return counter.fetch_add(amount, std::memory_order_relaxed) + amount;
  }

  /// What this thread has added; beyond kMaxExclusiveSlots threads what several have.
  uint64_t OfThread(Name name) const noexcept {
    return lanes_[ThreadSlot()].values[static_cast<size_t>(name)].load(std::memory_order_relaxed);
  }

  uint64_t Sum(Name name) const noexcept {
    uint64_t sum = 0;
    for (const Lane& lane : lanes_) {
      sum += lane.values[static_cast<size_t>(name)].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(64) Lane {
    std::array<std::atomic<uint64_t>, N> values{};
  };
  std::array<Lane, kThreadSlots> lanes_{};
};

}  // namespace braid::base
