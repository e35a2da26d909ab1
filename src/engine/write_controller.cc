// Purpose: delays and waits of writers. Thread safety, invariants, persistence: write_controller.h.
#include "engine/write_controller.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace braid::engine {

using Clock = Stalls::Clock;

void WriteController::Update(uint64_t l0_tables, uint64_t immutables, bool active_full) {
  uint32_t pressure = 0;
  if (l0_tables >= stop_ || (immutables >= max_immutable_ && active_full)) {
    pressure = kStop;
  } else if (l0_tables >= slowdown_) {
    // Doubles every four tables: gentle where the background nearly keeps up, and some 100 us a
    // write at the end, which is slower than any merge.
    const uint64_t steps = std::min<uint64_t>((l0_tables - slowdown_) / 4, 8);
    pressure = static_cast<uint32_t>(500u << steps);
  }
  {
    const std::lock_guard lock(mutex_);
    if (held_) pressure = kStop;
    if (released_.load(std::memory_order_relaxed)) pressure = 0;
    pressure_.store(pressure, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

void WriteController::Hold() noexcept {
  const std::lock_guard lock(mutex_);
  held_ = true;
  if (!released_.load(std::memory_order_relaxed)) {
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

void WriteController::Delay() {
  const Stalls::Timer timer(&stalls_);
  const uint32_t pressure = pressure_.load(std::memory_order_relaxed);
  if (pressure == kStop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pressure_.load(std::memory_order_relaxed) != kStop; });
  } else if (pressure > 20'000) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(pressure));
  } else {
    // A clock that goes back ends the wait, too.
    const Clock::time_point begin = timer.begin();
    const Clock::time_point end = begin + std::chrono::nanoseconds(pressure);
    for (auto now = begin; now >= begin && now < end; now = Clock::now()) _mm_pause();
  }
}

}  // namespace braid::engine
