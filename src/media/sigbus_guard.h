// Purpose: turns a SIGBUS in the mapping of a pool (the file was truncated under us, a bad block)
// into a flag that every operation looks at. One handler a process, installed with the first
// mapping that is watched and taken away with the last; signals that are not ours go to the handler
// that was there before.
// Thread safety: any thread; the handler takes no lock and allocates nothing.
// Invariants:
//   1. The flag is set before the page that failed is replaced. So a thread that reads the zeros
//      that stand in for lost data finds the flag set afterwards.
//   2. A range that the handler may look at is never freed.
// Persistence: what is stored to a replaced page is lost; nothing may be acknowledged once the flag
// is set.
#pragma once

#include <atomic>
#include <cstdint>

#include "braid/status.h"

namespace braid::media {

class SigbusGuard {
 public:
  SigbusGuard() = default;
  SigbusGuard(const SigbusGuard&) = delete;
  SigbusGuard& operator=(const SigbusGuard&) = delete;
  ~SigbusGuard() { Release(); }

  /// Watches [base, base + bytes), once.
  Status Watch(const char* base, uint64_t bytes);
  /// Before the addresses are given back.
  void Release() noexcept;
  /// 0, or 1 + the offset from base at which the medium failed first.
  const std::atomic<uint64_t>& fault() const noexcept;

  /// Around a fork (fork_guard.h).
  static void LockForFork() noexcept;
  static void UnlockAfterFork() noexcept;

 private:
  struct Range;
  friend struct SigbusRegistry;
  Range* range_ = nullptr;
};

}  // namespace braid::media
