// Purpose: registers everything that takes DRAM in proportion to the data, so that one budget can
// cover it: indexes, even those that only an iterator keeps alive, and the working memory of jobs.
// Thread safety: all calls from any thread; a user may change its size at any time.
// Invariants:
//   1. A user is counted from its construction until its destruction begins, so that none is
//      overlooked.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/forks.h"
#include "base/mutex.h"

namespace braid::base {

class MemoryUsers;

class MemoryUser {
 public:
  /// Bytes taken from the system. Any thread may ask, also while the user works.
  virtual size_t memory_bytes() const = 0;

 protected:
  MemoryUser() = default;
  MemoryUser(const MemoryUser&) = delete;
  MemoryUser& operator=(const MemoryUser&) = delete;
  ~MemoryUser() = default;

 private:
  friend class MemoryUsers;
  MemoryUser* next_ = nullptr;
  MemoryUser* previous_ = nullptr;
};

/// Outlives its users.
class MemoryUsers {
 public:
  MemoryUsers() = default;
  MemoryUsers(const MemoryUsers&) = delete;
  MemoryUsers& operator=(const MemoryUsers&) = delete;

  void Add(MemoryUser* user) noexcept {
    const MutexLock lock(mutex_);
    user->next_ = first_;
    if (first_ != nullptr) first_->previous_ = user;
    first_ = user;
  }
  void Remove(MemoryUser* user) noexcept {
    if (!origin_.IsThisProcess()) return;  // nobody sums there, and the lock may never be free
    const MutexLock lock(mutex_);
    (user->previous_ != nullptr ? user->previous_->next_ : first_) = user->next_;
    if (user->next_ != nullptr) user->next_->previous_ = user->previous_;
  }
  uint64_t Sum() const noexcept {
    const MutexLock lock(mutex_);
    uint64_t sum = 0;
    for (const MemoryUser* user = first_; user != nullptr; user = user->next_) {
      sum += user->memory_bytes();
    }
    return sum;
  }

 private:
  mutable Mutex mutex_;
  MemoryUser* first_ BRAID_GUARDED_BY(mutex_) = nullptr;  // and the links of all
  const Origin origin_;
};

/// Memory of a job, which says how much it is.
class MemoryCharge final : public MemoryUser {
 public:
  explicit MemoryCharge(MemoryUsers* users) : users_(users) { users_->Add(this); }
  ~MemoryCharge() { users_->Remove(this); }

  // Relaxed: a statistic, ordered with nothing.
  void Set(size_t bytes) noexcept { bytes_.store(bytes, std::memory_order_relaxed); }
  size_t memory_bytes() const override { return bytes_.load(std::memory_order_relaxed); }

 private:
  MemoryUsers* users_;
  std::atomic<size_t> bytes_{0};
};

}  // namespace braid::base
