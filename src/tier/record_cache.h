// Purpose: records of the tier that are read most, in DRAM: a get that finds its record here reads
// no table. Of records and not of blocks, since a block of a table holds one that is asked for and
// several that are not.
// Thread safety: any thread. A shard has a lock, which is held for the copy of one record.
// Invariants:
//   1. What is found is what the tier has. A record that a run replaces is forgotten after the run
//      was taken in and before its entries leave the pool, where readers find the newer version
//      until then; and one that has looked the old record up may not bring it back (Offer).
//   2. used_bytes() is what all records take, with what they cost; a shard keeps to its part of the
//      limit.
// Persistence: none.
// Source: what is admitted: TinyLFU (Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache
// Admission Policy", 2017, section 3), with counters of a byte; what goes: a clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "index/read_view.h"
#include "media/sparse_table.h"
#include "tier/record.h"

namespace braid::tier {

class RecordCache {
 public:
  /// Of at most `bytes`, its tables included. Throws std::bad_alloc.
  explicit RecordCache(uint64_t bytes);
  ~RecordCache();
  RecordCache(const RecordCache&) = delete;
  RecordCache& operator=(const RecordCache&) = delete;

  /// Shows a record that is here. Throws std::bad_alloc. Cost: on a hit a copy of it.
  bool Find(const index::LookupKey& key, Found* found);
  /// Keeps what was looked up in the tier, if it is read more than what would have to go for it,
  /// and if `moves` is what it was (`seen`) before the lookup began: else a run may have replaced
  /// it. Without memory it keeps nothing.
  void Offer(const index::LookupKey& key, const Found& found, const std::atomic<uint64_t>& moves,
             uint64_t seen) noexcept;
  void Forget(const index::LookupKey& key) noexcept;
  /// Lets go of what is beyond it. At most what it was made for; with few bytes it keeps nothing.
  void SetLimit(uint64_t bytes) noexcept;

  // Relaxed: statistics, ordered with nothing.
  uint64_t used_bytes() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  struct Item;
  struct Bucket {
    Item* first;
  };
  struct alignas(64) Shard {
    base::Mutex mutex;
    Item* hand BRAID_GUARDED_BY(mutex) = nullptr;  // of a ring of all its items
    uint64_t used BRAID_GUARDED_BY(mutex) = 0;
    uint64_t limit BRAID_GUARDED_BY(mutex) = 0;
    uint64_t counted BRAID_GUARDED_BY(mutex) = 0;  // since its counters were halved
  };

  Shard& ShardOf(uint64_t hash) noexcept { return shards_[hash % shards_.size()]; }
  struct Counters {
    uint8_t& one;
    uint8_t& other;
  };
  uint64_t BucketOf(uint64_t hash) const noexcept;
  Counters CountersOf(uint64_t hash) noexcept;
  Item* FindItem(const index::LookupKey& key) const noexcept;
  void Count(Shard* shard, uint64_t hash) noexcept BRAID_REQUIRES(shard->mutex);
  uint8_t ReadsOf(uint64_t hash) noexcept;
  bool MakeRoom(Shard* shard, uint64_t bytes, uint64_t hash) noexcept BRAID_REQUIRES(shard->mutex);
  void Insert(Shard* shard, Item* item) noexcept BRAID_REQUIRES(shard->mutex);
  void Remove(Shard* shard, Item* item) noexcept BRAID_REQUIRES(shard->mutex);

  std::vector<Shard> shards_;
  // A shard's buckets and counters lie side by side, and are under its lock.
  uint64_t buckets_a_shard_ = 0;
  uint64_t counters_a_shard_ = 0;
  media::SparseTable<Bucket> buckets_;
  media::SparseTable<uint8_t> counters_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace braid::tier
