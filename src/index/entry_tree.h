// Purpose: lookups through an ordered index in DRAM over entries in persistent memory,
// as memtables and the index over L1 use it: from a key to its newest entry. Older versions follow
// through the entries' bottom links.
// Thread safety: see entry_index.h; entries are kept alive by the caller's epoch or view.
// Invariants:
//   1. Following next[0] from an entry leads to the older versions of its key, newest first, until
//      a zero link, the end, or another key. Link flush and merges keep this true at every store.
// Persistence: none; the links in the entries are owned by the memtable, then by the tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/entry_index.h"
#include "index/sorted_run.h"
#include "pool/pool.h"

namespace braid::index {

/// A short entry, which is fetched whole before it is read. What is longer is read on by the
/// hardware.
inline constexpr uint64_t kLikelyEntryBytes = 160;

/// Entry offset to key. Offsets in a tree were checked when they were inserted; keys are cut where
/// their chunk ends, as PmemPool::KeyAt does.
class EntryKeyOf {
 public:
  explicit EntryKeyOf(const pool::PmemPool* pool)
      : base_(pool->At(0)), chunk_bytes_(pool->chunk_bytes()) {}
  std::string_view operator()(uint64_t offset) const noexcept {
    BRAID_DCHECK(offset != 0 && offset % 8 == 0);
    return format::KeyWithin(base_ + offset, chunk_bytes_ - (offset & (chunk_bytes_ - 1)));
  }
  void PrefetchEntry(uint64_t offset) const noexcept {
    base::PrefetchRange(base_ + offset, kLikelyEntryBytes);
  }

 private:
  const char* base_;
  uint64_t chunk_bytes_;
};

/// What reads fetch of an entry ahead, at most; the hardware goes on behind that
/// (docs/internals/decisions/0074).
inline constexpr uint64_t kMostFetched = 1152;

/// Outcome of following versions.
struct VersionWalk {
  const format::EntryHeader* entry = nullptr;  // null: no version is visible
  uint64_t corrupt_at = 0;                     // nonzero: a damaged link or entry
};

/// The newest version, from `newest` on, that `view` sees.
VersionWalk LookupEntry(const pool::PmemPool& pool, uint64_t newest, const ReadView& view) noexcept;

/// A lookup through a tree that holds the newest entry of every key of its table.
LookupResult LookupInTree(const pool::PmemPool& pool, const EntryIndex& tree, const LookupKey& key,
                          const ReadView& view) noexcept;

/// out[i] = LookupInTree(keys[i]) for i < n, at most kManyLookups, with the misses of one hidden
/// behind those of the others.
void LookupManyInTree(const pool::PmemPool& pool, const EntryIndex& tree, const LookupKey* keys,
                      size_t n, const ReadView& view, LookupResult* out) noexcept;

/// True when the header and key of `entry` match their check; `hash` is that of its key.
inline bool KeyIsIntact(const pool::PmemPool& pool, const format::EntryHeader& entry,
                        uint64_t offset, uint64_t hash) noexcept {
  return format::KeyCheck(entry, hash, offset, pool.GenerationAt(offset)) == entry.key_check;
}

}  // namespace braid::index
