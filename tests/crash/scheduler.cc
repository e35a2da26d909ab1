#include "crash/scheduler.h"

#include <errno.h>
#include <time.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "crash/bare_database.h"

namespace braid::crash {
namespace {

Scheduler* active = nullptr;
thread_local int my_number = -1;
constexpr uint64_t kTimeoutOneIn = 24;  // choices in which a timed wait may end by itself

}  // namespace

// The calls as they are (the linker renames them).
extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
int __real_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until);
void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>* lock);
void __real__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition);
void __real__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition);
void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread* thread, std::unique_ptr<std::thread::_State>* state, void (*depend)());
void __real__ZNSt6thread4joinEv(std::thread* thread);
int __real_sched_yield();
int __real_nanosleep(const timespec* duration, timespec* left);
void __real_urcu_memb_synchronize_rcu();
}

Scheduler::Scheduler(uint64_t seed, std::function<void(uint32_t thread)> on_switch)
    : random_(seed), one_in_(2 + random_.Uniform(3) * 7), on_switch_(std::move(on_switch)) {
  BRAID_CHECK(active == nullptr);
  const uint32_t number = Announce();
  my_number = static_cast<int>(number);
  active = this;
  on_switch_(number);
}

Scheduler::~Scheduler() {
  active = nullptr;
  my_number = -1;
  for (Thread& thread : threads_) sem_destroy(&thread.wake);
}

Scheduler* Scheduler::Current() noexcept {
  return active != nullptr && my_number >= 0 && !active->paused_ ? active : nullptr;
}

Scheduler::Thread& Scheduler::self() { return threads_[static_cast<size_t>(my_number)]; }

uint32_t Scheduler::Choose() {
  std::vector<uint32_t> ready;
  std::vector<uint32_t> timed;
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state == State::kReady) ready.push_back(i);
    if (threads_[i].state == State::kTimedWaiting) timed.push_back(i);
  }
  if (!timed.empty() && (ready.empty() || random_.OneIn(kTimeoutOneIn))) {
    const uint32_t chosen = timed[random_.Uniform(timed.size())];
    threads_[chosen].state = State::kReady;
    threads_[chosen].timed_out = true;
    return chosen;
  }
  if (ready.empty()) {
    std::fprintf(stderr, "deadlock: every thread of the run waits for another\n");
    std::abort();
  }
  return ready[random_.Uniform(ready.size())];
}

void Scheduler::Switch() {
  const uint32_t next = Choose();
  Thread& me = self();
  if (next == static_cast<uint32_t>(my_number)) return;
  ++switches_;
  ++me.stops;
  me.reads = ReadSectionPause::InReadSection();
  sem_post(&threads_[next].wake);
  if (me.state == State::kEnded) return;
  while (sem_wait(&me.wake) != 0) {
  }
  on_switch_(static_cast<uint32_t>(my_number));
}

void Scheduler::Yield() {
  if (random_.OneIn(one_in_)) Switch();
}

void Scheduler::Ready(const void* on, bool all) {
  for (Thread& thread : threads_) {
    if (thread.on != on || thread.state == State::kReady || thread.state == State::kEnded) continue;
    thread.state = State::kReady;
    thread.on = nullptr;
    if (!all) return;
  }
}

int Scheduler::Lock(pthread_mutex_t* mutex) {
  Yield();
  for (;;) {
    const int outcome = pthread_mutex_trylock(mutex);
    if (outcome != EBUSY) return outcome;
    self().state = State::kBlocked;
    self().on = mutex;
    Switch();
  }
}

int Scheduler::Unlock(pthread_mutex_t* mutex) {
  const int outcome = __real_pthread_mutex_unlock(mutex);
  Ready(mutex, true);
  Yield();
  return outcome;
}

bool Scheduler::Wait(const void* condition, pthread_mutex_t* mutex, bool timed) {
  Thread& me = self();
  __real_pthread_mutex_unlock(mutex);
  Ready(mutex, true);
  me.state = timed ? State::kTimedWaiting : State::kWaiting;
  me.on = condition;
  me.timed_out = false;
  Switch();
  me.on = nullptr;
  const bool timed_out = me.timed_out;
  Lock(mutex);
  return !timed_out;
}

void Scheduler::Notify(const void* condition, bool all) {
  Ready(condition, all);
  Yield();
}

/// Every other thread has been seen outside of a read section, or has ended, since the call.
void Scheduler::WaitForReaders() {
  std::vector<uint64_t> stops;
  for (const Thread& thread : threads_) stops.push_back(thread.stops);
  std::vector<bool> left(stops.size());
  for (;;) {
    bool all = true;
    for (size_t i = 0; i < stops.size(); ++i) {
      const Thread& thread = threads_[i];
      if (static_cast<int>(i) == my_number || thread.state == State::kEnded || !thread.reads) {
        left[i] = true;
      }
      all = all && left[i];
    }
    if (all) return;
    Switch();
  }
}

uint32_t Scheduler::Announce() {
  Thread& thread = threads_.emplace_back();
  sem_init(&thread.wake, 0, 0);
  return static_cast<uint32_t>(threads_.size() - 1);
}

void Scheduler::Begin(uint32_t thread) {
  my_number = static_cast<int>(thread);
  while (sem_wait(&threads_[thread].wake) != 0) {
  }
  on_switch_(thread);
}

void Scheduler::End() {
  Thread& me = self();
  me.state = State::kEnded;
  Ready(&me, true);
  Switch();
  my_number = -1;
}

void Scheduler::WaitForEnd(pthread_t handle) {
  for (Thread& thread : threads_) {
    if (pthread_equal(thread.handle, handle) == 0) continue;
    while (thread.state != State::kEnded) {
      self().state = State::kBlocked;
      self().on = &thread;
      Switch();
    }
  }
}

// ---- The calls taken hold of -----------------------------------------------------------------

namespace {

/// What a thread that the scheduler was told of does.
struct ScheduledState final : std::thread::_State {
  ScheduledState(std::unique_ptr<std::thread::_State> state, uint32_t thread)
      : work(std::move(state)), number(thread) {}
  void _M_run() override {
    Scheduler* const scheduler = active;
    scheduler->Begin(number);
    work->_M_run();
    work.reset();
    scheduler->End();
  }
  std::unique_ptr<std::thread::_State> work;
  uint32_t number;
};

}  // namespace

extern "C" {

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::Current();
  return scheduler != nullptr ? scheduler->Lock(mutex) : __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::Current();
  return scheduler != nullptr ? scheduler->Unlock(mutex) : __real_pthread_mutex_unlock(mutex);
}

int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    return __real_pthread_cond_clockwait(condition, mutex, clock, until);
  }
  return scheduler->Wait(condition, mutex, true) ? 0 : ETIMEDOUT;
}

void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
  } else {
    scheduler->Wait(condition->native_handle(), lock->mutex()->native_handle(), false);
  }
}

void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Notify(condition->native_handle(), false);
  } else {
    __real__ZNSt18condition_variable10notify_oneEv(condition);
  }
}

void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Notify(condition->native_handle(), true);
  } else {
    __real__ZNSt18condition_variable10notify_allEv(condition);
  }
}

void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread* thread, std::unique_ptr<std::thread::_State>* state, void (*depend)()) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
        thread, state, depend);
    return;
  }
  const uint32_t number = scheduler->Announce();
  std::unique_ptr<std::thread::_State> scheduled =
      std::make_unique<ScheduledState>(std::move(*state), number);
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
      thread, &scheduled, depend);
  scheduler->Started(number, thread->native_handle());
  scheduler->Yield();
}

void __wrap__ZNSt6thread4joinEv(std::thread* thread) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->WaitForEnd(thread->native_handle());
  }
  __real__ZNSt6thread4joinEv(thread);
}

int __wrap_sched_yield() {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Switch();  // it spins: somebody else must go on
    return 0;
  }
  return __real_sched_yield();
}

int __wrap_nanosleep(const timespec* duration, timespec* left) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Yield();
    return 0;
  }
  return __real_nanosleep(duration, left);
}

void __wrap_urcu_memb_synchronize_rcu() {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->WaitForReaders();
  } else if (active == nullptr) {
    __real_urcu_memb_synchronize_rcu();
  }
  // Else an image is being checked: its database has one thread, and those of the run stand still.
}

}  // extern "C"

}  // namespace braid::crash
