// Purpose: a processor's cycles as time: cheaper to read than the clock.
// Thread safety: any thread.
// Persistence: none.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace braid::base {

inline uint64_t NowCycles() noexcept { return __rdtsc(); }

/// So many cycles in nanoseconds, by how many there were since the program began. Two looks at the
/// clock.
uint64_t NanosOfCycles(uint64_t cycles) noexcept;

}  // namespace braid::base
