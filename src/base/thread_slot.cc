// Purpose: hands out thread slots.
// Thread safety: lock-free bitmap.
// Persistence: none.
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
    slot_of_thread = kMaxExclusiveSlots;  // what other destructors count is shared
    if (slot < kMaxExclusiveSlots) {
      // Release pairs with nothing: the next owner of the slot only adds to counters that are
      // summed.
      taken_slots.fetch_and(~(1ull << slot), std::memory_order_relaxed);
    }
  }
};

}  // namespace

constinit thread_local uint32_t slot_of_thread = kNoSlot;

uint32_t TakeThreadSlot() noexcept {
  thread_local SlotHolder holder;
  slot_of_thread = holder.slot;
  return holder.slot;
}

}  // namespace braid::base
