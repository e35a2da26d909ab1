// Purpose: copying large values before their writes take locks.
// Thread safety, invariants, persistence: see large_values.h.
#include "space/large_values.h"

#include <algorithm>

#include "base/check.h"
namespace braid::space {

Status LargeValues::Scope::Copy(uint32_t region, pool::AllocationClass allocation) {
  if (!entered_) {
    if (Status s = all_->Enter(); !s.ok()) return s;
    entered_ = true;
  }
  for (log::PendingEntry& pending : drafts_) {
    if (pending.value.size() <= log::LargestInlineValue(*all_->pool_) || pending.reserved != 0) {
      continue;
    }
    if (Status s = all_->Reserve(*this, &pending, region, allocation); !s.ok()) return s;
    BRAID_DCHECK(pending.reserved != 0);
    log::WriteToExtent(all_->pool_, pending.reserved, pending.value);
    pending.extent_ref = {pending.reserved, pending.value.size(), base::Hash64(pending.value)};
  }
  return Status::OK();
}

Status LargeValues::Scope::AskForRoom(uint64_t value_bytes) {
  if (value_bytes <= log::LargestInlineValue(*all_->pool_)) return Status::OK();
  if (!entered_) {
    if (Status s = all_->Enter(); !s.ok()) return s;
    entered_ = true;
  }
  const base::MutexLock lock(all_->mutex_);
  all_->Want(*this, value_bytes);
  return Status::OK();
}

Status LargeValues::Enter() {
  const base::MutexLock lock(mutex_);
  if (closed_) return Status::Closed();
  ++writes_;
  return Status::OK();
}

Status LargeValues::Reserve(const Scope& scope, log::PendingEntry* pending, uint32_t region,
                            pool::AllocationClass allocation) {
  const base::MutexLock lock(mutex_);
  if (closed_) return Status::Closed();
  BRAID_DCHECK(writes_ > 0 && pending->reserved == 0);  // its scope has entered
  reserved_.reserve(reserved_.size() + 1);              // what is reserved must not be lost
  Result<uint64_t> extent = pool_->ReserveExtent(pending->value.size(), region, allocation);
  if (extent.status().IsOutOfSpace()) Want(scope, pending->value.size());
  if (!extent.ok()) return extent.status();
  WantNoMore(scope);
  pending->reserved = *extent;
  reserved_.push_back(
      {&scope, pool_->ChunkOf(*extent), pool_->ExtentChunks(pending->value.size())});
  BRAID_DCHECK(HasReserved(pool_->ChunkOf(pending->reserved)));  // invariant 1
  return Status::OK();
}

void LargeValues::Want(const Scope& scope, uint64_t value_bytes) {
  BRAID_DCHECK(writes_ > 0);  // a scope that asks is registered
  const uint64_t count = pool_->ExtentChunks(value_bytes);
  // A single chunk is no run: any that becomes free will do, and none is kept for it.
  if (count <= 1) return;
  for (Run& run : wanted_) {
    if (run.scope != &scope) continue;
    run.count = count;
    return;
  }
  wanted_.push_back({&scope, 0, count});
}

void LargeValues::WantNoMore(const Scope& scope) noexcept {
  BRAID_DCHECK(std::count_if(wanted_.begin(), wanted_.end(),
                             [&scope](const Run& run) { return run.scope == &scope; }) <= 1);
  const bool wanted =
      std::erase_if(wanted_, [&scope](const Run& run) { return run.scope == &scope; }) != 0;
  if (wanted && wanted_.empty()) pool_->LetRunGo();
}

uint64_t LargeValues::WantedRun() {
  const base::MutexLock lock(mutex_);
  uint64_t most = 0;
  for (const Run& run : wanted_) most = std::max(most, run.count);
  return most;
}

void LargeValues::Leave(const Scope& scope) noexcept {
  const base::MutexLock lock(mutex_);
  for (const log::PendingEntry& pending : scope.drafts_) {
    // A failed medium keeps what was taken as it is.
    if (pending.reserved == 0 || pending.extent == pending.reserved || pool_->failed()) continue;
    pool_->CancelExtent(pending.reserved, pending.value.size());
  }
  std::erase_if(reserved_, [&scope](const Run& run) { return run.scope == &scope; });
  WantNoMore(scope);
  BRAID_DCHECK(writes_ > 0);
  --writes_;
  // What is left belongs to scopes that are still there: invariants 1 and 3.
  BRAID_DCHECK(writes_ != 0 || (reserved_.empty() && wanted_.empty()));
  left_.NotifyAll();
}

void LargeValues::Close() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  while (writes_ != 0) left_.Wait(mutex_);
  BRAID_DCHECK(reserved_.empty() && wanted_.empty());  // invariant 2
}

bool LargeValues::HasReserved(uint64_t chunk) const noexcept {
  mutex_.AssertHeld();
  return std::any_of(reserved_.begin(), reserved_.end(), [chunk](const Run& run) {
    return chunk >= run.first && chunk - run.first < run.count;
  });
}

}  // namespace braid::space
