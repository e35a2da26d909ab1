// Purpose: copying large values before their writes take locks. Thread safety, invariants,
// persistence: see large_values.h.
#include "engine/large_values.h"

#include <algorithm>

namespace braid::engine {

Status LargeValues::Scope::Copy(uint32_t region, pmem::AllocationClass allocation) {
  if (!entered_) {
    if (Status s = all_->Enter(); !s.ok()) return s;
    entered_ = true;
  }
  for (log::Draft& draft : drafts_) {
    if (draft.value.size() <= log::LargestInlineValue(*all_->pool_) || draft.reserved != 0) {
      continue;
    }
    if (Status s = all_->Reserve(*this, &draft, region, allocation); !s.ok()) return s;
    log::WriteToExtent(all_->pool_, draft.reserved, draft.value);
    draft.extent_ref = {draft.reserved, draft.value.size(), base::Hash64(draft.value)};
  }
  return Status::OK();
}

Status LargeValues::Enter() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Status::Closed();
  ++writes_;
  return Status::OK();
}

Status LargeValues::Reserve(const Scope& scope, log::Draft* draft, uint32_t region,
                            pmem::AllocationClass allocation) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Status::Closed();
  reserved_.reserve(reserved_.size() + 1);  // what is reserved must not be lost
  Result<uint64_t> extent = pool_->ReserveExtent(draft->value.size(), region, allocation);
  if (!extent.ok()) return extent.status();
  draft->reserved = *extent;
  reserved_.push_back({&scope, pool_->ChunkOf(*extent), pool_->ExtentChunks(draft->value.size())});
  return Status::OK();
}

void LargeValues::Leave(const Scope& scope) noexcept {
  const std::lock_guard lock(mutex_);
  for (const log::Draft& draft : scope.drafts_) {
    // A failed medium keeps what was taken as it is.
    if (draft.reserved == 0 || draft.extent == draft.reserved || pool_->failed()) continue;
    pool_->CancelExtent(draft.reserved, draft.value.size());
  }
  std::erase_if(reserved_, [&scope](const Run& run) { return run.scope == &scope; });
  --writes_;
  left_.notify_all();
}

void LargeValues::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [this] { return writes_ == 0; });
}

bool LargeValues::HasReserved(uint64_t chunk) const noexcept {
  return std::any_of(reserved_.begin(), reserved_.end(), [chunk](const Run& run) {
    return chunk >= run.first && chunk - run.first < run.count;
  });
}

}  // namespace braid::engine
