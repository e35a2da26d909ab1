// Which region of a pool a thread of a test belongs to: another one at each call, so that the data
// of one thread lies in all regions, and searches begin in all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "media/thread_region.h"

namespace braid::test {

/// What is set is the thread's region until it is set anew.
inline thread_local std::optional<uint32_t> region_of_thread;
inline thread_local uint32_t region_turns = 0;

inline void TakeRegionsInTurns() {
  media::SetRegionRule([](uint32_t regions) -> uint32_t {
    if (region_of_thread) return *region_of_thread % regions;
    // Mixed: a pattern of calls must not meet a pattern of regions.
    return (++region_turns * 0x9E3779B1u >> 16) % regions;
  });
}

}  // namespace braid::test
