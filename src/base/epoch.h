// Purpose: epoch-based reclamation over liburcu (memb flavour): memory that a reader may still hold
// is freed only after every read section that could have seen it has ended.
// Thread safety: any thread; threads register themselves on first use.
// Invariants:
//   1. Inside an EpochGuard no pointer, version or chunk that was reachable when the guard was
//      taken is freed or reused. Guards nest; they must not be held across a wait for Synchronize.
// Persistence: none; chunks freed after a grace period are made durable-free by the allocator.
// Source: ListDB 6.5.4 (simple epoch-based reclamation).
#pragma once

#include <cstdint>

namespace braid::base {

/// A read section of this thread. Cost: a few nanoseconds, no fence, no shared line.
class EpochGuard {
 public:
  EpochGuard() noexcept;
  ~EpochGuard();
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;
};

/// Waits until all read sections that began before the call have ended. Not inside an EpochGuard.
void SynchronizeEpoch() noexcept;

/// Around a fork (fork_guard.h). It waits for grace periods under way, unless the thread that forks
/// is in a read section, which these wait for. In the child only the thread that forked is left.
void LockEpochsForFork() noexcept;
void UnlockEpochsInParent() noexcept;
void UnlockEpochsInChild() noexcept;

}  // namespace braid::base
