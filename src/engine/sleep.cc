// Purpose: background threads of a store where nothing happens. While there is work they look for
// more every few milliseconds; after a while without any they sleep until somebody has some, so
// that a process may have many stores that rest. Thread safety, invariants, persistence:
// lsm_engine.h.
#include "engine/sleep.h"

#include <utility>

namespace braid::engine {

bool LsmEngine::Rest::MaySleep(bool idle) {
  const uint64_t writes = engine_->sequence_.load();
  const bool still = idle && writes == writes_;
  writes_ = writes;
  if (!still) {
    since_ = 0;
    return false;
  }
  const uint64_t now = NowNanos();
  if (since_ == 0) since_ = now;
  // A clock that goes back begins the rest anew.
  if (now < since_) since_ = now;
  return now - since_ >= kRestNanos;
}

/// Until there is work, or another process asks for tables. Under work_mutex_, but for the wait.
void LsmEngine::Rest::SleepBesideReaders(std::unique_lock<std::mutex>* lock, uint32_t wakes) {
  LsmEngine& engine = *engine_;
  const auto woken = [&] { return engine.stopping_ || engine.wakes_.value() != wakes; };
  const void* const asks = engine.reader_slots_.AsksWord();
  if (asks == nullptr) return engine.work_changed_.wait(*lock, woken);
  while (!woken() && !engine.reader_slots_.HasNewAskers()) {
    lock->unlock();
    const bool waited =
        base::WaitForEither(engine.wakes_.word(), wakes, asks, engine.reader_slots_.seen_asks());
    lock->lock();
    if (!waited) engine.work_changed_.wait_for(*lock, kReadersAtRest, woken);
  }
}

void LsmEngine::Rest::Wait(std::unique_lock<std::mutex>* lock, bool may_sleep,
                           std::chrono::milliseconds look_again) {
  LsmEngine& engine = *engine_;
  const uint32_t wakes = std::exchange(wakes_, engine.wakes_.value());
  // What came during the round may have come too late for it.
  if (!may_sleep || wakes != wakes_) {
    engine.work_changed_.wait_for(*lock, look_again);
    wakes_ = engine.wakes_.value();
    return;
  }
  engine.asleep_.fetch_add(1);
  // What was written, or asked for, before anybody could know of this sleep.
  if (engine.sequence_.load() == writes_ && engine.finish_all_ == 0) {
    if (looks_at_readers_) {
      SleepBesideReaders(lock, wakes);
    } else {
      engine.work_changed_.wait(*lock,
                                [&] { return engine.stopping_ || engine.wakes_.value() != wakes; });
    }
    since_ = 0;
  }
  engine.asleep_.fetch_sub(1);
  wakes_ = engine.wakes_.value();
}

/// There is something to be done.
void LsmEngine::Wake() noexcept {
  {
    const std::lock_guard lock(work_mutex_);
    ++wakes_;
  }
  work_changed_.notify_all();
}

/// Something waits to be given back: its readers and views may leave without a word.
bool LsmEngine::HasRetired() const {
  const std::lock_guard lock(work_mutex_);
  return !retired_.empty() || !retired_memory_.empty();
}

}  // namespace braid::engine
