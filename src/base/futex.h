// Purpose: waiting for words in memory, of this process or of a file that several have mapped,
// where a condition variable can't: for many words at once.
// Thread safety: any thread.
// Invariants:
//   1. A thread that changes a word wakes the waiters after the change, so that one that has seen
//      the old value is woken or finds the new one.
// Persistence: none.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdint>

namespace braid::base {

/// Wakes all who wait for the word. `shared`: processes that have mapped the same file, too.
inline void WakeWaiters(const void* word, bool shared) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, nullptr,
            nullptr, 0);
}

/// A word to wait for, as futex_waitv takes it; older headers lack the type.
struct FutexWaiter {
  static constexpr uint32_t k32Bits = 2;

  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;

  /// As long as the word is `value`.
  static FutexWaiter OfProcess(const void* word, uint32_t value) noexcept {
    return {value, reinterpret_cast<uintptr_t>(word), k32Bits | FUTEX_PRIVATE_FLAG, 0};
  }
  /// Which other processes may change, too.
  static FutexWaiter Shared(const void* word, uint32_t value) noexcept {
    return {value, reinterpret_cast<uintptr_t>(word), k32Bits, 0};
  }
};

/// Its number; older headers lack it, too.
inline constexpr long kFutexWaitv = 449;
/// How many words can be waited for at once.
inline constexpr size_t kMostWaiters = 128;

/// Waits until one of the words is woken for, and at most as long as all have their value. False:
/// the system can't (Linux before 5.16), or one of them is not there.
inline bool WaitForAny(const FutexWaiter* waiters, size_t count) noexcept {
  if (::syscall(kFutexWaitv, waiters, count, 0, nullptr, 0) >= 0) return true;
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace braid::base
