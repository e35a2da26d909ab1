// Purpose: waiting for words in memory, of this process or of a file that several have mapped,
// where a condition variable can't: for two words at once. Thread safety: any thread. Invariant 1:
// who changes a word wakes after the change, so that whoever has seen the old one is woken or finds
// the new one. Persistence: none.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace braid::base {

/// Wakes all who wait for the word. `shared`: processes that have mapped the same file, too.
inline void WakeWaiters(const void* word, bool shared) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, nullptr,
            nullptr, 0);
}

/// Waits until one of two words is woken for, and at most as long as both have their value. False:
/// the system can't (Linux before 5.16), or one of them is not there.
inline bool WaitForEither(const void* own, uint32_t own_value, const void* shared,
                          uint32_t shared_value) noexcept {
  struct Waiter {  // struct futex_waitv, which older headers lack
    uint64_t value;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
  };
  constexpr uint32_t k32Bits = 2;
  constexpr long kFutexWaitv = 449;
  const Waiter waiters[] = {
      {own_value, reinterpret_cast<uintptr_t>(own), k32Bits | FUTEX_PRIVATE_FLAG, 0},
      {shared_value, reinterpret_cast<uintptr_t>(shared), k32Bits, 0}};
  if (::syscall(kFutexWaitv, waiters, 2, 0, nullptr, 0) >= 0) return true;
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace braid::base
