// Purpose: delays and waits of writers.
// Thread safety, invariants, persistence: write_controller.h.
#include "write/write_controller.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.h"

namespace braid::write {

using Clock = base::Stalls::Clock;

void WriteController::Update(uint64_t l0_tables, uint64_t immutables, bool active_full) {
  uint32_t pressure = DelayNanos(l0_tables, slowdown_);
  StallReason reason = StallReason::kL0;
  if (l0_tables >= stop_) {
    pressure = kStop;
  } else if (immutables >= max_immutable_ && active_full) {
    pressure = kStop;
    reason = StallReason::kMemtables;
  }
  {
    const base::MutexLock lock(mutex_);
    if (held_) pressure = kStop;
    reason_.store(held_ ? StallReason::kIngest : reason, std::memory_order_relaxed);
    if (released_.load(std::memory_order_relaxed)) pressure = 0;
    pressure_.store(pressure, std::memory_order_relaxed);
  }
  changed_.NotifyAll();
}

void WriteController::Pause() noexcept {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(!held_);  // Resume of the one would let the writers of the other go
  held_ = true;
  if (!released_.load(std::memory_order_relaxed)) {
    reason_.store(StallReason::kIngest, std::memory_order_relaxed);
    pressure_.store(kStop, std::memory_order_relaxed);
  }
}

void WriteController::Resume(uint64_t l0_tables, uint64_t immutables, bool active_full) {
  {
    const base::MutexLock lock(mutex_);
    BRAID_DCHECK(held_);
    held_ = false;
  }
  Update(l0_tables, immutables, active_full);
}

void WriteController::Release() {
  released_.store(true, std::memory_order_relaxed);
  {
    const base::MutexLock lock(mutex_);
    pressure_.store(0, std::memory_order_relaxed);
  }
  changed_.NotifyAll();
}

void WriteController::Delay() {
  // Relaxed: shown, and ordered with nothing.
  const base::Stalls::Timer timer(&stalls_, reason_.load(std::memory_order_relaxed));
  const uint32_t pressure = pressure_.load(std::memory_order_relaxed);
  if (pressure == kStop) {
    const base::MutexLock lock(mutex_);
    while (pressure_.load(std::memory_order_relaxed) == kStop) changed_.Wait(mutex_);
  } else if (pressure > 20'000) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(pressure));
  } else {
    // A clock that goes back ends the wait, too.
    const Clock::time_point begin = timer.begin();
    const Clock::time_point end = begin + std::chrono::nanoseconds(pressure);
    for (auto now = begin; now >= begin && now < end; now = Clock::now()) _mm_pause();
  }
}

}  // namespace braid::write
