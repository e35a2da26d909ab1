// Purpose: a rate limit in bytes a second for work whose size is known only afterwards: bytes are
// charged when a step has ended, and the next step waits until they are paid off.
// Thread safety: any thread.
// Invariants:
//   1. No debt lasts longer than kMostDebtNanos, whatever the rate and the size of a step, so that
//      work always continues.
//   2. Unused allowance is kept for kBurstNanos at most.
// Persistence: none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace braid::base {

class TokenBucket {
 public:
  static constexpr uint64_t kMostDebtNanos = 10'000'000'000;
  static constexpr uint64_t kBurstNanos = 100'000'000;
  using Clock = uint64_t (*)();

  /// `clock`: nanoseconds that never go backwards.
  explicit TokenBucket(Clock clock = +[] { return NowNanos(); }) : clock_(clock) {}

  /// 0: no limit. What is owed is forgotten.
  void SetRate(uint64_t bytes_per_second) noexcept {
    const MutexLock lock(mutex_);
    rate_.store(bytes_per_second, std::memory_order_relaxed);
    paid_at_ = 0;
  }
  // Relaxed: a limit that was set just now may be seen by the next step.
  uint64_t rate() const noexcept { return rate_.load(std::memory_order_relaxed); }

  /// Work has taken so many bytes.
  void Take(uint64_t bytes) noexcept {
    const MutexLock lock(mutex_);
    const uint64_t rate = rate_.load(std::memory_order_relaxed);
    if (rate == 0 || bytes == 0) return;
    const uint64_t now = clock_();
    const uint64_t earliest = now > kBurstNanos ? now - kBurstNanos : 0;
    __extension__ using Wide = unsigned __int128;
    const Wide nanos = static_cast<Wide>(bytes) * 1'000'000'000u / rate;
    const Wide paid = std::max(paid_at_, earliest) + nanos;
    paid_at_ = static_cast<uint64_t>(std::min<Wide>(paid, now + kMostDebtNanos));  // invariant 1
  }
  /// Nanoseconds until all that was taken is paid; 0: go on.
  uint64_t Wait() const noexcept {
    if (rate() == 0) return 0;
    const MutexLock lock(mutex_);
    const uint64_t now = clock_();
    return paid_at_ > now ? std::min(paid_at_ - now, kMostDebtNanos) : 0;
  }

 private:
  const Clock clock_;
  std::atomic<uint64_t> rate_{0};
  mutable Mutex mutex_;
  uint64_t paid_at_ BRAID_GUARDED_BY(mutex_) = 0;  // when all that was taken is paid
};

}  // namespace braid::base
