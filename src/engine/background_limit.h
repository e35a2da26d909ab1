// Purpose: what keeps the background of one store from taking others' time: how many bytes it
// writes a second, since steps are charged for what they wrote and the next one begins when that is
// paid; and, within a step, that threads which wait for its processor get it.
// Thread safety: any thread.
// Invariants:
//   1. The limit is lifted while a writer waits, and once the store closes: it takes nobody's time
//      but the background's own.
// Persistence: none; a limit lasts until the store is closed.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/check.h"
#include "base/stalls.h"
#include "base/thread_slot.h"
#include "base/token_bucket.h"
#include "engine/writer_pace.h"
#include "media/persist.h"

namespace braid::engine {

class BackgroundLimit {
 public:
  BackgroundLimit(const media::PersistOps* ops, const base::Stalls* stalls,
                  const std::atomic<bool>* closed, WriterPace* pace) noexcept
      : ops_(*ops), stalls_(*stalls), closed_(*closed), pace_(*pace) {
    BRAID_CHECK(ops != nullptr && stalls != nullptr && closed != nullptr && pace != nullptr);
  }

  /// 0: none.
  void Set(uint64_t bytes_per_second) noexcept { bucket_.SetRate(bytes_per_second); }

  /// What this thread does and writes back from here on is the background's.
  void Begin() noexcept {
    pace_.Begin();
    if (bucket_.rate() == 0) return;
    charged_[base::ThreadSlot()].store(ops_.lines_of_thread(), std::memory_order_relaxed);
  }
  /// For what this thread has written back since; where no lines are written back, `guess` bytes.
  void Charge(uint64_t guess) noexcept {
    if (bucket_.rate() == 0) return;
    // Relaxed: a slot is one thread's.
    std::atomic<uint64_t>& charged = charged_[base::ThreadSlot()];
    const uint64_t lines = ops_.lines_of_thread();
    const uint64_t before = charged.exchange(lines, std::memory_order_relaxed);
    const bool counts = ops_.media_class() == MediaClass::kCacheLine;
    bucket_.Take(counts ? (lines - std::min(before, lines)) * kLineBytes : guess);
  }
  /// Until the next step may begin; 0: now.
  std::chrono::milliseconds Wait() const noexcept {
    const uint64_t nanos = bucket_.Wait();
    if (nanos == 0 || IsLifted()) return std::chrono::milliseconds(0);
    return std::min(std::chrono::milliseconds(nanos / 1'000'000 + 1), kLook);
  }
  /// The background is behind, so that its steps are not to wait for the processor.
  void SetUrgent(bool urgent) noexcept { is_urgent_.store(urgent, std::memory_order_relaxed); }
  /// Whether it is behind, or a writer waits for it. Some loads.
  bool IsUrgent() const noexcept {
    return is_urgent_.load(std::memory_order_relaxed) || stalls_.waiting().writers != 0;
  }
  /// Within a step: threads that wait for this processor get it, unless work is urgent, and need
  /// not wait for the end of a time slice; writers learn what processor the step has had; and it
  /// waits for its rate, unless `stop` is true.
  void Pause(const std::atomic<bool>& stop) const noexcept {
    if (!is_urgent_.load(std::memory_order_relaxed) && !IsLifted()) ::sched_yield();
    pace_.Note();
    while (!stop.load()) {
      const std::chrono::milliseconds wait = Wait();
      if (wait.count() == 0) return;
      std::this_thread::sleep_for(std::min(wait, std::chrono::milliseconds(5)));
      pace_.Begin();
    }
  }

 private:
  static constexpr uint64_t kLineBytes = 64;
  static constexpr std::chrono::milliseconds kLook{20};

  bool IsLifted() const noexcept { return closed_.load() || stalls_.waiting().writers != 0; }

  const media::PersistOps& ops_;
  const base::Stalls& stalls_;
  const std::atomic<bool>& closed_;
  WriterPace& pace_;
  std::atomic<bool> is_urgent_{false};
  base::TokenBucket bucket_;
  std::array<std::atomic<uint64_t>, base::kThreadSlots> charged_{};  // lines, by thread
};

}  // namespace braid::engine
