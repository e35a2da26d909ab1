// Purpose: decides how many free chunks keep their pages, and gives the others back to the file
// system: those that nobody has used for a while, a few at a time, so that a store that is written
// all the time does not give back what it is about to use again.
// Thread safety: Step and TrimInline by one thread at a time, the rest by any.
// Invariants:
//   1. What writes must leave alone, and a few chunks more, keep their pages.
//   2. Step and TrimInline give back no more than was free all along a whole window.
//   3. With what is in use, at least Media::kept_bytes keep their pages, as far as they have any.
// Persistence: that of pool::Holes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "format/layout.h"
#include "pool/pool.h"

namespace braid::space {

class Trimmer {
 public:
  /// What was free for so long is given back.
  static constexpr uint64_t kWindowNanos = 2'000'000'000;
  /// At most so much in a step, or a chunk.
  static constexpr uint64_t kStepBytes = 4ull << 20;

  explicit Trimmer(pool::PmemPool* pool) noexcept : pool_(*pool) { least_.fill(kNone); }
  Trimmer(const Trimmer&) = delete;
  Trimmer& operator=(const Trimmer&) = delete;

  /// For the background, to be called every few milliseconds while !IsSettled(). `now`: of a clock
  /// that does not go back. Never throws; what fails is not tried again before the next window.
  void Step(uint64_t now) noexcept;
  /// Nothing is left for Step, unless chunks become free.
  bool IsSettled() const noexcept;
  /// Gives back at once all that is not kept for `soon` chunks that are taken next. Without a
  /// background, and when a user has asked for compaction.
  void TrimAll(uint64_t soon) noexcept;
  /// Step without a background and a clock, so that the crash simulator can repeat it: the window
  /// is one of so many calls.
  static constexpr uint32_t kWindowCalls = 8;
  void TrimInline() noexcept;

 private:
  static constexpr uint64_t kNone = ~0ull;
  /// Chunks of a region that keep their pages.
  uint64_t KeepOf(uint64_t soon) const noexcept;
  uint64_t Surplus(uint32_t region) const noexcept;

  pool::PmemPool& pool_;
  // Of the thread that steps.
  uint64_t window_began_ = 0;
  uint64_t stepped_ = 0;
  std::array<uint64_t, format::kMaxRegions> least_;  // free with pages, in this window
  std::array<uint64_t, format::kMaxRegions> due_{};  // to be given back
  std::atomic<bool> in_vain_{false};                 // nothing could be given back
  uint32_t calls_ = 0;                               // of TrimInline, in this window
};

}  // namespace braid::space
