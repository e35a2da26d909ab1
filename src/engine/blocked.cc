// Purpose: what happens when a flush finds no room: no chunk for the copies of a write-ahead log,
// or no head for another table when nothing is merged. Unlike a failure it ends when there is room
// again. Meanwhile writes return the reason instead of waiting for ever, reads go on, and the log
// keeps what was acknowledged. Thread safety: any thread. Persistence: none.
#include "base/no_throw.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

Status LsmEngine::L0IsFull() {
  return Status::OutOfSpace(
      "L0 has no room for another table, and compaction.kind=none merges none; open the database "
      "with compaction.kind=zipper");
}

void LsmEngine::Block(const Status& reason) {
  {
    const std::lock_guard lock(work_mutex_);
    blocked_reason_ = reason;
    blocked_at_free_ = pool_->free_chunks();
  }
  blocked_.store(true);
  controller_.Update(0, 0, false);  // whoever waits gets the reason
  Wake();
}

void LsmEngine::Unblock() {
  if (!blocked_.load()) return;
  blocked_.store(false);
  UpdatePressure();
}

/// Whether trying again is of no use. Under structure_mutex_.
bool LsmEngine::IsBlockedNow() const {
  if (!blocked_.load()) return false;
  if (*options_.compaction.kind == MergeKind::kNone) return false;  // asking for a head is cheap
  const std::lock_guard lock(work_mutex_);
  return pool_->free_chunks() <= blocked_at_free_;
}

Status LsmEngine::BlockedReason() const {
  if (!blocked_.load()) return Status::OK();
  const std::lock_guard lock(work_mutex_);
  return blocked_reason_;
}

}  // namespace braid::engine
