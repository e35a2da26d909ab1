// Purpose: waiting for background work.
// Thread safety, persistence: see drain_requests.h.
#include "lsm/drain_requests.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace braid::lsm {

namespace {
/// A waiter is woken when what it waits for is done; should that be missed, it looks after so long.
constexpr auto kLook = std::chrono::milliseconds(10);
}  // namespace

uint64_t DrainRequests::Ask(uint64_t tables) {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(served_ <= asked_);
  tables_ = std::max(tables_, tables);
  return ++asked_;
}

std::optional<Status> DrainRequests::Answer(uint64_t number) const {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(number > 0 && number <= asked_);  // Ask has given it
  return served_ >= number ? std::optional(outcome_) : std::nullopt;
}

std::optional<DrainRequests::Request> DrainRequests::Unserved() const {
  const base::MutexLock lock(mutex_);
  if (asked_ == served_) return std::nullopt;
  return Request{asked_, tables_};
}

void DrainRequests::Served(const Request& request) {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(request.number <= asked_);
  if (request.number <= served_) return;  // withdrawn; nobody who has his answer loses it
  served_ = request.number;
  outcome_ = Status::OK();
  ++notified_;
  changed_.NotifyAll();
}

void DrainRequests::Withdraw(uint64_t number) noexcept {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(number <= asked_);
  // Others that wait may be served together with it. Those that come later ask behind this lock.
  if (waiters_.load() == 1 && number == asked_) served_ = std::max(served_, number);
}

bool DrainRequests::IsOver(const Request& request) const {
  const base::MutexLock lock(mutex_);
  return served_ >= request.number;
}

void DrainRequests::GiveUp(const Status& reason) noexcept {
  BRAID_DCHECK(!reason.ok());
  const base::MutexLock lock(mutex_);
  served_ = asked_;
  outcome_ = reason;
  ++notified_;
  changed_.NotifyAll();
}

void DrainRequests::FlushFailed(const Status& reason) noexcept {
  BRAID_DCHECK(!reason.ok());
  const base::MutexLock lock(mutex_);
  ++flush_failures_;
  why_flush_failed_ = reason;
  ++notified_;
  changed_.NotifyAll();
}

uint64_t DrainRequests::flush_failures() const {
  const base::MutexLock lock(mutex_);
  return flush_failures_;
}

Status DrainRequests::WhyFlushFailed(uint64_t seen) const {
  const base::MutexLock lock(mutex_);
  return flush_failures_ > seen ? why_flush_failed_ : Status::OK();
}

void DrainRequests::Wait(base::FunctionRef<bool()> until) {
  for (;;) {
    const uint64_t seen = Notified();
    if (until()) return;
    const base::MutexLock lock(mutex_);
    // No loop until a time has come: the crash simulator repeats waits, not the clock.
    if (notified_ == seen) changed_.WaitFor(mutex_, kLook);
  }
}

uint64_t DrainRequests::Notified() const {
  const base::MutexLock lock(mutex_);
  return notified_;
}

void DrainRequests::Notify() noexcept {
  {
    const base::MutexLock lock(mutex_);
    ++notified_;
  }
  changed_.NotifyAll();
}

}  // namespace braid::lsm
