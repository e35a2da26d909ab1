// Purpose: random numbers for randomized data structures that any thread changes, such as the
// heights of towers.
// Thread safety: any thread; each has its own stream.
// Invariants:
//   1. No two threads of a process draw the same stream, also one after another: where each thread
//      lives for one draw, the draws are as random as those of one thread.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/random.h"

namespace braid::base {

/// How many streams were begun. Tests whose runs must be alike set it back.
inline constinit std::atomic<uint64_t> streams{0};

/// The seed of a stream that nobody has had.
inline uint64_t NewStreamSeed() noexcept {
  // Relaxed: the numbers need only be different. Mixed, or streams would be each other's, shifted.
  return Mix64(streams.fetch_add(1, std::memory_order_relaxed) + 0x2545F4914F6CDD1Du);
}

/// The stream of this thread. Tests whose runs must be alike put it back.
inline SplitMix64& ThreadStream() noexcept {
  thread_local SplitMix64 stream(NewStreamSeed());
  return stream;
}

/// The next 64 random bits of this thread.
inline uint64_t ThreadRandom() noexcept { return ThreadStream().Next(); }

}  // namespace braid::base
