// Purpose: the cache of a tier, and how it shares its memory with what the store takes.
// Thread safety, invariant: see tier.h.
#include "tier/tier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace braid::tier {

namespace {
/// What a store takes grows slowly, and to ask it is to look at each table.
constexpr uint64_t kRunsBetweenLooks = 16;
}  // namespace

Tier::Tier(std::unique_ptr<Store> opened, uint64_t share, base::MemoryUsers* users)
    : store_(std::move(opened)),
      share_(share),
      records_(std::make_unique<RecordCache>(share)),
      charge_(users) {
  BRAID_CHECK(store_ != nullptr);
  FitRecords();
}

bool Tier::MayHold(std::string_view key) const noexcept {
  const auto has_it = [key](std::span<const RunEntry> run) {
    const auto at = std::lower_bound(
        run.begin(), run.end(), key,
        [](const RunEntry& entry, std::string_view wanted) { return entry.key < wanted; });
    return at != run.end() && at->key == key;
  };
  return std::any_of(coming_.begin(), coming_.end(), has_it) || store_->MayHold(key);
}

void Tier::BeginMove(std::span<const RunEntry> run) noexcept {
  moves_.fetch_add(1);
  // Behind the step above: see RecordCache::Offer.
  for (const RunEntry& entry : run) records_->Forget({entry.key, base::Hash64(entry.key)});
  if (runs_++ % kRunsBetweenLooks == 0) FitRecords();
}

/// What filters and indexes take comes first: a get that had to read them would read far more than
/// its block.
void Tier::FitRecords() noexcept {
  const uint64_t taken = store_->memory_bytes();
  records_->SetLimit(share_ - std::min(share_, taken));
  charge_.Set(std::max(share_, taken));
}

/// From the store.
Status Tier::Read(const index::LookupKey& key, Found* found) const {
  const uint64_t seen = moves_.load();
  if (Status s = store_->Get(key.key, found); !s.ok()) return s;
  if (found->result().has_version()) records_->Offer(key, *found, moves_, seen);
  return Status::OK();
}

}  // namespace braid::tier
