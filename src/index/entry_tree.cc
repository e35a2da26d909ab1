// Purpose: version walks and lookups over an EntryIndex.
// Thread safety, invariants, persistence: see entry_tree.h.
#include "index/entry_tree.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/version_links.h"
#include "index/visits.h"

namespace braid::index {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;

namespace {

uint64_t LoadLink(const uint64_t* link) noexcept {
  // Acquire pairs with the release store that published the entry behind the link.
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_acquire);
}

}  // namespace

VersionWalk LookupEntry(const pool::PmemPool& pool, uint64_t newest,
                        const ReadView& view) noexcept {
  BRAID_DCHECK(newest != 0);
  // The offset was checked when it came into the tree; its chunk, or its bytes, may be others now.
  const EntryHeader* entry = pool.EntryAt(newest);
  if (entry == nullptr) return {nullptr, newest};
  if (view.Sees(*entry)) return {entry, 0};
  const std::string_view key = entry->key();
  for (;;) {
    entry = SkipUnseen(pool, entry, key, view);
    const uint64_t sequence = entry->sequence();
    const EntryPtr next{LoadLink(entry->links())};
    if (next.raw == 0 || next.IsEnd()) return {};
    if (!next.IsValid()) return {nullptr, pool.OffsetOf(entry)};
    const EntryHeader* older = pool.EntryAt(next.offset());
    if (older == nullptr) return {nullptr, pool.OffsetOf(entry)};
    if (older->key() != key) return {};
    // Versions fall strictly, so that a damaged list cannot hold a reader in a circle.
    if (older->sequence() >= sequence) return {nullptr, next.offset()};
    if (view.visits != nullptr) view.visits->Count(pool, older, 0);
    if (view.Sees(*older)) return {older, 0};
    entry = older;
  }
}

namespace {

/// What `view` sees of the key whose newest entry is at `newest`.
LookupResult LookupFromNewest(const pool::PmemPool& pool, uint64_t newest, const LookupKey& key,
                              const ReadView& view) noexcept {
  const VersionWalk walk = LookupEntry(pool, newest, view);
  if (walk.corrupt_at != 0) return LookupResult::Corrupt(walk.corrupt_at);
  if (walk.entry == nullptr) return {};
  const uint64_t offset = pool.OffsetOf(walk.entry);
  if (!KeyIsIntact(pool, *walk.entry, offset, key.hash)) return LookupResult::Corrupt(offset);
  return LookupResult::Of(*walk.entry, offset);
}

}  // namespace

LookupResult LookupInTree(const pool::PmemPool& pool, const EntryIndex& tree, const LookupKey& key,
                          const ReadView& view) noexcept {
  const uint64_t newest = tree.Find(key.key);
  if (newest == 0) return {};
  // Side by side: header, key and the begin of the value, which are read one after the other.
  base::PrefetchRange(pool.At(newest), kLikelyEntryBytes);
  return LookupFromNewest(pool, newest, key, view);
}

void LookupManyInTree(const pool::PmemPool& pool, const EntryIndex& tree, const LookupKey* keys,
                      size_t n, const ReadView& view, LookupResult* out) noexcept {
  BRAID_DCHECK(n <= kManyLookups);
  std::array<std::string_view, kManyLookups> texts;
  std::array<uint64_t, kManyLookups> newest;
  for (size_t i = 0; i < n; ++i) texts[i] = keys[i].key;
  tree.FindMany(texts.data(), newest.data(), n);
  for (size_t i = 0; i < n; ++i) {
    if (newest[i] != 0) base::PrefetchRange(pool.At(newest[i]), kLikelyEntryBytes);
  }
  for (size_t i = 0; i < n; ++i) {
    out[i] = newest[i] == 0 ? LookupResult{} : LookupFromNewest(pool, newest[i], keys[i], view);
  }
}

}  // namespace braid::index
