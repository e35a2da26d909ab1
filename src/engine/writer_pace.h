// Purpose: how long writers wait so that the background, whose work they make, gets a processor.
// Where there are more threads than processors, a merge takes turns with all of them: what is read
// meanwhile goes over more tables, and who reads waits for time slices. It is the writers that wait
// instead, on a machine without a processor to spare, while somebody else reads.
// Thread safety: any thread.
// Invariants:
//   1. A writer is left at least an entry every kMostNanos, and no write waits longer than some
//      milliseconds; nobody waits once the background has nothing left to do.
//   2. A thread that has read since it last waited does not: what it reads would wait, too.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/stalls.h"

namespace braid::engine {

class WriterPace {
 public:
  /// Whose sum grows with what is read, by kGetsARead gets, a seek, or some steps of an iterator.
  struct Reads {
    std::function<uint64_t()> by_all;
    std::function<uint64_t()> by_thread;  ///< that calls it
  };
  static constexpr uint64_t kGetsARead = 16;
  /// A writer is left at least an entry every so many nanoseconds.
  static constexpr uint32_t kMostNanos = 10'000;

  explicit WriterPace(base::Stalls* stalls) noexcept;
  WriterPace(const WriterPace&) = delete;
  WriterPace& operator=(const WriterPace&) = delete;

  /// Before there are threads. Without it nobody waits.
  void Watch(Reads reads) noexcept { reads_ = std::move(reads); }

  /// A piece of background work begins on this thread.
  void Begin() noexcept;
  /// It has ended, after a millisecond or so. Cost: two clocks, a lock.
  void Note() noexcept;
  /// What Note does with a piece that has ended `now`, nanoseconds of NowNanos: it took so long,
  /// and ran so long on a processor.
  void Count(uint64_t now, uint64_t took, uint64_t ran) noexcept;
  /// There is nothing left to do in the background.
  void End() noexcept { Set(0); }

  /// Before a write. Cost: one load while nobody has to wait.
  void Admit() {
    // Relaxed: a hint.
    if (nanos_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      Owe(1);
      Wait();
    }
  }
  /// A write had so many entries more than the one it was admitted with; its thread's next one
  /// waits for that.
  void Owe(uint64_t entries) noexcept;

  /// A thread may write an entry every so many nanoseconds; 0: nobody waits.
  uint32_t nanos() const noexcept { return nanos_.load(std::memory_order_relaxed); }
  /// What it is where the background had a processor for this share of its time.
  static uint32_t NanosAt(double share) noexcept;

 private:
  void Set(uint32_t nanos) noexcept;
  void Wait();

  base::Stalls& stalls_;
  const uint64_t id_;  // no other's, now or later
  Reads reads_;
  alignas(64) std::atomic<uint32_t> nanos_{0};
  alignas(64) base::Mutex mutex_;             // not on the line of what each write looks at
  double time_ BRAID_GUARDED_BY(mutex_) = 0;  // that the background took lately, by the clock
  double run_ BRAID_GUARDED_BY(mutex_) = 0;   // and on a processor
  uint64_t looked_at_ BRAID_GUARDED_BY(mutex_) = 0;
  uint64_t reads_seen_ BRAID_GUARDED_BY(mutex_) = 0;
  bool is_read_ BRAID_GUARDED_BY(mutex_) = false;
};

}  // namespace braid::engine
