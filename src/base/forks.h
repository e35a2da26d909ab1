// Purpose: distinguishes a process from the one that it was forked from, so that a child does not
// touch what belongs to its parent: files and their locks, threads, mutexes that another thread
// held at the fork.
// Thread safety: any thread.
// Invariants:
//   1. The generation moves in a child only, before its fork() returns, and only once a pool was
//      opened (media/fork_guard.h).
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>

#include "braid/status.h"

namespace braid::base {

extern constinit std::atomic<uint32_t> fork_generation;

/// Another number in a child than in its parent.
inline uint32_t ForkGeneration() noexcept {
  // Relaxed: a child begins with one thread; those that it makes come later.
  return fork_generation.load(std::memory_order_relaxed);
}

/// Remembers the process that made it.
class Origin {
 public:
  Origin() noexcept : generation_(ForkGeneration()) {}
  bool IsThisProcess() const noexcept { return generation_ == ForkGeneration(); }

 private:
  uint32_t generation_;
};

/// What a call says whose database was opened by the parent of this process.
Status OpenedByParent() noexcept;

}  // namespace braid::base
