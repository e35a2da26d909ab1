// Purpose: counting background work.
// Thread safety, persistence: see work_clock.h.
#include "base/work_clock.h"

#include <algorithm>

#include "base/clock.h"

namespace braid::base {

// Relaxed throughout: reported numbers, ordered with nothing.
WorkClock::Scope::Scope(WorkClock* clock, BackgroundWork work) noexcept
    : clock_(*clock), work_(static_cast<size_t>(work)), begin_(std::max<uint64_t>(NowNanos(), 1)) {
  for (std::atomic<uint64_t>& slot : clock_.works_[work_].begins) {
    uint64_t expected = 0;
    if (slot.compare_exchange_strong(expected, begin_, std::memory_order_relaxed)) {
      slot_ = &slot;
      return;
    }
  }
}

WorkClock::Scope::~Scope() {
  const uint64_t now = NowNanos();
  // First: what a reader misses in between it tells later; what it counted twice it could not take
  // back.
  if (slot_ != nullptr) slot_->store(0, std::memory_order_relaxed);
  clock_.works_[work_].nanos.fetch_add(now - std::min(now, begin_), std::memory_order_relaxed);
}

uint64_t WorkClock::running(BackgroundWork work) const noexcept {
  uint64_t running = 0;
  for (const auto& begin : works_[static_cast<size_t>(work)].begins) {
    running += begin.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  }
  return running;
}

uint64_t WorkClock::nanos(BackgroundWork work) const noexcept {
  const Work& of = works_[static_cast<size_t>(work)];
  uint64_t nanos = of.nanos.load(std::memory_order_relaxed);
  const uint64_t now = NowNanos();
  for (const auto& slot : of.begins) {
    const uint64_t begin = slot.load(std::memory_order_relaxed);
    if (begin != 0) nanos += now - std::min(now, begin);
  }
  uint64_t told = of.told.load(std::memory_order_relaxed);
  while (nanos > told && !of.told.compare_exchange_weak(told, nanos, std::memory_order_relaxed)) {
  }
  return std::max(nanos, told);
}

void WorkClock::Fill(Statistics* statistics) const noexcept {
  for (size_t i = 0; i < kBackgroundWorks; ++i) {
    const auto work = static_cast<BackgroundWork>(i);
    statistics->work_running[i] = running(work);
    statistics->work_micros[i] = nanos(work) / 1000;
  }
}

}  // namespace braid::base
