// Purpose: mutexes whose use clang checks: which field is under which lock, and which lock a
// function wants held (-Wthread-safety, an error in `make check`). To all other compilers they are
// the standard library's.
// Thread safety: see above.
// Invariants:
//   1. No thread takes a mutex that it holds: checked in builds with assertions, where it would
//      wait for itself forever.
// Persistence: none.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/check.h"

#if defined(__clang__)
#define BRAID_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define BRAID_THREAD_ANNOTATION(x)
#endif

/// Of a field: read and written under this mutex only.
#define BRAID_GUARDED_BY(mutex) BRAID_THREAD_ANNOTATION(guarded_by(mutex))
/// Of a pointer: what it points to.
#define BRAID_PT_GUARDED_BY(mutex) BRAID_THREAD_ANNOTATION(pt_guarded_by(mutex))
/// Of a function: called with these held; without them; takes them; gives them back.
#define BRAID_REQUIRES(...) BRAID_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define BRAID_EXCLUDES(...) BRAID_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define BRAID_ACQUIRE(...) BRAID_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define BRAID_RELEASE(...) BRAID_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define BRAID_TRY_ACQUIRE(...) BRAID_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
/// Of a function: once it has returned, these are known to be held.
#define BRAID_ASSERTS_HELD(...) BRAID_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
/// Of a function whose locks clang can't follow; the line above says why they are right.
#define BRAID_NO_THREAD_CHECK BRAID_THREAD_ANNOTATION(no_thread_safety_analysis)
#define BRAID_CAPABILITY BRAID_THREAD_ANNOTATION(capability("mutex"))
#define BRAID_SCOPED_CAPABILITY BRAID_THREAD_ANNOTATION(scoped_lockable)

namespace braid::base {

class BRAID_CAPABILITY Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Named as std::unique_lock and its like call them.
  void lock() BRAID_ACQUIRE() {  // NOLINT(readability-identifier-naming)
    CheckNotHeld();
    inner_.lock();
    Own();
  }
  bool try_lock() BRAID_TRY_ACQUIRE(true) {  // NOLINT(readability-identifier-naming)
    CheckNotHeld();
    if (!inner_.try_lock()) return false;
    Own();
    return true;
  }
  void unlock() BRAID_RELEASE() {  // NOLINT(readability-identifier-naming)
    Disown();
    inner_.unlock();
  }
  /// This thread holds it, where clang can't see that it does: by a MutexHold. Checked in builds
  /// with assertions.
  void AssertHeld() const noexcept BRAID_ASSERTS_HELD() {
#if !defined(NDEBUG)
    BRAID_CHECK(owner_.load(std::memory_order_relaxed) == &mark_of_thread);
#endif
  }

 private:
  friend class CondVar;
#if defined(NDEBUG)
  void CheckNotHeld() const noexcept {}
  void Own() noexcept {}
  void Disown() noexcept {}
#else
  void CheckNotHeld() const noexcept {
    BRAID_CHECK(owner_.load(std::memory_order_relaxed) != &mark_of_thread);
  }
  void Own() noexcept { owner_.store(&mark_of_thread, std::memory_order_relaxed); }
  void Disown() noexcept { owner_.store(nullptr, std::memory_order_relaxed); }

  static inline constinit thread_local char mark_of_thread = 0;  // its address names the thread
  std::atomic<const char*> owner_{nullptr};
#endif
  std::mutex inner_;
};

/// Held from its making to its end.
class BRAID_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BRAID_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() BRAID_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// The same as a value, for locks that are handed over or held where clang can't follow: functions
/// that rely on one call AssertHeld.
using MutexHold = std::unique_lock<Mutex>;

class CondVar {
 public:
  /// Releases `mutex`, waits for a notification (or wakes spuriously), and takes it again.
  void Wait(Mutex& mutex) BRAID_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock = Adopt(&mutex);
    inner_.wait(lock);
    Return(&mutex, &lock);
  }
  /// The same, for so long at most.
  template <class Rep, class Period>
  void WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> most) BRAID_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock = Adopt(&mutex);
    inner_.wait_for(lock, most);
    Return(&mutex, &lock);
  }
  template <class Clock, class Duration>
  void WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> end) BRAID_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock = Adopt(&mutex);
    inner_.wait_until(lock, end);
    Return(&mutex, &lock);
  }
  void NotifyOne() noexcept { inner_.notify_one(); }
  void NotifyAll() noexcept { inner_.notify_all(); }

 private:
  static std::unique_lock<std::mutex> Adopt(Mutex* mutex) {
    mutex->Disown();
    return {mutex->inner_, std::adopt_lock};
  }
  static void Return(Mutex* mutex, std::unique_lock<std::mutex>* lock) {
    lock->release();
    mutex->Own();
  }

  std::condition_variable inner_;
};

}  // namespace braid::base
