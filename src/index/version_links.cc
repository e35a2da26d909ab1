// Purpose: upper links between versions.
// Thread safety, invariants, persistence: version_links.h.
#include "index/version_links.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "index/visits.h"

namespace braid::index {

using format::EntryHeader;
using format::EntryPtr;

namespace {

/// Versions looked at for one link. Towers are four times as rare from layer to layer, and the walk
/// goes along the tallest ones, so that hardly any needs so many.
constexpr int kMostHops = 64;

/// What a link names, if that is an entry.
const EntryHeader* EntryBehind(const pool::PmemPool& pool, uint64_t raw) noexcept {
  const EntryPtr link{raw};
  if (raw == 0 || link.IsEnd() || !link.IsValid()) return nullptr;
  return pool.EntryAt(link.offset());
}

uint64_t UpperLink(const EntryHeader& entry, uint32_t layer) noexcept {
  // Acquire pairs with the release store that published the entry behind the link.
  return std::atomic_ref<const uint64_t>(entry.links()[layer]).load(std::memory_order_acquire);
}

uint32_t LayersOf(const EntryHeader& entry) noexcept {
  return std::min(entry.height(), format::kMaxHeight);
}

}  // namespace

void LinkOlderVersions(const pool::PmemPool& pool, uint64_t older, uint32_t height,
                       uint64_t* links) noexcept {
  BRAID_DCHECK(older != 0 && height >= 1 && height <= format::kMaxHeight);
  std::fill(links + 1, links + height, 0);
  if (height <= 1) return;
  const EntryHeader* entry = pool.EntryAt(older);
  int hops = 0;
  for (uint32_t layer = 1; layer < height; ++layer) {
    while (entry != nullptr && LayersOf(*entry) <= layer) {
      entry =
          ++hops > kMostHops ? nullptr : EntryBehind(pool, UpperLink(*entry, LayersOf(*entry) - 1));
    }
    if (entry == nullptr) return;
    links[layer] = pool.LinkTo(pool.OffsetOf(entry)).raw;
  }
}

const EntryHeader* SkipUnseen(const pool::PmemPool& pool, const EntryHeader* entry,
                              std::string_view key, const ReadView& view) noexcept {
  if (view.sequence == kLatest) return entry;  // few are newer than what it sees
  for (uint32_t layer = LayersOf(*entry); layer-- > 1;) {
    const EntryHeader* older = EntryBehind(pool, UpperLink(*entry, layer));
    if (older == nullptr) continue;
    if (view.visits != nullptr) view.visits->Count(pool, older, layer);
    // Falling numbers, so that a damaged list cannot hold a reader in a circle.
    if (older->sequence() >= entry->sequence() || older->sequence() <= view.sequence ||
        older->key() != key) {
      continue;
    }
    entry = older;
    layer = LayersOf(*entry);
  }
  return entry;
}

}  // namespace braid::index
