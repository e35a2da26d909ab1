// Purpose: the lookup cache.
// Thread safety, invariants, persistence: see lookup_cache.h.
#include "cache/lookup_cache.h"

#include <algorithm>

#include "base/check.h"
#include "index/entry_tree.h"

namespace braid::cache {

using format::EntryHeader;
using index::LookupResult;

LookupCache::LookupCache(const pool::PmemPool* pool, uint64_t bytes)
    : pool_(pool), count_(std::max<uint64_t>(bytes / sizeof(uint64_t), 1)), buckets_(count_) {}

LookupResult LookupCache::Find(const index::LookupKey& key,
                               const index::ReadView& view) const noexcept {
  const std::atomic<uint64_t>& bucket = buckets_[BucketOf(key.hash)];
  // Acquire pairs with KnowAll: what was filled before it is seen below.
  const uint64_t complete = complete_.load(std::memory_order_acquire);
  // Acquire pairs with the release in Fill: the entry behind the word is complete.
  const uint64_t word = bucket.load(std::memory_order_acquire);
  if (word == kNeverUsed && complete != 0) {
    // A Clear in between has made zeroes of what was known. Its release is seen by the load of the
    // zero, so its number is by this one.
    if (complete_.load(std::memory_order_acquire) == complete) {
      counters_.Add(Counter::kAbsences);
      return {LookupResult::State::kNowhere, 0, {}};
    }
  }
  const LookupResult result = Judge(word, key, view);
  counters_.Add(result.state == LookupResult::State::kAbsent ? Counter::kMisses : Counter::kHits);
  return result;
}

LookupResult LookupCache::Judge(uint64_t word, const index::LookupKey& key,
                                const index::ReadView& view) const noexcept {
  const uint64_t offset = word & format::kOffsetMask;
  if (word <= kEmptied || word != WordOf(key.hash, offset)) return {};
  // All of it side by side: header, key and value are read one after the other.
  base::PrefetchRange(pool_->At(offset), likely_bytes_.load(std::memory_order_relaxed));
  const EntryHeader* entry = pool_->EntryAt(offset);
  if (entry == nullptr || entry->key() != key.key) return {};
  if (!index::KeyIsIntact(*pool_, *entry, offset, key.hash)) return {};
  if (IsSampled(key.hash)) {
    // Relaxed: a hint.
    likely_bytes_.store(std::min(entry->size(), index::kMostFetched), std::memory_order_relaxed);
  }
  if (entry->state() != format::kStateLive) return {};
  if (!view.Sees(*entry)) return {};
  return LookupResult::Of(*entry, offset);
}

void LookupCache::Fill(uint64_t hash, uint64_t offset) noexcept {
  BRAID_DCHECK(offset % 8 == 0 && offset > kEmptied);
  std::atomic<uint64_t>& bucket = buckets_[BucketOf(hash)];
  // Release pairs with Find; acquire is not needed, the old word is only compared.
  if (bucket.exchange(WordOf(hash, offset), std::memory_order_release) <= kEmptied) {
    // Relaxed: a number for statistics.
    entries_.fetch_add(1, std::memory_order_relaxed);
  }
}

void LookupCache::FillFound(uint64_t hash, uint64_t offset) noexcept {
  BRAID_DCHECK(offset % 8 == 0 && offset > kEmptied);
  uint64_t word = kNeverUsed;
  std::atomic<uint64_t>& bucket = buckets_[BucketOf(hash)];
  // Relaxed: the exchange looks again.
  if (bucket.load(std::memory_order_relaxed) != word) return;
  // Release pairs with Find.
  if (bucket.compare_exchange_strong(word, WordOf(hash, offset), std::memory_order_release,
                                     std::memory_order_relaxed)) {
    entries_.fetch_add(1, std::memory_order_relaxed);
  }
}

void LookupCache::KnowAll() noexcept {
  // Release pairs with Find.
  complete_.store(++completions_, std::memory_order_release);
}

void LookupCache::Forget(uint64_t hash, uint64_t offset) noexcept {
  uint64_t word = WordOf(hash, offset);
  std::atomic<uint64_t>& bucket = buckets_[BucketOf(hash)];
  if (!Names(hash, offset)) return;
  // Relaxed: a thread that must not find the word any more has waited for a grace period, or has
  // read the clock of reclamation, which is moved after this (see space::Reclaimer::Retire).
  if (bucket.compare_exchange_strong(word, kEmptied, std::memory_order_relaxed)) {
    entries_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void LookupCache::Replace(uint64_t hash, uint64_t from, uint64_t to) noexcept {
  BRAID_DCHECK(to % 8 == 0 && to > kEmptied);
  uint64_t word = WordOf(hash, from);
  // Release pairs with Find: the copy was complete before. A flush that has filled the bucket
  // meanwhile knows a newer version.
  buckets_[BucketOf(hash)].compare_exchange_strong(word, WordOf(hash, to),
                                                   std::memory_order_release);
}

void LookupCache::Clear() noexcept {
  // Relaxed: the zeroes are stored with release, and a reader that loads one sees this; so does a
  // reader that loads the state that is stored with release afterwards.
  complete_.store(0, std::memory_order_relaxed);
  for (uint64_t i = 0; i < count_; ++i) {
    // Relaxed: nothing is filled meanwhile.
    if (buckets_[i].load(std::memory_order_relaxed) == kNeverUsed) continue;
    if (buckets_[i].exchange(kNeverUsed, std::memory_order_release) > kEmptied) {
      entries_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace braid::cache
