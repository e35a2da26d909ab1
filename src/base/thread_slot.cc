// Purpose: hands out thread slots. Thread safety: lock-free bitmap. Persistence: none.
#include "base/thread_slot.h"

#include <atomic>
#include <bit>

namespace braid::base {
namespace {

std::atomic<uint64_t> taken_slots{0};

struct SlotHolder {
  uint32_t slot;
  SlotHolder() noexcept {
    // Relaxed is enough: the bitmap orders nothing but itself.
    uint64_t taken = taken_slots.load(std::memory_order_relaxed);
    do {
      slot = static_cast<uint32_t>(std::countr_one(taken));
      if (slot >= kMaxExclusiveSlots) {
        slot = kMaxExclusiveSlots;
        return;
      }
    } while (!taken_slots.compare_exchange_weak(taken, taken | (1ull << slot),
                                                std::memory_order_relaxed));
  }
  ~SlotHolder() {
    if (slot < kMaxExclusiveSlots) {
      // Release pairs with nothing: whoever reuses the slot only adds to counters that are summed.
      taken_slots.fetch_and(~(1ull << slot), std::memory_order_relaxed);
    }
  }
};

}  // namespace

uint32_t ThreadSlot() noexcept {
  thread_local SlotHolder holder;
  return holder.slot;
}

}  // namespace braid::base
