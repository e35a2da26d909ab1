// Purpose: the bridge to liburcu.
// Thread safety and invariants: see epoch.h.
// Persistence: none.
#include "base/epoch.h"

#include <atomic>
#include <memory>
#include <shared_mutex>

#define _LGPL_SOURCE
#define RCU_MEMB
#include <urcu.h>

#include "base/mutex.h"

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

namespace braid::base {
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

/// Held by a fork; shared by those who are inside liburcu's own locks.
std::shared_mutex fork_mutex;
Mutex list_mutex;  // the links of all registrations, and the first; inside fork_mutex
constinit thread_local bool locked_for_fork = false;  // of the thread that forks

struct Registration;
Registration* first_registration = nullptr;
constinit thread_local Registration* own_registration = nullptr;

/// This thread among liburcu's readers, and in a list of our own: liburcu never forgets a reader by
/// itself, not even in a child, where all threads but one are gone and their memory is used again.
struct Registration {
  Registration() noexcept : reader(&URCU_TLS(urcu_memb_reader)) {
    const std::shared_lock no_fork(fork_mutex);
    rcu_register_thread();
    own_registration = this;
    {
      const MutexLock lock(list_mutex);
      next = first_registration;
      if (next != nullptr) next->previous = this;
      first_registration = this;
    }
    registered_threads.fetch_add(1);
  }
  ~Registration() {
    const std::shared_lock no_fork(fork_mutex);
    registered_threads.fetch_sub(1);
    {
      const MutexLock lock(list_mutex);
      (previous != nullptr ? previous->next : first_registration) = next;
      if (next != nullptr) next->previous = previous;
    }
    own_registration = nullptr;
    rcu_unregister_thread();
  }

  urcu_reader* reader;
  Registration* next = nullptr;
  Registration* previous = nullptr;
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
  if (registered_threads.load() > 1) {
    const std::shared_lock no_fork(fork_mutex);
    synchronize_rcu();
  }
  AnnotateGracePeriodEnd();
}

void LockEpochsForFork() noexcept {
  locked_for_fork = own_registration == nullptr || !rcu_read_ongoing();
  if (locked_for_fork) fork_mutex.lock();
}

void UnlockEpochsInParent() noexcept {
  if (locked_for_fork) fork_mutex.unlock();
}

void UnlockEpochsInChild() noexcept {
  for (Registration* each = first_registration; each != nullptr; each = each->next) {
    if (each != own_registration) cds_list_del(&each->reader->node);
  }
  first_registration = own_registration;
  if (own_registration != nullptr) own_registration->next = own_registration->previous = nullptr;
  registered_threads.store(own_registration != nullptr ? 1 : 0);
  // Constructed again, not unlocked: it knows its owner by a number that is another one here.
  std::construct_at(&fork_mutex);
}

}  // namespace braid::base
