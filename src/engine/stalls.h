// Purpose: how often, how long in all, and how long at most a writer was held back: by the write
// controller, or while room was made in a full pool.
// Thread safety: any thread; a reader may see one of the three before the others.
// Persistence: none.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace braid::engine {

class Stalls {
 public:
  using Clock = std::chrono::steady_clock;

  /// One stall, from its making to its end.
  class Timer {
   public:
    explicit Timer(Stalls* stalls) : stalls_(stalls), begin_(Clock::now()) {}
    ~Timer() {
      const auto waited = std::chrono::nanoseconds(Clock::now() - begin_);
      stalls_->Add(static_cast<uint64_t>(std::max<int64_t>(waited.count(), 0)));
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    Clock::time_point begin() const noexcept { return begin_; }

   private:
    Stalls* stalls_;
    Clock::time_point begin_;
  };

  // Relaxed throughout: counters that order nothing.
  void Add(uint64_t nanos) noexcept {
    count_.fetch_add(1, std::memory_order_relaxed);
    nanos_.fetch_add(nanos, std::memory_order_relaxed);
    uint64_t longest = longest_.load(std::memory_order_relaxed);
    while (nanos > longest &&
           !longest_.compare_exchange_weak(longest, nanos, std::memory_order_relaxed)) {
    }
  }
  uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  uint64_t nanos() const noexcept { return nanos_.load(std::memory_order_relaxed); }
  uint64_t longest_nanos() const noexcept { return longest_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> nanos_{0};
  std::atomic<uint64_t> longest_{0};
};

}  // namespace braid::engine
