// Purpose: the bridge to liburcu. Thread safety and invariants: see epoch.h. Persistence: none.
#include "pmem/epoch.h"

#include <atomic>

#define _LGPL_SOURCE
#define RCU_MEMB
#include <urcu.h>

#if defined(__SANITIZE_THREAD__)
#define BRAID_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BRAID_TSAN 1
#endif
#endif
#if defined(BRAID_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace braid::pmem {
namespace {

#if defined(BRAID_TSAN)
// liburcu orders with barriers that the sanitizer cannot see; these two calls tell it what a grace
// period guarantees: read sections that ended happen before the reclamation that waited for them.
char epoch_token;
void AnnotateReadSectionEnd() { __tsan_release(&epoch_token); }
void AnnotateGracePeriodEnd() { __tsan_acquire(&epoch_token); }
#else
void AnnotateReadSectionEnd() {}
void AnnotateGracePeriodEnd() {}
#endif

std::atomic<int> registered_threads{0};

struct Registration {
  Registration() noexcept {
    rcu_register_thread();
    registered_threads.fetch_add(1);
  }
  ~Registration() {
    registered_threads.fetch_sub(1);
    rcu_unregister_thread();
  }
};

void EnsureRegistered() noexcept { thread_local Registration registration; }

}  // namespace

EpochGuard::EpochGuard() noexcept {
  EnsureRegistered();
  rcu_read_lock();
}

EpochGuard::~EpochGuard() {
  AnnotateReadSectionEnd();
  rcu_read_unlock();
}

void SynchronizeEpoch() noexcept {
  EnsureRegistered();
  // A thread that registers from here on begins its read sections after this call.
  if (registered_threads.load() > 1) synchronize_rcu();
  AnnotateGracePeriodEnd();
}

}  // namespace braid::pmem
