// Purpose: a small number for each living thread, so that per-thread counters, logs and locks can
// be arrays. Numbers are reused after a thread ends.
// Thread safety: any thread.
// Invariants:
//   1. Two living threads never have the same exclusive slot; threads beyond kMaxExclusiveSlots
//      share slot kMaxExclusiveSlots.
// Persistence: none.
#pragma once

#include <cstdint>

namespace braid::base {

inline constexpr uint32_t kMaxExclusiveSlots = 63;
inline constexpr uint32_t kThreadSlots = kMaxExclusiveSlots + 1;

/// What ThreadSlot looks at first: every counter asks for its slot, some ten times an update.
inline constexpr uint32_t kNoSlot = ~0u;
extern constinit thread_local uint32_t slot_of_thread;
/// Its first call in a thread.
uint32_t TakeThreadSlot() noexcept;

/// This thread's slot, 0 .. kThreadSlots - 1.
inline uint32_t ThreadSlot() noexcept {
  const uint32_t slot = slot_of_thread;
  return slot != kNoSlot ? slot : TakeThreadSlot();
}

}  // namespace braid::base
