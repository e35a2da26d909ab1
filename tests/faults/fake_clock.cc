// Interposes clock_gettime and the wait that std::condition_variable makes of it.
#include "fake_clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <utility>

namespace braid::test {

constinit std::atomic<int64_t> realtime_offset{0};
constinit std::atomic<int64_t> steady_offset{0};
constinit std::atomic<int64_t> steady_step{0};
constinit thread_local std::function<void()>* at_next_look = nullptr;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

int64_t OffsetOf(clockid_t clock) {
  if (clock == CLOCK_REALTIME) return realtime_offset.load(std::memory_order_relaxed);
  return clock == CLOCK_MONOTONIC ? steady_offset.load(std::memory_order_relaxed) : 0;
}

timespec Moved(const timespec& time, int64_t by) {
  const int64_t nanos = time.tv_sec * kSecond + time.tv_nsec + by;
  return nanos < 0 ? timespec{0, 0} : timespec{nanos / kSecond, nanos % kSecond};
}

}  // namespace
}  // namespace braid::test

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock == CLOCK_MONOTONIC && braid::test::at_next_look != nullptr) {
    (*std::exchange(braid::test::at_next_look, nullptr))();
  }
  const int64_t step = braid::test::steady_step.load(std::memory_order_relaxed);
  if (clock == CLOCK_MONOTONIC && step != 0) braid::test::steady_offset.fetch_add(step);
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const int64_t offset = braid::test::OffsetOf(clock);
  if (result == 0 && offset != 0) *time = braid::test::Moved(*time, offset);
  return result;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  using Function = int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static auto* const next =
      reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  const timespec moved = braid::test::Moved(*until, -braid::test::OffsetOf(clock));
  return next(condition, mutex, clock, &moved);
}

}  // extern "C"
