// Purpose: the lookup cache. Thread safety, invariants, persistence: see lookup_cache.h.
#include "cache/lookup_cache.h"

#include <algorithm>

#include "base/mutants.h"
#include "index/entry_tree.h"

namespace braid::cache {

using format::EntryHeader;
using index::LookupResult;

LookupCache::LookupCache(const pmem::PmemPool* pool, uint64_t bytes)
    : pool_(pool), count_(std::max<uint64_t>(bytes / sizeof(uint64_t), 1)), buckets_(count_) {}

LookupResult LookupCache::Find(const index::LookupKey& key,
                               const index::ReadView& view) const noexcept {
  // Acquire pairs with the release in Fill: the entry behind the word is complete.
  const uint64_t word = buckets_[BucketOf(key.hash)].load(std::memory_order_acquire);
  const LookupResult result = Judge(word, key, view);
  counters_.Add(result.state == LookupResult::State::kAbsent ? Counter::kMisses : Counter::kHits);
  return result;
}

LookupResult LookupCache::Judge(uint64_t word, const index::LookupKey& key,
                                const index::ReadView& view) const noexcept {
  const uint64_t offset = word & format::kOffsetMask;
  if (word == 0 || word != WordOf(key.hash, offset)) return {};
  const EntryHeader* entry = pool_->EntryAt(offset);
  if (entry == nullptr || (entry->key() != key.key && !BRAID_MUTANT(kLookupKeyNotCompared))) {
    return {};
  }
  const uint64_t hash = BRAID_MUTANT(kLookupKeyNotCompared) ? base::Hash64(entry->key()) : key.hash;
  if (!index::KeyIsIntact(*pool_, *entry, offset, hash)) return {};
  if (entry->state() != format::kStateLive) return {};
  if (!view.Sees(*entry) && !BRAID_MUTANT(kLookupIgnoresView)) return {};
  return {entry->op() == format::EntryOp::kDelete ? LookupResult::State::kDeleted
                                                  : LookupResult::State::kFound,
          offset};
}

void LookupCache::Fill(uint64_t hash, uint64_t offset) noexcept {
  std::atomic<uint64_t>& bucket = buckets_[BucketOf(hash)];
  if (BRAID_MUTANT(kLookupKeepsOlder) && bucket.load() != 0) return;
  // Release pairs with Find; acquire is not needed, the old word is only compared with zero.
  if (bucket.exchange(WordOf(hash, offset), std::memory_order_release) == 0) {
    // Relaxed: a number for statistics.
    entries_.fetch_add(1, std::memory_order_relaxed);
  }
}

void LookupCache::Forget(uint64_t hash, uint64_t offset) noexcept {
  if (BRAID_MUTANT(kLookupNotForgotten)) return;
  uint64_t word = WordOf(hash, offset);
  std::atomic<uint64_t>& bucket = buckets_[BucketOf(hash)];
  if (!Names(hash, offset)) return;
  // Relaxed: whoever must not find the word any more has waited for a grace period, or has read the
  // clock of reclamation, which is moved after this (see LsmEngine::Retire).
  if (bucket.compare_exchange_strong(word, 0, std::memory_order_relaxed)) {
    entries_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void LookupCache::Replace(uint64_t hash, uint64_t from, uint64_t to) noexcept {
  uint64_t word = WordOf(hash, from);
  // Release pairs with Find: the copy was complete before. A flush that has filled the bucket
  // meanwhile knows a newer version.
  buckets_[BucketOf(hash)].compare_exchange_strong(word, WordOf(hash, to),
                                                   std::memory_order_release);
}

void LookupCache::Clear() noexcept {
  if (BRAID_MUTANT(kLookupKeptByLoad)) return;
  for (uint64_t i = 0; i < count_; ++i) {
    // Relaxed: whoever loads the state that is stored afterwards with release sees it.
    if (buckets_[i].load(std::memory_order_relaxed) == 0) continue;
    if (buckets_[i].exchange(0, std::memory_order_relaxed) != 0) {
      entries_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace braid::cache
