// Purpose: keeps why writes are refused.
// Thread safety, invariants, persistence: see write_errors.h.
#include "engine/write_errors.h"

#include <algorithm>

namespace braid::engine {

Status L0IsFull() {
  return Status::OutOfSpace(
      "L0 has no room for another table, and compaction.kind=none merges none; open the database "
      "with compaction.kind=zipper");
}

bool WriteErrors::Fail(const Status& reason) noexcept {
  const base::MutexLock lock(mutex_);
  const bool first = failure_.ok();
  if (first) failure_ = reason;
  failed_.store(true);
  return first;
}

Status WriteErrors::failure() const {
  if (!failed()) return Status::OK();
  const base::MutexLock lock(mutex_);
  return failure_;
}

void WriteErrors::NoteSyncError() noexcept {
  if (Status s = pool_->media().SyncError(); !s.ok()) Fail(s);
}

Status WriteErrors::WhyEnded() const {
  if (closed_->load(std::memory_order_acquire)) return Status::Closed();
  return pool_->failed() ? pool_->FaultStatus() : failure();
}

void WriteErrors::Block(const Status& reason, uint64_t before, uint64_t now) {
  {
    const base::MutexLock lock(mutex_);
    block_reason_ = reason;
    free_when_blocked_ = std::min(before, now);
  }
  blocked_.store(true);
}

bool WriteErrors::IsBlockedAt(uint64_t free_chunks) const {
  if (!blocked()) return false;
  const base::MutexLock lock(mutex_);
  return free_chunks <= free_when_blocked_;
}

Status WriteErrors::block_reason() const {
  if (!blocked()) return Status::OK();
  const base::MutexLock lock(mutex_);
  return block_reason_;
}

}  // namespace braid::engine
