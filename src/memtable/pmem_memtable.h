// Purpose: a memtable that is a skip list in persistent memory: a write puts its entry where the
// entry stays, and links it there. There is no log beside it and no index in DRAM; once frozen, it
// is a table of L0 as soon as a head in the pool and the manifest say so.
// Thread safety: see mem_table.h. Keys, values and the search for the place are written and done
// side by side; the insertion itself is serialised. Readers take no lock: they wait where the
// insertion under way is of their key.
// Invariants (1 and 2 are those of mem_table.h):
//   3. At every store each layer leads through all entries that it has, in order, and to an end.
//   4. An insertion announces its key before it draws its number, and until it is durable. A read
//      that begins after the number was drawn finds the announcement or the entry; so numbers are
//      the order of linearization, as with the locks of dram_memtable.h. A read that has found an
//      entry looks again: what it returns is durable.
//   5. The numbers of a batch are published when all its entries are linked, and these links are
//      durable.
//   6. Links of writes that have returned are durable. They are nobody's proof of an entry, though:
//      until the manifest has the table, recovery believes entries by their own checks alone.
// Persistence: a write commits when the lines of its entry are durable: one fence, which its links
// share. A batch: one fence for the entries, which are chained as in a log, then one for the links.
// After a crash entries are found in their chunks, as those of a log (recovery_job.h): torn ones
// fail their checks, a batch that is not whole counts as nothing, links are set again.
// Source: NoveLSM 4.2 to 4.4; checks in place of transactions, batches, and versions beside each
// other are braid's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "index/skiplist.h"
#include "memtable/mem_table.h"

namespace braid::memtable {

class PmemMemTable final : public MemTable {
 public:
  /// `verify`: whether reads look at the checks of what they pass. Throws std::bad_alloc.
  PmemMemTable(const Store& store, uint64_t id, uint32_t shards, bool verify);

  Status Write(uint32_t shard, log::PendingEntry* pending, const Condition* condition) override;
  Status WriteBatch(uint32_t shard, std::span<log::PendingEntry> entries,
                    pool::AllocationClass allocation, bool* is_torn) override;
  index::LookupResult Get(const index::LookupKey& key,
                          const index::ReadView& view) const noexcept override;
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               index::LookupResult* out) const noexcept override;
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView& view) const override;
  FlushSource flush_source() const override { return {nullptr, false, this}; }
  uint64_t memory_bytes() const noexcept override { return sizeof(Heads); }
  bool is_persistent() const noexcept override { return true; }
  void BecomeTable(const std::shared_ptr<const index::SortedRun>& table) noexcept override;

  // Once it is frozen, and its writers have left.

  /// Where a strand begins: kMaxHeight links, in DRAM.
  index::Tower head(uint32_t strand) const noexcept { return heads_->links[strand].data(); }
  /// Searches go along the strand that is near the calling thread.
  index::SkipList list() const noexcept;
  uint64_t max_sequence() const;
  std::vector<log::IndexUnifiedLog::ChunkUse> UsedBytes() const { return log_.UsedBytes(); }

 private:
  struct Heads {
    std::array<std::array<uint64_t, format::kMaxHeight>, format::kMaxRegions> links;
  };
  /// Before what an entry is to be linked, in each of its layers.
  struct Place {
    std::array<index::Tower, format::kMaxHeight> before;
    std::array<uint64_t, format::kMaxHeight> next;  // links that lead on from there
    const format::EntryHeader* older = nullptr;     // newest version of the key
  };
  /// Invariant 4: odd while an insertion is under way.
  class Turn;

  void FindPlace(const log::PendingEntry& pending, Place* place,
                 index::Damage* damage) const noexcept;
  void MoveOn(const log::PendingEntry& pending, Place* place, index::Damage* damage) const noexcept;
  Status Insert(const log::PendingEntry& pending, const Condition* condition, Place* place)
      BRAID_REQUIRES(mutex_);
  Status InsertBatch(std::span<const log::PendingEntry> entries) BRAID_REQUIRES(mutex_);
  void Link(const log::PendingEntry& pending, const Place& place) BRAID_REQUIRES(mutex_);
  bool IsHead(index::Tower tower) const noexcept {
    return tower >= heads_->links.front().data() && tower <= &heads_->links.back().back();
  }
  index::LookupResult Search(const index::LookupKey& key,
                             const index::ReadView& view) const noexcept;
  void AwaitKey(uint64_t hash) const noexcept;
  void AwaitTurn(uint64_t turn) const noexcept;

  const Store store_;
  pool::PmemPool& pool_;
  const bool verify_;
  log::IndexUnifiedLog log_;  // chunks and entries; nothing is replayed while the store is open
  const std::shared_ptr<Heads> heads_;
  mutable base::Mutex mutex_;  // of one insertion
  uint64_t max_sequence_ BRAID_GUARDED_BY(mutex_) = 0;
  alignas(64) std::atomic<uint64_t> turn_{0};
  std::atomic<uint64_t> key_hash_{0};  // of the turn
  // What readers of an earlier state ask, and who keeps it.
  std::atomic<const index::SortedRun*> table_{nullptr};
  std::shared_ptr<const index::SortedRun> table_owner_;
};

}  // namespace braid::memtable
