// Purpose: the lists of a pool's free chunks.
// Thread safety, invariants, persistence: see free_chunks.h.
#include "pool/free_chunks.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace braid::pool {

void FreeChunks::Reserve(uint32_t region, uint64_t chunks) {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  free_[region].reserve(chunks);
}

void FreeChunks::Add(uint32_t region, uint64_t chunks, const std::vector<uint64_t>& free) {
  BRAID_DCHECK(region < format::kMaxRegions && free.size() <= chunks);
  const base::MutexLock lock(mutex_);
  free_[region].insert(free_[region].end(), free.begin(), free.end());
  chunks_ += chunks;
}

void FreeChunks::Announce(uint64_t chunks, uint64_t free) noexcept {
  BRAID_DCHECK(free <= chunks);
  const base::MutexLock lock(mutex_);
  chunks_ += chunks;
  unlisted_ += free;
}

void FreeChunks::List(uint32_t region, const std::vector<uint64_t>& free) noexcept {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(free_[region].size() + free.size() <= free_[region].capacity());  // invariant 2
  free_[region].insert(free_[region].begin(), free.begin(), free.end());
  BRAID_DCHECK(unlisted_ >= free.size());
  unlisted_ -= free.size();
}

uint64_t FreeChunks::ReserveFor(AllocationClass allocation) const noexcept {
  // A full pool must still take deletes, and collection must still be able to copy.
  const uint64_t whole = std::clamp<uint64_t>(chunks_ / 32, 4, 64);
  // So must a flush that copies. Copies have towers, and another order may leave half of each chunk
  // unused. Relaxed: a count; a flush that finds too little waits.
  const uint64_t copies = std::min(2 * write_ahead_.load(std::memory_order_relaxed),
                                   most_copies_.load(std::memory_order_relaxed));
  switch (allocation) {
    case AllocationClass::kWrite:
      return whole + copies;
    case AllocationClass::kDelete:
      return whole / 2 + copies;
    case AllocationClass::kBackground:
      break;
  }
  return 0;
}

uint64_t FreeChunks::Count() const noexcept {
  uint64_t count = 0;
  for (const std::vector<uint64_t>& chunks : free_) count += chunks.size();
  BRAID_DCHECK(count + unlisted_ < chunks_);  // some hold headers
  return count;
}

/// The last one that is not kept for a large value; there is one.
uint64_t FreeChunks::TakeOne(std::vector<uint64_t>* free) {
  BRAID_DCHECK(!free->empty());
  auto at = free->end() - 1;
  while (IsKept(*at)) {
    BRAID_DCHECK(at != free->begin());
    --at;
  }
  const uint64_t chunk = *at;
  *at = free->back();
  free->pop_back();
  return chunk;
}

/// The shortest run of free chunks that will do: its place in the free list, which is sorted. Long
/// ones stay for larger values. A run can't cross segments: meta chunks lie between them.
std::optional<size_t> FreeChunks::FindRun(uint64_t count, uint32_t region, bool kept_too) {
  std::vector<uint64_t>& free = free_[region];
  BRAID_DCHECK(count > 0 && region < format::kMaxRegions);
  std::sort(free.begin(), free.end(), std::greater<>());
  BRAID_DCHECK(std::adjacent_find(free.begin(), free.end()) == free.end());  // invariant 1
  std::optional<size_t> best;
  uint64_t best_length = ~0ull;
  uint64_t length = 0;
  for (size_t i = free.size(); i-- > 0;) {
    const bool counts = kept_too || !IsKept(free[i]);
    const bool goes_on = length != 0 && free[i] == free[i + 1] + 1;
    length = !counts ? 0 : goes_on ? length + 1 : 1;
    const bool ends = i == 0 || free[i - 1] != free[i] + 1 || (!kept_too && IsKept(free[i - 1]));
    if (!ends || length < count || length >= best_length) continue;
    best_length = length;
    best = i + (length - count);  // its lowest chunks
  }
  return best;
}

std::optional<uint64_t> FreeChunks::Take(uint64_t count, uint32_t region,
                                         AllocationClass allocation) {
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t>& free = free_[region];
  const bool takes_kept = count > 1 && allocation != AllocationClass::kBackground &&
                          kept_.count != 0 && kept_.free == kept_.count;
  const uint64_t out_of_reach = takes_kept ? 0 : kept_.free;
  if (Count() < count + ReserveFor(allocation) + out_of_reach) return std::nullopt;
  const uint64_t here = kept_.count != 0 && kept_.region == region ? out_of_reach : 0;
  if (free.size() < count + here) return std::nullopt;
  if (count == 1) {
    taken_.fetch_add(count, std::memory_order_relaxed);
    return TakeOne(&free);
  }
  std::optional<size_t> at = FindRun(count, region, false);
  if (!at && takes_kept) {
    at = FindRun(count, region, true);
    if (at) kept_ = {};  // it has served
  }
  if (!at) return std::nullopt;
  taken_.fetch_add(count, std::memory_order_relaxed);
  BRAID_DCHECK(*at + count <= free.size() && free[*at + count - 1] + count == free[*at] + 1);
  const uint64_t first = free[*at] + 1 - count;
  free.erase(free.begin() + static_cast<ptrdiff_t>(*at),
             free.begin() + static_cast<ptrdiff_t>(*at + count));
  return first;
}

void FreeChunks::GiveBack(uint64_t chunk, uint32_t region) noexcept {
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t>& free = free_[region];
  BRAID_DCHECK(free.size() < free.capacity());  // invariant 2
  free.push_back(chunk);
  if (IsKept(chunk)) ++kept_.free;
  BRAID_DCHECK(kept_.free <= kept_.count);
}

void FreeChunks::RemoveWriteAhead() noexcept {
  BRAID_DCHECK(write_ahead() > 0);  // this one is counted
  write_ahead_.fetch_sub(1, std::memory_order_relaxed);
}

void FreeChunks::KeepRun(uint64_t first, uint64_t count, uint32_t region) {
  BRAID_DCHECK(count > 0 && region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  kept_ = {first, count, 0, region};
  for (const uint64_t chunk : free_[region]) kept_.free += IsKept(chunk) ? 1 : 0;
  BRAID_DCHECK(kept_.free <= kept_.count);
}

void FreeChunks::LetRunGo() noexcept {
  const base::MutexLock lock(mutex_);
  kept_ = {};
}

bool FreeChunks::HasRun(uint64_t count) {
  BRAID_DCHECK(count > 0);
  const base::MutexLock lock(mutex_);
  const bool kept_too = kept_.free == kept_.count;
  const uint64_t out_of_reach = kept_too ? 0 : kept_.free;
  if (Count() < count + ReserveFor(AllocationClass::kWrite) + out_of_reach) return false;
  for (uint32_t region = 0; region < format::kMaxRegions; ++region) {
    if (FindRun(count, region, kept_too)) return true;
  }
  return false;
}

uint64_t FreeChunks::free() const {
  const base::MutexLock lock(mutex_);
  return Count();
}

uint64_t FreeChunks::free_of(uint32_t region) const {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  return free_[region].size();
}

int64_t FreeChunks::spare() const {
  const base::MutexLock lock(mutex_);
  return static_cast<int64_t>(Count()) - static_cast<int64_t>(ReserveFor(AllocationClass::kWrite));
}

uint64_t FreeChunks::used() const {
  const base::MutexLock lock(mutex_);
  return chunks_ - Count() - unlisted_;
}

std::vector<uint64_t> FreeChunks::ListOf(uint32_t region) const {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  return free_[region];
}

}  // namespace braid::pool
