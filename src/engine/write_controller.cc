// Purpose: delays and waits of writers. Thread safety, invariants, persistence: write_controller.h.
#include "engine/write_controller.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace braid::engine {

using Clock = Stalls::Clock;

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
    const std::lock_guard lock(mutex_);
    if (held_) pressure = kStop;
    reason_.store(held_ ? StallReason::kIngest : reason, std::memory_order_relaxed);
    if (released_.load(std::memory_order_relaxed)) pressure = 0;
    pressure_.store(pressure, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

void WriteController::Hold() noexcept {
  const std::lock_guard lock(mutex_);
  held_ = true;
  if (!released_.load(std::memory_order_relaxed)) {
    reason_.store(StallReason::kIngest, std::memory_order_relaxed);
    pressure_.store(kStop, std::memory_order_relaxed);
  }
}

void WriteController::LetGo(uint64_t l0_tables, uint64_t immutables, bool active_full) {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  Update(l0_tables, immutables, active_full);
}

void WriteController::Release() {
  released_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    pressure_.store(0, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

namespace {
/// A sleep takes some 50 us more than it is to; what it took too long is taken off what follows.
constexpr int64_t kLeastSleepNanos = 40'000;
constexpr int64_t kMostCreditNanos = 400'000;
/// Of this thread: delays that it has not slept yet, or (below zero) has slept ahead.
constinit thread_local int64_t owed_nanos = 0;
}  // namespace

/// Short delays are put together to one sleep. Spun, as they were at first, they take the processor
/// from the merge that the writers wait for where there are no more processors than writers.
void WriteController::Delay() {
  // Relaxed: shown, and ordered with nothing.
  const uint32_t pressure = pressure_.load(std::memory_order_relaxed);
  if (pressure == kStop) {
    const Stalls::Timer timer(&stalls_, reason_.load(std::memory_order_relaxed));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pressure_.load(std::memory_order_relaxed) != kStop; });
    return;
  }
  owed_nanos += pressure;
  if (owed_nanos < kLeastSleepNanos) return;
  const Stalls::Timer timer(&stalls_, reason_.load(std::memory_order_relaxed));
  std::this_thread::sleep_for(std::chrono::nanoseconds(owed_nanos));
  // A clock that goes back has slept nothing.
  const auto slept =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - timer.begin());
  owed_nanos -= std::max<int64_t>(slept.count(), 0);
  owed_nanos = std::clamp(owed_nanos, -kMostCreditNanos, kLeastSleepNanos);
}

}  // namespace braid::engine
