// Purpose: counts running calls, so that a close can wait for them: those that work on the pool
// outside of a read section (base/epoch.h), since they wait, flush, merge or sync. What they store
// must be stored before the pool is unlocked for the next process.
// Thread safety: any thread.
// Invariants:
//   1. After AwaitAll no call is running, and none can start.
// Persistence: none.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/mutex.h"

namespace braid::engine {

class CallGate {
 public:
  /// Nests: within another one of the same gate it may be refused, and waits for nothing.
  class Call {
   public:
    explicit Call(CallGate* gate) : gate_(gate) {
      const base::MutexLock lock(gate->mutex_);
      entered_ = !gate->shut_;
      gate->inside_ += entered_ ? 1 : 0;
    }
    ~Call() {
      if (!entered_) return;
      const base::MutexLock lock(gate_->mutex_);
      // Under the lock: a waiter may destroy the gate once it has the lock.
      if (--gate_->inside_ == 0) gate_->left_.NotifyAll();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// False: the database closes, and the call is to give up.
    bool entered() const noexcept { return entered_; }

   private:
    CallGate* gate_;
    bool entered_ = false;
  };

  /// From here on nobody gets in.
  void Shut() {
    const base::MutexLock lock(mutex_);
    shut_ = true;
  }
  /// After Shut: waits until all have left.
  void AwaitAll() {
    const base::MutexLock lock(mutex_);
    while (inside_ != 0) left_.Wait(mutex_);
  }

 private:
  base::Mutex mutex_;
  base::CondVar left_;
  uint64_t inside_ BRAID_GUARDED_BY(mutex_) = 0;
  bool shut_ BRAID_GUARDED_BY(mutex_) = false;
};

}  // namespace braid::engine
