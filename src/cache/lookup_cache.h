// Purpose: the lookup cache: a static hash table in DRAM from a key's hash to the place of the
// key's newest flushed entry. A get asks it after the memtables, and is spared the L0 tables and
// L1; and once it has met every key of the tables, it also knows of most keys that are in none.
// Thread safety: Find from any thread, inside an EpochGuard; Fill by the flush under way; Forget,
// Replace and FillFound by the thread that merges. No locks: a bucket is one word, and every change
// of it is one atomic step.
// Invariants:
//   1. Memtables are flushed one at a time, oldest first, and a flush fills every key it links with
//      the newest version it links, deletes included; a newcomer takes its bucket from whatever is
//      there. So a bucket never names a version of a key when a flush has gone over a newer one.
//   2. A flush of a memtable begins after a grace period in which no reader was left that took it
//      for the active one. So what is filled while a reader runs comes from memtables that are
//      immutable in the reader's state, which it has asked before.
//   3. Buckets are filled before the state that shows the new L0 table is stored. A reader that
//      loads that state finds in a bucket what this flush has put there, or something later.
//   4. An entry that a merge makes obsolete is forgotten after it is marked and before its chunk or
//      extent is retired, so before the grace period after which these are reused. Entries that a
//      flush drops were never filled. So what is found inside an epoch stays readable in it. The
//      bucket of an entry that was copied is handed to the copy, which is the same version, once
//      that is in L1.
//   5. An answer is an entry whose place, header and key verify, whose key is the one sought, which
//      is not marked obsolete, and which the view sees; anything else is a miss, and the tables are
//      searched. Why answers are linearizable is in docs/internals/lookup-cache.md.
//   6. A bucket that was used stays used, also when what it named is forgotten. FillFound takes
//      buckets that never were. So where a flush has gone over a key, no older version that is
//      found in L1 after an open gets in, whatever became of the newer one. Tables of L0 that no
//      flush of this session filled (found by the open, or loaded in bulk) would be overlooked:
//      nothing is filled from L1 before they are merged.
//   7. KnowsAll is called when every key of the tables was filled, or found its bucket used. From
//      then on a bucket that was never used tells that its keys are in no table: a memtable's keys
//      are filled before it is taken from the state.
// Persistence: none; filled from L1 after an open (cache/lookup_fill.h).
// Source: ListDB 6.6, Algorithm 7 lines 9-12. Deviation: the 16 bits that an address leaves free
// hold a part of the hash, so that most misses are detected without reading persistent memory. The
// tall entries that a newcomer pushes out are not handed to the second-chance cache: that is filled
// by merges (Algorithm 6 line 44).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/counters.h"
#include "base/prefetch.h"
#include "index/read_view.h"
#include "media/sparse_table.h"
#include "pool/pool.h"

namespace braid::cache {

class LookupCache {
 public:
  /// As many buckets of 8 bytes as `bytes` hold, at least one.
  LookupCache(const pool::PmemPool* pool, uint64_t bytes);
  /// False: there is no address space for the table.
  bool ok() const noexcept { return buckets_.ok(); }

  /// The answer for `key`; nowhere: no table has it; or absent: then the tables must be asked.
  /// Cost: one line of DRAM, and on a hit the entry.
  index::LookupResult Find(const index::LookupKey& key, const index::ReadView& view) const noexcept;
  /// Begins to fetch the bucket, so that it is there when the memtables have been asked.
  void Prefetch(uint64_t hash) const noexcept { base::Prefetch(&buckets_[BucketOf(hash)]); }

  /// `offset` is the newest version of its key that the flush under way links.
  void Fill(uint64_t hash, uint64_t offset) noexcept;
  /// The entry is obsolete; `hash` is that of its key. Nothing happens when its bucket names
  /// another.
  void Forget(uint64_t hash, uint64_t offset) noexcept;

  /// The entry at `from` is obsolete, and `to` is its copy: the same key, value and sequence
  /// number. Nothing happens when the bucket names another.
  void Replace(uint64_t hash, uint64_t from, uint64_t to) noexcept;
  /// Whether the bucket of `hash` names `offset`.
  bool Names(uint64_t hash, uint64_t offset) const noexcept {
    // Relaxed: a change of the bucket compares it once more.
    return buckets_[BucketOf(hash)].load(std::memory_order_relaxed) == WordOf(hash, offset);
  }

  /// `offset` is the newest version of its key in L1, which was found there: takes the bucket if it
  /// never was used.
  void FillFound(uint64_t hash, uint64_t offset) noexcept;
  /// Every key of every table was filled since the last Clear, by either.
  void KnowAll() noexcept;
  bool knows_all() const noexcept { return complete_.load(std::memory_order_acquire) != 0; }

  /// Forgets everything: a table becomes the newest of all that no flush has gone over. Before the
  /// state that shows it is stored, and while nothing is filled.
  void Clear() noexcept;

  uint64_t entries() const noexcept { return entries_.load(std::memory_order_relaxed); }
  uint64_t hits() const noexcept { return counters_.Sum(Counter::kHits); }
  /// Lookups that ended with nowhere.
  uint64_t absences() const noexcept { return counters_.Sum(Counter::kAbsences); }
  uint64_t misses() const noexcept { return counters_.Sum(Counter::kMisses); }
  uint64_t memory_bytes() const noexcept { return count_ * sizeof(uint64_t); }

 private:
  enum class Counter : uint8_t { kHits, kAbsences, kMisses };

  static constexpr uint64_t kNeverUsed = 0;
  static constexpr uint64_t kEmptied = 1;  // no entry is at an odd offset
  static_assert(kNeverUsed == 0);          // a new table is all zeroes
  static_assert(kEmptied % 8 != 0 && kEmptied != kNeverUsed);

  /// High bits choose the bucket, low ones are the fingerprint.
  uint64_t BucketOf(uint64_t hash) const noexcept {
    __extension__ using Product = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Product>(hash) * count_) >> 64);
  }
  static uint64_t WordOf(uint64_t hash, uint64_t offset) noexcept {
    BRAID_DCHECK(offset <= format::kOffsetMask);  // the rest of the word is the hash's
    return hash << 48 | offset;
  }
  /// One key in 64, by bits that choose neither bucket nor fingerprint.
  static bool IsSampled(uint64_t hash) noexcept { return ((hash >> 20) & 63) == 0; }
  index::LookupResult Judge(uint64_t word, const index::LookupKey& key,
                            const index::ReadView& view) const noexcept;

  const pool::PmemPool* pool_;
  uint64_t count_;
  media::SparseTable<std::atomic<uint64_t>> buckets_;
  std::atomic<uint64_t> complete_{0};  // knows all; a number that each Clear makes a new one of
  uint64_t completions_ = 0;           // the thread that merges
  alignas(64) std::atomic<uint64_t> entries_{0};
  // What an entry takes, as one of those found lately did.
  alignas(64) mutable std::atomic<uint64_t> likely_bytes_{64};
  mutable base::Counters<Counter, 3> counters_;
};

}  // namespace braid::cache
