// Purpose: the reason why writes are refused, if they are: permanently, after a failure that only a
// reopen can fix; or until there is room, after a flush has found none. In both cases reads
// continue, and the log keeps what was acknowledged.
// Thread safety: any thread.
// Invariants:
//   1. The first failure is the one that every caller gets.
//   2. A caller that finds failed() or blocked() finds the reason, or that it has just passed.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "braid/status.h"
#include "pool/pool.h"

namespace braid::engine {

/// What a flush finds where L0 holds all tables that there may be, and nothing is merged.
Status L0IsFull();

class WriteErrors {
 public:
  /// Of a store in `pool`, which says by `closed` that it is; both outlive this object.
  WriteErrors(const pool::PmemPool* pool, const std::atomic<bool>* closed) noexcept
      : pool_(pool), closed_(closed) {}
  WriteErrors(const WriteErrors&) = delete;
  WriteErrors& operator=(const WriteErrors&) = delete;

  /// Writes end. False when they had ended before.
  bool Fail(const Status& reason) noexcept;
  /// One relaxed load.
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  /// OK: nothing has failed.
  Status failure() const;
  /// Where a sync has failed, what is on the medium is not known: writes end.
  void NoteSyncError() noexcept;
  /// Writes have ended: by a failure, or since the medium has failed. Two loads.
  bool ended() const noexcept { return failed() || pool_->failed(); }
  /// Why they have; of a store that is closed, that it is.
  Status WhyEnded() const;

  /// No room was found: writes get the reason instead of waiting. `before`: so many chunks were
  /// free when it was looked for; `now`: are. Where some became free meanwhile they were not tried.
  void Block(const Status& reason, uint64_t before, uint64_t now);
  /// False when nothing was blocked.
  bool Unblock() noexcept { return blocked_.exchange(false); }
  bool blocked() const noexcept { return blocked_.load(); }
  /// Whether trying again is of no use: nothing has become free.
  bool IsBlockedAt(uint64_t free_chunks) const;
  /// OK: nothing is blocked.
  Status block_reason() const;

 private:
  const pool::PmemPool* const pool_;
  const std::atomic<bool>* const closed_;
  std::atomic<bool> failed_{false};   // failure_ is set
  std::atomic<bool> blocked_{false};  // block_reason_ is set
  mutable base::Mutex mutex_;
  Status failure_ BRAID_GUARDED_BY(mutex_);
  Status block_reason_ BRAID_GUARDED_BY(mutex_);
  uint64_t free_when_blocked_ BRAID_GUARDED_BY(mutex_) = 0;
};

}  // namespace braid::engine
