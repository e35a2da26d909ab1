// Purpose: callers that wait for background work: for flushes, or for merges and all work after
// them. A caller waits for the work that existed when it asked; pending requests are served
// together.
// Thread safety: any thread; Served and GiveUp by the thread that serves.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/function_ref.h"
#include "base/mutex.h"
#include "braid/status.h"

namespace braid::lsm {

class DrainRequests {
 public:
  /// While one lives, somebody waits for all work to be done.
  class Waiter {
   public:
    explicit Waiter(DrainRequests* requests) : requests_(requests) {
      requests_->waiters_.fetch_add(1);
    }
    ~Waiter() { requests_->waiters_.fetch_sub(1); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    DrainRequests* const requests_;
  };
  /// What is to be served.
  struct Request {
    uint64_t number = 0;  // the last that it serves
    uint64_t tables = 0;  // tables up to this id are merged first
  };

  bool AnyWaits() const noexcept { return waiters_.load() != 0; }

  /// Asks for all work, and that tables up to `tables` are merged. A number for Answer.
  uint64_t Ask(uint64_t tables);
  /// The outcome, once the request was served; nothing before.
  std::optional<Status> Answer(uint64_t number) const;

  /// The caller does not wait any more: where no other does either, the request is over.
  void Withdraw(uint64_t number) noexcept;
  /// It was served, given up, or withdrawn.
  bool IsOver(const Request& request) const;
  /// How much of the work that comes behind merges is done, for callers that wait; 0 to 1.
  void TellStage(double share) noexcept { stage_.store(share, std::memory_order_relaxed); }
  double stage() const noexcept { return stage_.load(std::memory_order_relaxed); }

  /// All that is asked for and not served; nothing: nobody asks.
  std::optional<Request> Unserved() const;
  void Served(const Request& request);
  /// All current requests fail with this reason.
  void GiveUp(const Status& reason) noexcept;

  /// A flush found no memory. It is tried again, but callers that wait for it get the error.
  void FlushFailed(const Status& reason) noexcept;
  /// How often that was so.
  uint64_t flush_failures() const;
  /// Of the last time; OK when there were no more than `seen`.
  Status WhyFlushFailed(uint64_t seen) const;

  /// Waits until `until` is true. It is asked after each Notify, and now and then, should one be
  /// missed; without locks of this object.
  void Wait(base::FunctionRef<bool()> until);
  void Notify() noexcept;

 private:
  uint64_t Notified() const;

  std::atomic<uint64_t> waiters_{0};
  std::atomic<double> stage_{0};
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  uint64_t notified_ BRAID_GUARDED_BY(mutex_) = 0;
  uint64_t asked_ BRAID_GUARDED_BY(mutex_) = 0;   // the last request
  uint64_t served_ BRAID_GUARDED_BY(mutex_) = 0;  // the last one that is done with
  uint64_t tables_ BRAID_GUARDED_BY(mutex_) = 0;
  Status outcome_ BRAID_GUARDED_BY(mutex_);  // of those served last
  uint64_t flush_failures_ BRAID_GUARDED_BY(mutex_) = 0;
  Status why_flush_failed_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::lsm
