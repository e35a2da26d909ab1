// Purpose: write stalls: how often writers were held back, how long in total and at most, and why;
// and how many are waiting now.
// Thread safety: any thread; a reader may see one number before another.
// Invariants:
//   1. No time of a thread is counted twice: a timer inside another of its thread does nothing, and
//      what a write took beyond its timers is counted by its WriteWatch alone.
// Persistence: none.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/cycles.h"
#include "base/latencies.h"
#include "base/mutex.h"
#include "base/thread_slot.h"
#include "braid/event_listener.h"
#include "braid/statistics.h"

namespace braid::base {

class Stalls {
 public:
  using Clock = std::chrono::steady_clock;

  /// What is shorter is a part of any write, where it is not a wait for background work.
  static constexpr uint64_t kNoticeable = 1'000'000;

  /// `listener` (may be null) is called for stalls of a millisecond or longer.
  explicit Stalls(EventListener* listener = nullptr) : listener_(listener) {}

  /// A wait for background work, from its making to its end: counted however short it is.
  class Timer {
   public:
    Timer(Stalls* stalls, StallReason reason)
        : stalls_(stalls), reason_(reason), begin_(Clock::now()), waiter_(stalls, reason) {}
    ~Timer() {
      if (!waiter_.is_outermost()) return;
      const auto waited = std::chrono::nanoseconds(Clock::now() - begin_);
      stalls_->Add(reason_, static_cast<uint64_t>(std::max<int64_t>(waited.count(), 0)));
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    Clock::time_point begin() const noexcept { return begin_; }

   private:
    friend class Stalls;
    /// Shows the thread among those that wait.
    class Waiter {
     public:
      Waiter(Stalls* stalls, StallReason reason) noexcept;
      ~Waiter();
      Waiter(const Waiter&) = delete;
      Waiter& operator=(const Waiter&) = delete;
      bool is_outermost() const noexcept { return outermost_; }

     private:
      std::atomic<uint64_t>* slot_ = nullptr;
      bool outermost_;
    };

    Stalls* stalls_;
    StallReason reason_;
    Clock::time_point begin_;
    Waiter waiter_;
  };

  /// A step that is usually short: a lock, room in the pool, the touch of a page. Counted when it
  /// is noticeable. Costs two looks at the processor's cycles.
  class Watch {
   public:
    Watch(Stalls* stalls, StallReason reason) noexcept
        : stalls_(stalls), reason_(reason), begin_(NowCycles()), waiter_(stalls, reason) {}
    ~Watch() {
      if (waiter_.is_outermost()) stalls_->AddIfNoticeable(reason_, NowCycles() - begin_, 0);
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Stalls* stalls_;
    StallReason reason_;
    uint64_t begin_;
    Timer::Waiter waiter_;
  };

  /// A whole write, of one key (kPut) or of several (kBatch): what it took beyond its timers and
  /// watches is counted when it is noticeable, and its latency as latencies.h says.
  class WriteWatch {
   public:
    explicit WriteWatch(Stalls* stalls, LatencyKind kind = LatencyKind::kPut) noexcept
        : stalls_(stalls), kind_(kind), begin_(NowCycles()), counted_(counted_of_thread) {}
    ~WriteWatch() {
      const uint64_t cycles = NowCycles() - begin_;
      if (cycles >= kNoticeableCycles) [[unlikely]] {
        stalls_->AddCycles(StallReason::kSystem, cycles, counted_of_thread - counted_);
        stalls_->latencies_.RecordCycles(kind_, cycles);
      } else if (stalls_->latencies_.IsTimed(kind_, begin_)) [[unlikely]] {
        stalls_->latencies_.RecordSampled(kind_, cycles);
      }
    }
    WriteWatch(const WriteWatch&) = delete;
    WriteWatch& operator=(const WriteWatch&) = delete;

   private:
    Stalls* stalls_;
    LatencyKind kind_;
    uint64_t begin_;
    uint64_t counted_;
  };

  /// What a write does because it was asked to, a sync or the copy of a large value: no stall,
  /// however long it takes.
  class Asked {
   public:
    Asked() noexcept : begin_(NowCycles()) {}
    ~Asked();
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;

   private:
    uint64_t begin_;
  };

  void Add(StallReason reason, uint64_t nanos) noexcept;
  uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  uint64_t nanos() const noexcept;
  uint64_t nanos(StallReason reason) const noexcept {
    return nanos_[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }
  uint64_t longest_nanos() const noexcept { return longest_.load(std::memory_order_relaxed); }

  /// Who waits now.
  struct Waiting {
    uint64_t writers = 0;
    uint64_t longest_nanos = 0;                 // how long the one that waits longest has waited
    StallReason reason = StallReason::kSystem;  // of that one
  };
  Waiting waiting() const noexcept;
  /// Of writes and stalls, and what other parts of the store time.
  Latencies* latencies() noexcept { return &latencies_; }
  /// All of it, latencies too.
  void Fill(Statistics* statistics) const noexcept;

 private:
  /// Cycles that no machine does in kNoticeable nanoseconds less than once: the clock is asked only
  /// behind them.
  static constexpr uint64_t kNoticeableCycles = kNoticeable / 4;
  /// Threads that are shown at a time; more are counted when their wait ends.
  static constexpr size_t kSlots = 64;
  static constexpr uint32_t kReasonBits = 4;
  static_assert(kStallReasons <= 1u << kReasonBits);

  void AddIfNoticeable(StallReason reason, uint64_t cycles, uint64_t counted_nanos) noexcept {
    if (cycles >= kNoticeableCycles) [[unlikely]]
      AddCycles(reason, cycles, counted_nanos);
  }
  void AddCycles(StallReason reason, uint64_t cycles, uint64_t counted_nanos) noexcept;

  // Of timers that have ended, and timers under way, by this thread; of all databases.
  static constinit thread_local uint64_t counted_of_thread;
  static constinit thread_local uint32_t timers_of_thread;

  EventListener* const listener_;
  std::atomic<uint64_t> count_{0};
  std::array<std::atomic<uint64_t>, kStallReasons> nanos_{};
  std::atomic<uint64_t> longest_{0};
  Latencies latencies_;
  // When the wait began, in cycles, and its reason in the lowest bits; 0: free.
  std::array<std::atomic<uint64_t>, kSlots> waiters_{};
};

/// For a lock that is mostly held for some microseconds, by a thread that has a processor: who
/// sleeps would wait for one as well.
inline constexpr int kShortLockSpins = 128;

/// Holds `mutex`; where it is held by another, the wait for it is watched, and begins with so many
/// tries, a few hundred cycles each.
inline MutexHold LockWatched(Mutex& mutex, Stalls* stalls, int spins = 0) {
  constexpr int kPauses = 16;
  MutexHold lock(mutex, std::try_to_lock);
  if (lock.owns_lock()) [[likely]]
    return lock;
  const Stalls::Watch watch(stalls, StallReason::kLock);
  for (; spins > 0; --spins) {
    for (int pause = 0; pause < kPauses; ++pause) _mm_pause();
    if (lock.try_lock()) return lock;
  }
  lock.lock();
  return lock;
}

}  // namespace braid::base
