// Purpose: a small number for each living thread, so that per-thread counters, logs and locks can
// be arrays. Numbers are reused after a thread ends. Thread safety: any thread. Invariant 1: two
// living threads never have the same exclusive slot; threads beyond kMaxExclusiveSlots share slot
// kMaxExclusiveSlots. Persistence: none.
#pragma once

#include <cstdint>

namespace braid::base {

inline constexpr uint32_t kMaxExclusiveSlots = 63;
inline constexpr uint32_t kThreadSlots = kMaxExclusiveSlots + 1;

/// This thread's slot, 0 .. kThreadSlots - 1.
uint32_t ThreadSlot() noexcept;

}  // namespace braid::base
