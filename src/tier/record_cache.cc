// Purpose: the cache of the tier's records.
// Thread safety, invariants, persistence: see record_cache.h.
#include "tier/record_cache.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>

#include "base/check.h"

namespace braid::tier {

namespace {
/// A shard for so many bytes, and not more shards than this: each has a line that threads share.
constexpr uint64_t kShardBytes = 256 << 10;
constexpr uint64_t kMostShards = 64;
/// A bucket for so many bytes: of records that are not small, few share one.
constexpr uint64_t kBytesABucket = 256;
/// A line of counters for so many: a counter for 32 bytes, so that keys can be distinguished
/// where records are small, too.
constexpr uint64_t kBytesALine = 2048;
/// After so many reads for each counter all are halved: what was read long ago counts less.
constexpr uint64_t kReadsACounter = 4;
/// Those that one has been read as often as, or more, keep out without another look.
constexpr uint8_t kRefusedAtOnce = 8;
/// Of a shard one record may take this part.
constexpr uint64_t kLargestPart = 8;
/// What the allocator takes for each record beyond what it is asked for.
constexpr uint64_t kAllocated = 16;
}  // namespace

/// A record and its key, behind this head.
struct RecordCache::Item {
  Item* next_in_bucket;
  uint64_t hash;
  uint32_t key_bytes;
  uint32_t record_bytes;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
  std::string_view record() const {
    return {reinterpret_cast<const char*>(this + 1) + key_bytes, record_bytes};
  }
  static uint64_t Bytes(uint64_t key, uint64_t record) {
    return sizeof(Item) + key + record + kAllocated;
  }
  uint64_t bytes() const { return Bytes(key_bytes, record_bytes); }

  static Item* New(const index::LookupKey& wanted, std::string_view record) noexcept {
    const std::string_view key = wanted.key;
    void* memory = std::malloc(sizeof(Item) + key.size() + record.size());
    if (memory == nullptr) return nullptr;
    auto* item = ::new (memory) Item{nullptr, wanted.hash, 0, 0};
    item->key_bytes = static_cast<uint32_t>(key.size());
    item->record_bytes = static_cast<uint32_t>(record.size());
    char* at = reinterpret_cast<char*>(item + 1);
    if (!key.empty()) std::memcpy(at, key.data(), key.size());
    std::memcpy(at + key.size(), record.data(), record.size());
    return item;
  }
};

RecordCache::RecordCache(uint64_t bytes)
    : shards_(std::bit_floor(std::clamp<uint64_t>(bytes / kShardBytes, 1, kMostShards))),
      buckets_a_shard_(std::max<uint64_t>(bytes / kBytesABucket / shards_.size(), 1)),
      lines_a_shard_(std::max<uint64_t>(bytes / kBytesALine / shards_.size(), 1)),
      buckets_(buckets_a_shard_ * shards_.size()),
      counters_(lines_a_shard_ * shards_.size()) {
  if (!buckets_.ok() || !counters_.ok()) throw std::bad_alloc();
  SetLimit(bytes);
}

RecordCache::~RecordCache() { SetLimit(0); }

RecordCache::Item* RecordCache::FindItem(const index::LookupKey& key) const noexcept {
  Item* item = buckets_[BucketOf(key.hash)].first;
  while (item != nullptr && (item->hash != key.hash || item->key() != key.key)) {
    item = item->next_in_bucket;
  }
  return item;
}

/// Of a key, two: keys that share one of them with it seldom share both.
RecordCache::Counters RecordCache::CountersOf(uint64_t hash) noexcept {
  constexpr uint64_t kLast = sizeof(CounterLine) - 1;
  CounterLine& line = counters_[LineOf(hash)];
  return {line.reads[hash >> 8 & kLast], line.reads[hash >> 16 & kLast]};
}

uint8_t RecordCache::ReadsOf(uint64_t hash) noexcept {
  const Counters both = CountersOf(hash);
  return std::min(both.one, both.other);
}

/// One more read of a key, here or in a table.
void RecordCache::Count(Shard* shard, uint64_t hash) noexcept {
  const Counters both = CountersOf(hash);
  const uint8_t reads = std::min(both.one, both.other);
  if (reads < std::numeric_limits<uint8_t>::max()) {
    both.one = std::max<uint8_t>(both.one, reads + 1);
    both.other = std::max<uint8_t>(both.other, reads + 1);
  }
  if (++shard->counted < kReadsACounter * lines_a_shard_ * sizeof(CounterLine)) return;
  shard->counted = 0;
  const uint64_t first = ShardNumber(hash) * lines_a_shard_;
  for (uint64_t i = first; i < first + lines_a_shard_; ++i) {
    for (uint8_t& one : counters_[i].reads) one /= 2;
  }
}

bool RecordCache::Find(const index::LookupKey& key, Found* found) {
  Shard& shard = ShardOf(key.hash);
  const base::MutexLock lock(shard.mutex);
  if (limit_a_shard_.load(std::memory_order_relaxed) == 0) return false;
  Count(&shard, key.hash);
  Item* const item = FindItem(key);
  if (item == nullptr) return false;
  found->Copy(item->record());
  return true;
}

void RecordCache::Offer(const index::LookupKey& key, const Found& found,
                        const std::atomic<uint64_t>& moves, uint64_t seen) noexcept {
  const std::string_view record = found.bytes();
  BRAID_DCHECK(record.size() >= sizeof(RecordHead));
  Shard& shard = ShardOf(key.hash);
  const base::MutexLock lock(shard.mutex);
  // A move counts before it takes this lock to forget the old record: so it either finds what is
  // kept here, or is found to have begun.
  if (moves.load() != seen) return;
  const uint64_t limit = limit_a_shard_.load(std::memory_order_relaxed);
  const uint64_t bytes = Item::Bytes(key.key.size(), record.size());
  if (bytes > limit / kLargestPart || FindItem(key) != nullptr) return;
  if (!MakeRoom(&shard, limit - bytes, key.hash)) return;
  Item* const item = Item::New(key, record);
  if (item != nullptr) Insert(&shard, item);
  BRAID_DCHECK(shard.used <= limit);  // invariant 2
}

/// Of the next bucket that has any, the one that is read least. A shard that uses something has
/// one.
RecordCache::Item* RecordCache::NextInTurn(Shard* shard) noexcept {
  BRAID_DCHECK(shard->used > 0);
  const uint64_t first = static_cast<uint64_t>(shard - shards_.data()) * buckets_a_shard_;
  Item* least = nullptr;
  while (least == nullptr) {
    shard->hand = shard->hand + 1 < buckets_a_shard_ ? shard->hand + 1 : 0;
    least = buckets_[first + shard->hand].first;
  }
  for (Item* item = least->next_in_bucket; item != nullptr; item = item->next_in_bucket) {
    if (ReadsOf(item->hash) < ReadsOf(least->hash)) least = item;
  }
  return least;
}

/// Until at most `most` bytes are used. False: what would have to go is read as much as the
/// newcomer.
bool RecordCache::MakeRoom(Shard* shard, uint64_t most, uint64_t hash) noexcept {
  while (shard->used > most) {
    const uint8_t reads = ReadsOf(hash);
    // What is here was read, too; and a look at it is a wait for memory.
    if (reads <= 1) return false;
    if (shard->refuses > 0 && reads <= shard->refused) {
      --shard->refuses;
      return false;
    }
    Item* const next = NextInTurn(shard);
    shard->refused = ReadsOf(next->hash);
    shard->refuses = kRefusedAtOnce;
    if (shard->refused >= reads) return false;
    Remove(shard, next);
    shard->refuses = 0;
  }
  return true;
}

void RecordCache::Insert(Shard* shard, Item* item) noexcept {
  Bucket& bucket = buckets_[BucketOf(item->hash)];
  item->next_in_bucket = bucket.first;
  bucket.first = item;
  shard->used += item->bytes();
  used_.fetch_add(item->bytes(), std::memory_order_relaxed);
}

void RecordCache::Remove(Shard* shard, Item* item) noexcept {
  Item** at = &buckets_[BucketOf(item->hash)].first;
  while (*at != item) at = &(*at)->next_in_bucket;
  *at = item->next_in_bucket;
  BRAID_DCHECK(shard->used >= item->bytes() && used_bytes() >= item->bytes());  // invariant 2
  shard->used -= item->bytes();
  used_.fetch_sub(item->bytes(), std::memory_order_relaxed);
  std::free(item);
}

void RecordCache::Forget(const index::LookupKey& key) noexcept {
  Shard& shard = ShardOf(key.hash);
  const base::MutexLock lock(shard.mutex);
  if (Item* const item = FindItem(key); item != nullptr) Remove(&shard, item);
}

void RecordCache::SetLimit(uint64_t bytes) noexcept {
  const uint64_t tables =
      shards_.size() * (buckets_a_shard_ * sizeof(Bucket) + lines_a_shard_ * sizeof(CounterLine));
  const uint64_t records = bytes - std::min(bytes, tables);
  const uint64_t limit = records / shards_.size();
  limit_a_shard_.store(limit, std::memory_order_relaxed);
  for (Shard& shard : shards_) {
    const base::MutexLock lock(shard.mutex);
    while (shard.used > limit) Remove(&shard, NextInTurn(&shard));
  }
}

}  // namespace braid::tier
