// A deterministic scheduler: of all threads of a run one works at a time, and which one is drawn
// from a seed. So a failure that needs an unlucky order of threads replays like any other. It takes
// hold of threads where they meet: the linker puts it between this program and the calls that lock,
// wait, start and join threads, sleep, or wait for readers (cmake/BraidTests.cmake lists them). The
// store is not changed. Threads that it was not told of, and all threads while it is paused, go
// straight through.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <cstdint>
#include <deque>
#include <functional>

#include "base/random.h"

namespace braid::crash {

class Scheduler {
 public:
  /// The calling thread becomes thread 0. `on_switch` is called by the thread that goes on, with
  /// its number.
  Scheduler(uint64_t seed, std::function<void(uint32_t thread)> on_switch);
  /// All other threads have been joined.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// The scheduler that the calling thread obeys at this moment, or null.
  static Scheduler* Current() noexcept;

  /// A place where another thread may go on.
  void Yield();
  /// Another thread goes on, unless none can or the calling one is drawn.
  void Switch();
  /// While paused, everything goes straight through: an image is being checked.
  void set_paused(bool paused) noexcept { paused_ = paused; }
  uint64_t switches() const noexcept { return switches_; }

  // What the calls that are taken hold of do:
  int Lock(pthread_mutex_t* mutex);
  int Unlock(pthread_mutex_t* mutex);
  /// False when the wait ended by its timeout.
  bool Wait(const void* condition, pthread_mutex_t* mutex, bool timed);
  void Notify(const void* condition, bool all);
  void WaitForReaders();
  /// The number of a thread that is about to start; it goes on from Begin when it is chosen.
  uint32_t Announce();
  void Started(uint32_t thread, pthread_t handle) { threads_[thread].handle = handle; }
  void Begin(uint32_t thread);
  void End();
  void WaitForEnd(pthread_t handle);

 private:
  enum class State : uint8_t { kReady, kBlocked, kWaiting, kTimedWaiting, kEnded };
  struct Thread {
    State state = State::kReady;
    const void* on = nullptr;  // what it is blocked by, or waits for
    bool timed_out = false;
    bool reads = false;  // was in a read section when it stopped
    uint64_t stops = 0;
    pthread_t handle{};
    sem_t wake;
  };

  Thread& self();
  uint32_t Choose();
  void Ready(const void* on, bool all);

  Random random_;
  uint64_t one_in_;  // yields that switch
  std::function<void(uint32_t)> on_switch_;
  std::deque<Thread> threads_;
  bool paused_ = false;
  uint64_t switches_ = 0;
};

}  // namespace braid::crash
