// Purpose: waiting for work, and telling who waits. Thread safety, persistence: see
// finish_requests.h.
#include "engine/finish_requests.h"

#include <algorithm>
#include <chrono>

namespace braid::engine {

namespace {
/// A wait is told of what it waits for; should that be missed, it looks after so long.
constexpr auto kLook = std::chrono::milliseconds(10);
}  // namespace

uint64_t FinishRequests::Ask(uint64_t tables) {
  const std::lock_guard lock(mutex_);
  tables_ = std::max(tables_, tables);
  return ++asked_;
}

std::optional<Status> FinishRequests::Answer(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return served_ >= number ? std::optional(outcome_) : std::nullopt;
}

std::optional<FinishRequests::Request> FinishRequests::Unserved() const {
  const std::lock_guard lock(mutex_);
  if (asked_ == served_) return std::nullopt;
  return Request{asked_, tables_};
}

void FinishRequests::Served(const Request& request) {
  const std::lock_guard lock(mutex_);
  served_ = request.number;
  outcome_ = Status::OK();
  ++notified_;
  changed_.notify_all();
}

void FinishRequests::GiveUp(const Status& reason) noexcept {
  const std::lock_guard lock(mutex_);
  served_ = asked_;
  outcome_ = reason;
  ++notified_;
  changed_.notify_all();
}

void FinishRequests::Wait(base::FunctionRef<bool()> until) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t seen = notified_;
    lock.unlock();
    if (until()) return;
    lock.lock();
    // No loop until a time has come: the crash simulator repeats waits, not the clock.
    if (notified_ == seen) changed_.wait_for(lock, kLook);
  }
}

void FinishRequests::Notify() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++notified_;
  }
  changed_.notify_all();
}

}  // namespace braid::engine
