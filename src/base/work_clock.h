// Purpose: what the background of a store does: for each kind of work how many pieces are under way
// now, and the time all of them took, those under way up to now.
// Thread safety: any thread; a reader may see one number before another.
// Persistence: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "braid/statistics.h"

namespace braid::base {

class WorkClock {
 public:
  /// A piece of work, from its making to its end.
  class Scope {
   public:
    Scope(WorkClock* clock, BackgroundWork work) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WorkClock& clock_;
    const size_t work_;
    const uint64_t begin_;
    std::atomic<uint64_t>* slot_ = nullptr;
  };

  uint64_t running(BackgroundWork work) const noexcept;
  /// Never less than an earlier call has returned.
  uint64_t nanos(BackgroundWork work) const noexcept;
  /// All of it.
  void Fill(Statistics* statistics) const noexcept;

 private:
  /// Pieces of a kind that are shown at a time; more are counted when they end.
  static constexpr size_t kSlots = 8;
  struct Work {
    std::array<std::atomic<uint64_t>, kSlots> begins{};  // when those under way began; 0: free
    std::atomic<uint64_t> nanos{0};                      // of those that have ended
    mutable std::atomic<uint64_t> told{0};               // the most that was returned
  };
  std::array<Work, kBackgroundWorks> works_{};
};

}  // namespace braid::base
