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
// Admission Policy", 2017, section 3), with counters of a byte, both of a key in one line of the
// processor's cache (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters",
// 2007, section 3). What has to be beaten: whose turn it is in the order of buckets, for nothing is
// known of it but its counters, and so a hit has nothing to keep up to date.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "base/prefetch.h"
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

  /// Brings what a Find looks at near the processor.
  void Prefetch(uint64_t hash) const noexcept {
    base::Prefetch(&shards_[ShardNumber(hash)]);
    base::Prefetch(&counters_[LineOf(hash)]);
    base::Prefetch(&buckets_[BucketOf(hash)]);
  }
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
  /// In one line of the processor's cache.
  struct alignas(64) Shard {
    base::Mutex mutex;
    uint64_t used BRAID_GUARDED_BY(mutex) = 0;
    uint32_t hand BRAID_GUARDED_BY(mutex) = 0;     // the bucket whose turn it is to give way
    uint32_t counted BRAID_GUARDED_BY(mutex) = 0;  // since its counters were halved
    uint8_t refused BRAID_GUARDED_BY(mutex) = 0;   // reads that were not enough at the last look
    uint8_t refuses BRAID_GUARDED_BY(mutex) = 0;   // how many more before the next one
  };
  static_assert(sizeof(Shard) < sizeof(base::Mutex) + 24 + alignof(Shard));

  struct Counters {
    uint8_t& one;
    uint8_t& other;
  };
  /// A processor's line of them.
  struct alignas(64) CounterLine {
    std::array<uint8_t, 64> reads;
  };

  uint64_t ShardNumber(uint64_t hash) const noexcept { return hash & (shards_.size() - 1); }
  Shard& ShardOf(uint64_t hash) noexcept { return shards_[ShardNumber(hash)]; }
  /// Of `count` things, in the order of `bits`: a product where a remainder would be a division.
  static uint64_t Scale(uint64_t bits, uint64_t count) noexcept {
    return (bits & 0xffffffffu) * count >> 32;
  }
  uint64_t BucketOf(uint64_t hash) const noexcept {
    return ShardNumber(hash) * buckets_a_shard_ + Scale(hash >> 32, buckets_a_shard_);
  }
  uint64_t LineOf(uint64_t hash) const noexcept {
    return ShardNumber(hash) * lines_a_shard_ + Scale(hash >> 24, lines_a_shard_);
  }
  Counters CountersOf(uint64_t hash) noexcept;
  Item* FindItem(const index::LookupKey& key) const noexcept;
  void Count(Shard* shard, uint64_t hash) noexcept BRAID_REQUIRES(shard->mutex);
  uint8_t ReadsOf(uint64_t hash) noexcept;
  Item* NextInTurn(Shard* shard) noexcept BRAID_REQUIRES(shard->mutex);
  bool MakeRoom(Shard* shard, uint64_t most, uint64_t hash) noexcept BRAID_REQUIRES(shard->mutex);
  void Insert(Shard* shard, Item* item) noexcept BRAID_REQUIRES(shard->mutex);
  void Remove(Shard* shard, Item* item) noexcept BRAID_REQUIRES(shard->mutex);

  std::vector<Shard> shards_;  // a power of two
  // A shard's buckets and counters lie side by side, and are under its lock.
  const uint64_t buckets_a_shard_;
  const uint64_t lines_a_shard_;
  media::SparseTable<Bucket> buckets_;
  media::SparseTable<CounterLine> counters_;
  // Relaxed: read under a shard's lock, which SetLimit takes afterwards.
  std::atomic<uint64_t> limit_a_shard_{0};
  std::atomic<uint64_t> used_{0};
};

}  // namespace braid::tier
