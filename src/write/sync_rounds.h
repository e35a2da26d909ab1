// Purpose: one fdatasync for all writers that came before it began.
// Thread safety: any thread.
// Invariants:
//   1. A call that returns ok was followed by a whole sync: one that began after the call did, and
//      succeeded.
// Persistence: that of the sync.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/mutex.h"
#include "braid/status.h"

namespace braid::write {

class SyncRounds {
 public:
  /// Calls `sync`, unless another thread's serves this one. Errors: those of `sync`; a caller that
  /// waited for one that failed calls `sync` itself. Cost: a sync, or a wait for one and a half at
  /// most.
  template <class Sync>
  Status Run(Sync&& sync) {
    uint64_t ticket = 0;
    {
      const base::MutexLock lock(mutex_);
      ticket = begun_ + 1;  // the next round to begin covers this write
    }
    const base::MutexLock round(round_mutex_);
    if (done_ >= ticket) return Status::OK();
    uint64_t mine = 0;
    {
      const base::MutexLock lock(mutex_);
      mine = ++begun_;
    }
    // Invariant 1: this one begins after the call did, and after all that have succeeded.
    BRAID_DCHECK(mine >= ticket);
    BRAID_DCHECK(done_ < mine);
    Status s = sync();
    if (s.ok()) done_ = mine;
    return s;
  }

 private:
  base::Mutex mutex_;        // for moments, within round_mutex_ or alone
  base::Mutex round_mutex_;  // held by a sync
  uint64_t begun_ BRAID_GUARDED_BY(mutex_) = 0;
  uint64_t done_ BRAID_GUARDED_BY(round_mutex_) = 0;  // the last one that succeeded
};

}  // namespace braid::write
