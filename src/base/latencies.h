// Purpose: how long calls and pieces of background work take: a histogram for each kind.
//
// What is rare is timed each time. Of gets, steps of iterators and writes a store times the first
// 1,024 of a kind, and from then on one in 64, which counts as 64; a write that takes long is
// always counted by itself, so that none of the slow ones is missed. Which one is timed depends on
// its number, or on the cycle it began in, by a multiplication that follows no period of the
// caller's.
//
// Thread safety: any thread; a reader may see one number before another.
// Invariants:
//   1. A call that is not timed costs some five instructions, and stores nothing.
// Persistence: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cycles.h"
#include "braid/statistics.h"

namespace braid::base {

class Latencies {
 public:
  /// One call in so many is timed.
  static constexpr uint64_t kOneIn = 64;
  /// So many of a kind are all timed first.
  static constexpr uint64_t kFirst = 1024;

  /// A call from its making to its end, if its number says so. `latencies` is not null.
  class Timing {
   public:
    Timing(Latencies* latencies, LatencyKind kind, uint64_t number) noexcept
        : latencies_(latencies), kind_(kind) {
      if (latencies->IsTimed(kind, number)) [[unlikely]]
        begin_ = NowCycles();
    }
    ~Timing() {
      if (begin_ != 0) [[unlikely]]
        latencies_->RecordSampled(kind_, NowCycles() - begin_);
    }
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;

   private:
    Latencies* latencies_;
    LatencyKind kind_;
    uint64_t begin_ = 0;
  };

  /// `number`: counts the calls of the kind, or is a cycle.
  bool IsTimed(LatencyKind kind, uint64_t number) const noexcept {
    // The golden ratio's multiples are spread evenly, those of any step too.
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
    constexpr unsigned kShift = 58;
    static_assert(uint64_t{1} << (64 - kShift) == kOneIn);
    // Relaxed: a number more or less.
    return number * kGolden >> kShift == 0 ||
           !had_first_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
  }
  /// A call of which IsTimed was true.
  void RecordSampled(LatencyKind kind, uint64_t cycles) noexcept;
  /// What counts once.
  void RecordCycles(LatencyKind kind, uint64_t cycles) noexcept {
    Record(kind, NanosOfCycles(cycles), 1);
  }
  void Record(LatencyKind kind, uint64_t nanos) noexcept { Record(kind, nanos, 1); }
  /// What `call` returns; it counts once.
  template <class Call>
  auto Time(LatencyKind kind, Call&& call) {
    const uint64_t begin = NowCycles();
    auto result = call();
    RecordCycles(kind, NowCycles() - begin);
    return result;
  }

  /// All of it.
  void Fill(Statistics* statistics) const noexcept;

 private:
  struct Counts {
    std::atomic<uint64_t> sum_nanos{0};
    std::atomic<uint64_t> max_nanos{0};
    std::array<std::atomic<uint64_t>, LatencyHistogram::kBuckets> buckets{};
    std::atomic<uint64_t> sampled{0};  // timed for their number
  };
  void Record(LatencyKind kind, uint64_t nanos, uint64_t weight) noexcept;

  // Read by each call, and stored to once.
  alignas(64) std::array<std::atomic<bool>, kLatencyKinds> had_first_{};
  alignas(64) std::array<Counts, kLatencyKinds> counts_{};
};

}  // namespace braid::base
