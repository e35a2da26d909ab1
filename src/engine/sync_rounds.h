// Purpose: one fdatasync for all writers that came before it began.
// Thread safety: any thread. Invariant 1: a call that returns ok was followed by a whole sync: one
// that began after the call did, and succeeded. Persistence: that of the sync.
#pragma once

#include <cstdint>
#include <mutex>

#include "braid/status.h"

namespace braid::engine {

class SyncRounds {
 public:
  /// Calls `sync`, unless another thread's serves this one. Errors: those of `sync`; who waited for
  /// one that failed calls it himself. Cost: a sync, or a wait for one and a half at most.
  template <class Sync>
  Status Run(Sync&& sync) {
    uint64_t ticket = 0;
    {
      const std::lock_guard lock(mutex_);
      ticket = begun_ + 1;  // the next round to begin covers this write
    }
    const std::lock_guard round(round_mutex_);
    if (done_ >= ticket) return Status::OK();
    uint64_t mine = 0;
    {
      const std::lock_guard lock(mutex_);
      mine = ++begun_;
    }
    Status s = sync();
    if (s.ok()) done_ = mine;
    return s;
  }

 private:
  std::mutex mutex_;        // for moments, within round_mutex_ or alone
  std::mutex round_mutex_;  // held by a sync
  uint64_t begun_ = 0;      // mutex_
  uint64_t done_ = 0;       // round_mutex_: the last one that succeeded
};

}  // namespace braid::engine
