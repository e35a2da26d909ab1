// Purpose: lookups of many keys in newer tables.
// Thread safety, invariants, persistence: see newer_versions.h.
#include "index/newer_versions.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/epoch.h"
#include "base/prefetch.h"

namespace braid::index {

namespace {
/// Keys that are looked up to learn whether a table has many.
constexpr size_t kSamples = 32;
/// One in so many of them must be there: a lookup costs a fifth of what merging an entry does.
constexpr size_t kOneIn = 4;
/// Keys looked up in one read section, so that nobody waits long for its end.
constexpr size_t kAtOnce = 64;
}  // namespace

void NewerVersions::Find(std::span<const std::string_view> keys, std::vector<uint64_t>* sequences) {
  if (calls_++ % kCallsALook == 0) horizon_ = look_();
  sequences->assign(keys.size(), kLatest);
  if (horizon_.tables.empty()) return;
  missing_.assign(keys.begin(), keys.end());
  places_.resize(keys.size());
  for (size_t i = 0; i < places_.size(); ++i) places_[i] = i;
  for (const std::weak_ptr<const EntryIndex>& weak : horizon_.tables) {
    const std::shared_ptr<const EntryIndex> index = weak.lock();
    if (missing_.empty()) return;
    if (index != nullptr && HasMany(*index)) LookUp(*index, sequences);
  }
}

bool NewerVersions::HasMany(const EntryIndex& index) {
  std::array<std::string_view, kSamples> keys;
  std::array<uint64_t, kSamples> refs;
  const size_t count = std::min(kSamples, missing_.size());
  for (size_t i = 0; i < count; ++i) keys[i] = missing_[i * missing_.size() / count];
  const base::EpochGuard guard;
  index.FindMany(keys.data(), refs.data(), count);
  const auto is_there = [&](uint64_t ref) { return SequenceAt(ref) != kLatest; };
  const auto found = std::count_if(refs.begin(), refs.begin() + count, is_there);
  return static_cast<size_t>(found) * kOneIn >= count;
}

/// Of the keys that are missing; those that are not there stay missing.
void NewerVersions::LookUp(const EntryIndex& index, std::vector<uint64_t>* sequences) {
  std::array<uint64_t, kAtOnce> refs;
  size_t still = 0;
  for (size_t begin = 0; begin < missing_.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, missing_.size() - begin);
    const base::EpochGuard guard;
    index.FindMany(&missing_[begin], refs.data(), count);
    // Where what the index has of the keys was enough, nobody has looked at the entries.
    for (size_t i = 0; i < count; ++i) {
      if (refs[i] != 0) base::Prefetch(pool_->At(refs[i]));
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t place = places_[begin + i];
      BRAID_DCHECK(still <= begin + i && (*sequences)[place] == kLatest);
      (*sequences)[place] = SequenceAt(refs[i]);
      if ((*sequences)[place] != kLatest) continue;
      places_[still] = place;
      missing_[still++] = missing_[begin + i];
    }
  }
  missing_.resize(still);
  places_.resize(still);
}

/// Inside of the read section in which the offset was found.
uint64_t NewerVersions::SequenceAt(uint64_t offset) const noexcept {
  if (offset == 0) return kLatest;
  const format::EntryHeader* entry = pool_->EntryAt(offset);
  if (entry == nullptr || entry->state() != format::kStateLive) return kLatest;
  return entry->sequence();
}

}  // namespace braid::index
