// Purpose: waiting for work, and telling who waits. Thread safety, persistence: see
// finish_requests.h.
#include "lsm/finish_requests.h"

#include <algorithm>
#include <chrono>

namespace braid::lsm {

namespace {
/// A wait is told of what it waits for; should that be missed, it looks after so long.
constexpr auto kLook = std::chrono::milliseconds(10);
}  // namespace

uint64_t FinishRequests::Ask(uint64_t tables) {
  const base::MutexLock lock(mutex_);
  tables_ = std::max(tables_, tables);
  return ++asked_;
}

std::optional<Status> FinishRequests::Answer(uint64_t number) const {
  const base::MutexLock lock(mutex_);
  return served_ >= number ? std::optional(outcome_) : std::nullopt;
}

std::optional<FinishRequests::Request> FinishRequests::Unserved() const {
  const base::MutexLock lock(mutex_);
  if (asked_ == served_) return std::nullopt;
  return Request{asked_, tables_};
}

void FinishRequests::Served(const Request& request) {
  const base::MutexLock lock(mutex_);
  served_ = request.number;
  outcome_ = Status::OK();
  ++notified_;
  changed_.NotifyAll();
}

void FinishRequests::GiveUp(const Status& reason) noexcept {
  const base::MutexLock lock(mutex_);
  served_ = asked_;
  outcome_ = reason;
  ++notified_;
  changed_.NotifyAll();
}

void FinishRequests::FlushFailed(const Status& reason) noexcept {
  const base::MutexLock lock(mutex_);
  ++flush_failures_;
  why_flush_failed_ = reason;
  ++notified_;
  changed_.NotifyAll();
}

uint64_t FinishRequests::flush_failures() const {
  const base::MutexLock lock(mutex_);
  return flush_failures_;
}

Status FinishRequests::WhyFlushFailed(uint64_t seen) const {
  const base::MutexLock lock(mutex_);
  return flush_failures_ > seen ? why_flush_failed_ : Status::OK();
}

void FinishRequests::Wait(base::FunctionRef<bool()> until) {
  for (;;) {
    const uint64_t seen = Notified();
    if (until()) return;
    const base::MutexLock lock(mutex_);
    // No loop until a time has come: the crash simulator repeats waits, not the clock.
    if (notified_ == seen) changed_.WaitFor(mutex_, kLook);
  }
}

uint64_t FinishRequests::Notified() const {
  const base::MutexLock lock(mutex_);
  return notified_;
}

void FinishRequests::Notify() noexcept {
  {
    const base::MutexLock lock(mutex_);
    ++notified_;
  }
  changed_.NotifyAll();
}

}  // namespace braid::lsm
