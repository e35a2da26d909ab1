// Purpose: the parts of a fill of the lookup cache.
// Thread safety, invariant, persistence: see lookup_filler.h.
#include "compaction/lookup_filler.h"

#include <algorithm>

#include "base/check.h"
namespace braid::compaction {

namespace {
/// Entries looked at between two looks for a merge that waits.
constexpr uint64_t kFillSlice = 32 * 1024;
/// Buckets filled while writers that change tables may wait: some microseconds.
constexpr size_t kFillsAtATime = 256;
}  // namespace

void LookupFiller::StartAnew(const level::VersionSet::Locked&, uint64_t table_id) noexcept {
  if (cache_ != nullptr) cache_->Clear();
  lookup_cache_floor_id_ = table_id;
  begins_ = true;
}

Result<bool> LookupFiller::Step() {
  if (cache_ == nullptr || cache_->knows_all()) return false;
  std::shared_ptr<level::PmemTable> l1;
  {
    const level::VersionSet::Locked versions = versions_->Lock();
    const auto& l0 = versions.state().version->l0();
    const bool waits = !l0.empty() && l0.back()->id() <= lookup_cache_floor_id_;
    if (waits) return false;
    if (begins_) fill_ = std::make_unique<cache::LookupFill>(pool_);
    begins_ = false;
    l1 = versions.bottom();
  }
  BRAID_DCHECK(fill_ != nullptr);
  if (fill_->complete()) return false;  // it has met damage
  if (Status s = fill_->Find(l1->list(), kFillSlice); !s.ok()) return s;
  const auto& found = fill_->found();
  for (size_t next = 0; next <= found.size(); next += kFillsAtATime) {
    // A bulk load clears the cache under this lock.
    const level::VersionSet::Locked versions = versions_->Lock();
    if (begins_) return true;
    const size_t end = std::min(next + kFillsAtATime, found.size());
    for (size_t i = next; i < end; ++i) cache_->FillFound(found[i].hash, found[i].offset);
    if (end == found.size() && fill_->complete() && fill_->sound()) cache_->KnowAll();
  }
  return true;
}

}  // namespace braid::compaction
