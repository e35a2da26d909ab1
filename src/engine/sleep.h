// Purpose: when a background thread of the engine may sleep. Thread safety: one thread, which owns
// the object. Invariant 1: a thread sleeps only where whatever makes work for it wakes it: a write,
// by WakeSleepers; all else, by Wake. Persistence: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/clock.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

class LsmEngine::Rest {
 public:
  /// `looks_at_readers`: other processes may ask this thread for something, without a wake.
  Rest(LsmEngine* engine, bool looks_at_readers)
      : engine_(engine), looks_at_readers_(looks_at_readers) {}

  /// After each round: `idle`, nothing was done and nothing is left to be done. True when nothing
  /// was written, either, for a while.
  bool MaySleep(bool idle);
  /// Until there may be work. Under work_mutex_; `may_sleep`: what MaySleep has said.
  void Wait(std::unique_lock<std::mutex>* lock, bool may_sleep,
            std::chrono::milliseconds look_again);

 private:
  /// Longer than it takes a store to be arranged once it rests (arrange.cc).
  static constexpr uint64_t kRestNanos = 2'000'000'000;
  /// How long a process that wants to read beside a store at rest may wait to be seen where the
  /// system can't wait for it.
  static constexpr std::chrono::milliseconds kReadersAtRest{500};

  LsmEngine* engine_;
  const bool looks_at_readers_;
  void SleepBesideReaders(std::unique_lock<std::mutex>* lock, uint32_t wakes);

  uint32_t wakes_ = 0;   // when the round began
  uint64_t writes_ = 0;  // when it ended
  uint64_t since_ = 0;   // when the rest began; 0: there is none
};

}  // namespace braid::engine
