// Purpose: the cache of the tier's records.
// Thread safety, invariants, persistence: see record_cache.h.
#include "tier/record_cache.h"

#include <algorithm>
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
/// A bucket and a counter for so many bytes: more buckets than records, which have more bytes than
/// this with what they cost, and of counters enough to tell records from each other.
constexpr uint64_t kBytesABucket = 256;
constexpr uint64_t kBytesACounter = 64;
/// After so many reads for each counter all are halved: what was read long ago counts less.
constexpr uint64_t kReadsACounter = 4;
/// Of a shard one record may take this part.
constexpr uint64_t kLargestPart = 8;
/// Records that the hand passes, at most, because they were read since it came by.
constexpr int kMostPassed = 16;
/// What the allocator takes for each record beyond what it is asked for.
constexpr uint64_t kAllocated = 16;
}  // namespace

/// A record and its key, behind this head.
struct RecordCache::Item {
  Item* next_in_bucket;
  Item* before;  // in the ring
  Item* after;
  uint64_t hash;
  uint32_t key_bytes;
  uint32_t record_bytes;
  bool was_read;  // since the hand came by

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
    auto* item = ::new (memory) Item{nullptr, nullptr, nullptr, wanted.hash, 0, 0, false};
    item->key_bytes = static_cast<uint32_t>(key.size());
    item->record_bytes = static_cast<uint32_t>(record.size());
    char* at = reinterpret_cast<char*>(item + 1);
    if (!key.empty()) std::memcpy(at, key.data(), key.size());
    std::memcpy(at + key.size(), record.data(), record.size());
    return item;
  }
};

RecordCache::RecordCache(uint64_t bytes)
    : shards_(std::clamp<uint64_t>(bytes / kShardBytes, 1, kMostShards)),
      buckets_a_shard_(std::max<uint64_t>(bytes / kBytesABucket / shards_.size(), 1)),
      counters_a_shard_(std::max<uint64_t>(bytes / kBytesACounter / shards_.size(), 1)),
      buckets_(buckets_a_shard_ * shards_.size()),
      counters_(counters_a_shard_ * shards_.size()) {
  if (!buckets_.ok() || !counters_.ok()) throw std::bad_alloc();
  SetLimit(bytes);
}

RecordCache::~RecordCache() { SetLimit(0); }

uint64_t RecordCache::BucketOf(uint64_t hash) const noexcept {
  return hash % shards_.size() * buckets_a_shard_ + (hash >> 16) % buckets_a_shard_;
}

RecordCache::Item* RecordCache::FindItem(const index::LookupKey& key) const noexcept {
  Item* item = buckets_[BucketOf(key.hash)].first;
  while (item != nullptr && (item->hash != key.hash || item->key() != key.key)) {
    item = item->next_in_bucket;
  }
  return item;
}

/// Of a key, two: keys that share one of them with it seldom share both.
RecordCache::Counters RecordCache::CountersOf(uint64_t hash) noexcept {
  const uint64_t first = hash % shards_.size() * counters_a_shard_;
  return {counters_[first + (hash >> 8) % counters_a_shard_],
          counters_[first + (hash >> 32) % counters_a_shard_]};
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
  if (++shard->counted < kReadsACounter * counters_a_shard_) return;
  shard->counted = 0;
  const uint64_t first = hash % shards_.size() * counters_a_shard_;
  for (uint64_t i = first; i < first + counters_a_shard_; ++i) counters_[i] /= 2;
}

bool RecordCache::Find(const index::LookupKey& key, Found* found) {
  Shard& shard = ShardOf(key.hash);
  const base::MutexLock lock(shard.mutex);
  if (shard.limit == 0) return false;
  Count(&shard, key.hash);
  Item* const item = FindItem(key);
  if (item == nullptr) return false;
  item->was_read = true;
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
  const uint64_t bytes = Item::Bytes(key.key.size(), record.size());
  if (bytes > shard.limit / kLargestPart || FindItem(key) != nullptr) return;
  if (!MakeRoom(&shard, bytes, key.hash)) return;
  Item* const item = Item::New(key, record);
  if (item != nullptr) Insert(&shard, item);
}

/// False: what would have to go is read as much as the newcomer.
bool RecordCache::MakeRoom(Shard* shard, uint64_t bytes, uint64_t hash) noexcept {
  BRAID_DCHECK(bytes <= shard->limit);
  int passed = 0;
  while (shard->used + bytes > shard->limit) {
    Item* const oldest = shard->hand;
    BRAID_DCHECK(oldest != nullptr);  // it uses something
    shard->hand = oldest->after;
    if (oldest->was_read && ++passed <= kMostPassed) {
      oldest->was_read = false;
      continue;
    }
    if (ReadsOf(oldest->hash) >= ReadsOf(hash)) return false;
    Remove(shard, oldest);
  }
  return true;
}

void RecordCache::Insert(Shard* shard, Item* item) noexcept {
  Bucket& bucket = buckets_[BucketOf(item->hash)];
  item->next_in_bucket = bucket.first;
  bucket.first = item;
  if (shard->hand == nullptr) {
    shard->hand = item->before = item->after = item;
  } else {
    // Where the hand comes last.
    item->after = shard->hand;
    item->before = shard->hand->before;
    item->before->after = item->after->before = item;
  }
  shard->used += item->bytes();
  used_.fetch_add(item->bytes(), std::memory_order_relaxed);
  BRAID_DCHECK(shard->used <= shard->limit);  // invariant 2
}

void RecordCache::Remove(Shard* shard, Item* item) noexcept {
  Item** at = &buckets_[BucketOf(item->hash)].first;
  while (*at != item) at = &(*at)->next_in_bucket;
  *at = item->next_in_bucket;
  if (shard->hand == item) shard->hand = item->after == item ? nullptr : item->after;
  item->before->after = item->after;
  item->after->before = item->before;
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
      shards_.size() * (buckets_a_shard_ * sizeof(Bucket) + counters_a_shard_ * sizeof(uint8_t));
  const uint64_t records = bytes - std::min(bytes, tables);
  for (Shard& shard : shards_) {
    const base::MutexLock lock(shard.mutex);
    shard.limit = records / shards_.size();
    while (shard.used > shard.limit) Remove(&shard, shard.hand);
  }
}

}  // namespace braid::tier
