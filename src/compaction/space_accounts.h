// Purpose: what is live in each chunk of tables, and what follows from it: obsolete entries leave
// the counts and the lookup cache, and chunks that hold nothing live any more are retired, as are
// logs whose entries a committed table has copies of.
// Thread safety: RetireLogs and Fill by any thread; all else by the compaction thread.
// Invariants:
//   1. An entry is taken out of the counts once: by the merge that marked it obsolete.
//   2. A chunk is retired once in each of its lives, and while no merge is open: what the newest
//      redo record of one names is there until the next open, which may make it again.
// Persistence: none; each open derives it again from the entries' marks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "cache/lookup_cache.h"
#include "compaction/garbage_collection.h"
#include "level/version_set.h"
#include "pool/chunk_usage.h"
#include "space/reclaimer.h"
#include "space/space_use.h"

namespace braid::compaction {

class SpaceAccounts {
 public:
  /// What is counted, and outlives the accounts.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    space::Reclaimer* reclaimer;
    cache::LookupCache* lookup_cache;  // may be null
  };

  explicit SpaceAccounts(const Store& store)
      : store_(store), pool_(*store.pool), levels_(*store.pool) {}

  /// Chunks of the tables that the manifest names now.
  ChunkSurvey Survey(double live_ratio) const;
  /// Entries that became obsolete; their extents are retired. A miss an entry, unless it was just
  /// read, and one more for its bucket of the lookup cache.
  void Died(const std::vector<uint64_t>& entries);
  /// The same of entries of a table that others have hidden, which were flushed later: no bucket of
  /// the lookup cache names one.
  void DiedHidden(const std::vector<uint64_t>& entries);
  /// Originals that gave way to their copies; they have no extents.
  void Moved(const index::Replacement* moved, size_t count);
  /// A full merge has put copies in the place of these, or nothing in that of deletes (0). Chunks
  /// that the manifest says are left behind are retired. A look at each copy, and at its bucket of
  /// the lookup cache; and at the header of each chunk.
  void LeftBehind(const std::vector<index::Replacement>& newest);
  /// Of the tables. Nothing while a merge is open, even one that was stopped: its end retires them.
  void RetireEmptyChunks();
  /// What a view pins that no extent retired from now on is to be reused for.
  const std::atomic<uint64_t>& clock() const noexcept { return store_.reclaimer->clock(); }
  /// These stay as they are, even if nothing lives in them, until they are released.
  void Hold(const std::vector<uint64_t>& chunks) { held_.insert(chunks.begin(), chunks.end()); }
  void Release(const std::vector<uint64_t>& chunks) noexcept {
    for (const uint64_t chunk : chunks) held_.erase(chunk);
  }
  /// Counts a few chunks of earlier sessions. False when all are known.
  bool CountStep();
  /// Retires logs whose entries a committed table has copies of; no room is kept for such copies
  /// from here on. A recovered log may be one, whatever kind this session writes.
  void RetireLogs();
  /// What the pool's bytes are used for. Cost: some words in DRAM for each chunk of the pool; the
  /// first time, the header of each.
  void Fill(Statistics* statistics) const;

 private:
  /// Entries whose misses are under way side by side, or their keys' hashes.
  static constexpr size_t kRound = 16;
  using Round = std::array<uint64_t, kRound>;

  template <class OffsetAt>
  Round AskBuckets(const OffsetAt& offset_at, size_t begin, size_t end) const;
  template <class OffsetAt>
  void AskEntries(const OffsetAt& offset_at, size_t begin, size_t end) const;
  template <class OffsetAt, class Take>
  void InRounds(size_t count, const OffsetAt& offset_at, const Take& take) const;
  void Uncount(const format::EntryHeader& entry, uint64_t offset, space::Retired* retired);
  /// Whether one is open.
  bool AnyMerge() const;
  void TakeFromLookupCache(const format::EntryHeader& entry, uint64_t hash, uint64_t offset);

  const Store store_;
  pool::PmemPool& pool_;
  const space::LogLevels levels_;
  std::vector<pool::ChunkId> retiring_;  // retired, not yet free
  std::unordered_set<uint64_t> held_;
};

}  // namespace braid::compaction
