// Purpose: the lists of a pool's free chunks.
// Thread safety, invariants, persistence: see free_chunks.h.
#include "pool/free_chunks.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace braid::pool {

void FreeChunks::Reserve(uint32_t region, uint64_t chunks) {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  Region& of = regions_[region];
  for (std::vector<uint64_t>* list : {&of.free, &of.holes, &of.aside}) list->reserve(chunks);
}

void FreeChunks::Add(uint32_t region, uint64_t chunks, const std::vector<uint64_t>& free,
                     bool holes) {
  BRAID_DCHECK(region < format::kMaxRegions && free.size() <= chunks);
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t>& list = holes ? regions_[region].holes : regions_[region].free;
  list.insert(list.end(), free.begin(), free.end());
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
  std::vector<uint64_t>& list = regions_[region].free;
  BRAID_DCHECK(list.size() + free.size() <= list.capacity());  // invariant 2
  list.insert(list.begin(), free.begin(), free.end());
  BRAID_DCHECK(unlisted_ >= free.size());
  unlisted_ -= free.size();
}

uint64_t FreeChunks::ReserveFor(AllocationClass allocation, uint64_t more_logs) const noexcept {
  // A full pool must still take deletes, and collection must still be able to copy.
  // Relaxed: set before anybody writes.
  uint64_t whole = std::clamp<uint64_t>(chunks_ / 32, 4, 64);
  if (const uint64_t lists = most_lists_.load(std::memory_order_relaxed); lists != 0) {
    whole = std::max(2 * whole, 4 * chunks_ / lists);
  }
  // So must a flush that copies. Copies have towers, and another order may leave half of each chunk
  // unused. What the flush under way has taken it needs no more. Relaxed: counts; a flush that
  // finds too little waits.
  const uint64_t all = write_ahead_.load(std::memory_order_relaxed);
  const uint64_t logs = all - std::min(all, leaving_.load(std::memory_order_relaxed)) + more_logs;
  const uint64_t most = most_copies_.load(std::memory_order_relaxed);
  const uint64_t wanted = most >= 2 * logs ? 2 * logs : std::min(2 * logs, most + logs / 8);
  const uint64_t copies = wanted - std::min(wanted, copied_.load(std::memory_order_relaxed));
  switch (allocation) {
    case AllocationClass::kWrite:
      return whole + copies;
    case AllocationClass::kDelete:
      return whole / 2 + copies;
    case AllocationClass::kBackground:
    case AllocationClass::kFlush:
      break;
  }
  return 0;
}

uint64_t FreeChunks::Count() const noexcept {
  uint64_t count = 0;
  for (const Region& region : regions_) count += region.all();
  BRAID_DCHECK(count + unlisted_ < chunks_);  // some hold headers
  return count;
}

uint64_t FreeChunks::Resident() const noexcept {
  uint64_t count = 0;
  for (const Region& region : regions_) count += region.free.size();
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

void FreeChunks::Sort(std::vector<uint64_t>* chunks) {
  std::sort(chunks->begin(), chunks->end(), std::greater<>());
  // Invariant 1.
  BRAID_DCHECK(std::adjacent_find(chunks->begin(), chunks->end()) == chunks->end());
}

/// The shortest run of free chunks that will do: its place in a sorted list. Long ones stay for
/// larger values. A run can't cross segments: meta chunks lie between them.
std::optional<size_t> FreeChunks::FindRun(const std::vector<uint64_t>& sorted, uint64_t count,
                                          bool kept_too) const {
  BRAID_DCHECK(count > 0);
  std::optional<size_t> best;
  uint64_t best_length = ~0ull;
  uint64_t length = 0;
  for (size_t i = sorted.size(); i-- > 0;) {
    const bool counts = kept_too || !IsKept(sorted[i]);
    const bool goes_on = length != 0 && sorted[i] == sorted[i + 1] + 1;
    length = !counts ? 0 : goes_on ? length + 1 : 1;
    const bool ends =
        i == 0 || sorted[i - 1] != sorted[i] + 1 || (!kept_too && IsKept(sorted[i - 1]));
    if (!ends || length < count || length >= best_length) continue;
    best_length = length;
    best = i + (length - count);  // its lowest chunks
  }
  return best;
}

std::optional<uint64_t> FreeChunks::Take(uint64_t count, uint32_t region,
                                         AllocationClass allocation) {
  BRAID_DCHECK(count > 0 && region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t>& free = regions_[region].free;
  const bool takes_kept = count > 1 && allocation != AllocationClass::kBackground &&
                          kept_.count != 0 && kept_.free == kept_.count;
  const uint64_t out_of_reach = takes_kept ? 0 : kept_.free;
  if (Resident() < count + ReserveFor(allocation) + out_of_reach) return std::nullopt;
  const uint64_t here = kept_.count != 0 && kept_.region == region ? out_of_reach : 0;
  if (free.size() < count + here) return std::nullopt;
  if (count == 1) {
    // Relaxed: counts.
    (allocation == AllocationClass::kFlush ? copied_ : taken_)
        .fetch_add(1, std::memory_order_relaxed);
    return TakeOne(&free);
  }
  BRAID_DCHECK(allocation != AllocationClass::kFlush);  // copies are of one chunk each
  Sort(&free);
  std::optional<size_t> at = FindRun(free, count, false);
  if (!at && takes_kept) {
    at = FindRun(free, count, true);
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
  std::vector<uint64_t>& free = regions_[region].free;
  BRAID_DCHECK(free.size() < free.capacity());  // invariant 2
  free.push_back(chunk);
  if (IsKept(chunk)) ++kept_.free;
  BRAID_DCHECK(kept_.free <= kept_.count);
}

/// Takes `chunks` out of `from`, one of the region's lists.
FreeChunks::Aside FreeChunks::MoveAside(Region* region, std::vector<uint64_t>* from, Aside chunks) {
  if (chunks.empty()) return chunks;
  std::sort(chunks.begin(), chunks.end());
  const size_t before = from->size();
  std::erase_if(*from, [&](uint64_t chunk) {
    return std::binary_search(chunks.begin(), chunks.end(), chunk);
  });
  BRAID_DCHECK(before - from->size() == chunks.size());
  // Invariant 2.
  BRAID_DCHECK(region->aside.size() + chunks.size() <= region->aside.capacity());
  region->aside.insert(region->aside.end(), chunks.begin(), chunks.end());
  return chunks;
}

FreeChunks::Aside FreeChunks::SetColdAside(uint32_t region, uint64_t most, uint64_t keep) {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  Region& of = regions_[region];
  if (of.free.size() <= keep) return {};
  most = std::min<uint64_t>(most, of.free.size() - keep);
  Aside chunks;
  for (size_t i = 0; i < of.free.size() && chunks.size() < most; ++i) {
    if (!IsKept(of.free[i])) chunks.push_back(of.free[i]);
  }
  return MoveAside(&of, &of.free, std::move(chunks));
}

FreeChunks::Aside FreeChunks::SetHolesAside(uint32_t region, uint64_t most) {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  Region& of = regions_[region];
  const auto count = static_cast<ptrdiff_t>(std::min<uint64_t>(most, of.holes.size()));
  return MoveAside(&of, &of.holes, Aside(of.holes.end() - count, of.holes.end()));
}

FreeChunks::Aside FreeChunks::SetHolesOfRunAside(uint64_t first, uint64_t count, uint32_t region) {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  Region& of = regions_[region];
  Aside chunks;
  for (const uint64_t chunk : of.holes) {
    if (chunk - first < count) chunks.push_back(chunk);
  }
  return MoveAside(&of, &of.holes, std::move(chunks));
}

std::vector<uint64_t> FreeChunks::FreeAndHoles(const Region& region) const {
  std::vector<uint64_t> chunks;
  chunks.reserve(region.free.size() + region.holes.size());
  chunks.insert(chunks.end(), region.free.begin(), region.free.end());
  chunks.insert(chunks.end(), region.holes.begin(), region.holes.end());
  Sort(&chunks);
  return chunks;
}

FreeChunks::Missing FreeChunks::SetMissingAside(uint64_t count, uint32_t region,
                                                AllocationClass allocation) {
  BRAID_DCHECK(count > 0 && region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  Region& of = regions_[region];
  // As Take reckons.
  const bool takes_kept = count > 1 && allocation != AllocationClass::kBackground &&
                          kept_.count != 0 && kept_.free == kept_.count;
  const uint64_t out_of_reach = takes_kept ? 0 : kept_.free;
  const uint64_t here = kept_.count != 0 && kept_.region == region ? out_of_reach : 0;
  const uint64_t wanted = count + ReserveFor(allocation) + out_of_reach;
  const uint64_t resident = Resident();
  uint64_t holes = 0;
  for (const Region& each : regions_) holes += each.holes.size();
  if (resident + holes < wanted || of.free.size() + of.holes.size() < count + here) return {};
  uint64_t missing = wanted > resident ? wanted - resident : 0;
  if (of.free.size() < count + here) missing = std::max(missing, count + here - of.free.size());
  Aside chunks;
  if (count > 1) {
    const std::vector<uint64_t> sorted = FreeAndHoles(of);
    std::optional<size_t> at = FindRun(sorted, count, false);
    if (!at && takes_kept) at = FindRun(sorted, count, true);
    if (!at) return {};
    const uint64_t first = sorted[*at] + 1 - count;
    std::copy_if(of.holes.begin(), of.holes.end(), std::back_inserter(chunks),
                 [&](uint64_t chunk) { return chunk - first < count; });
  }
  // Some more, so that not each chunk that is taken costs a system call.
  constexpr uint64_t kMore = 3;
  if (count == 1 && missing != 0) missing += kMore;
  for (size_t i = of.holes.size(); i-- > 0 && chunks.size() < missing;) {
    if (std::find(chunks.begin(), chunks.end(), of.holes[i]) == chunks.end()) {
      chunks.push_back(of.holes[i]);
    }
  }
  if (!chunks.empty() || missing == 0)
    return {MoveAside(&of, &of.holes, std::move(chunks)), region};
  // Here is all that is to be had here, but too little for those for whom some must be left.
  for (uint32_t other = 0; other < format::kMaxRegions; ++other) {
    std::vector<uint64_t>& from = regions_[other].holes;
    if (from.empty()) continue;
    const auto some = static_cast<ptrdiff_t>(std::min<uint64_t>(missing, from.size()));
    return {MoveAside(&regions_[other], &from, Aside(from.end() - some, from.end())), other};
  }
  return {};
}

void FreeChunks::PutBack(const Aside& chunks, uint32_t region, bool holes) noexcept {
  BRAID_DCHECK(region < format::kMaxRegions && std::is_sorted(chunks.begin(), chunks.end()));
  const base::MutexLock lock(mutex_);
  Region& of = regions_[region];
  BRAID_DCHECK(of.aside.size() >= chunks.size());
  std::erase_if(of.aside, [&](uint64_t chunk) {
    return std::binary_search(chunks.begin(), chunks.end(), chunk);
  });
  std::vector<uint64_t>& list = holes ? of.holes : of.free;
  BRAID_DCHECK(list.size() + chunks.size() <= list.capacity());  // invariant 2
  // Behind all others, the lowest last: it is taken first.
  list.insert(list.end(), chunks.rbegin(), chunks.rend());
  ++times_put_back_;
  put_back_.NotifyAll();
  if (holes) return;
  for (const uint64_t chunk : chunks) kept_.free += IsKept(chunk) ? 1 : 0;
  BRAID_DCHECK(kept_.free <= kept_.count);
}

uint64_t FreeChunks::times_put_back() const noexcept {
  const base::MutexLock lock(mutex_);
  return times_put_back_;
}

bool FreeChunks::AwaitPutBack(uint64_t times) noexcept {
  const base::MutexLock lock(mutex_);
  while (times_put_back_ == times) {
    const bool any = std::any_of(regions_.begin(), regions_.end(),
                                 [](const Region& region) { return !region.aside.empty(); });
    if (!any) return false;
    put_back_.Wait(mutex_);
  }
  return true;
}

void FreeChunks::RemoveWriteAhead() noexcept {
  BRAID_DCHECK(write_ahead() > 0);  // this one is counted
  // Which one it is, is not known. Mostly it is one that was copied; where it is not, more is kept
  // than is needed, never less.
  uint64_t leaving = leaving_.load(std::memory_order_relaxed);
  while (leaving != 0 && !leaving_.compare_exchange_weak(leaving, leaving - 1)) {
  }
  write_ahead_.fetch_sub(1, std::memory_order_relaxed);
}

void FreeChunks::EndCopies(uint64_t copied) noexcept {
  copied_.store(0, std::memory_order_relaxed);
  leaving_.fetch_add(copied, std::memory_order_relaxed);
}

void FreeChunks::NoteFill(bool had_pages) noexcept {
  const base::MutexLock lock(mutex_);
  holes_refused_ = !had_pages;
}

void FreeChunks::KeepRun(uint64_t first, uint64_t count, uint32_t region) {
  BRAID_DCHECK(count > 0 && region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  kept_ = {first, count, 0, region};
  for (const uint64_t chunk : regions_[region].free) kept_.free += IsKept(chunk) ? 1 : 0;
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
  if (Usable() < count + ReserveFor(AllocationClass::kWrite) + out_of_reach) return false;
  for (Region& region : regions_) {
    Sort(&region.free);
    const auto found = region.holes.empty() || holes_refused_
                           ? FindRun(region.free, count, kept_too)
                           : FindRun(FreeAndHoles(region), count, kept_too);
    if (found) return true;
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
  return regions_[region].all();
}

uint64_t FreeChunks::resident_of(uint32_t region) const {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  return regions_[region].free.size();
}

uint64_t FreeChunks::holes_of(uint32_t region) const {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  return regions_[region].holes.size();
}

uint64_t FreeChunks::holes() const {
  const base::MutexLock lock(mutex_);
  uint64_t count = 0;
  for (const Region& region : regions_) count += region.holes.size();
  return count;
}

std::vector<uint64_t> FreeChunks::HolesIn(uint64_t first, uint64_t count, uint32_t region) const {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t> chunks;
  for (const std::vector<uint64_t>* list : {&regions_[region].holes, &regions_[region].aside}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(chunks),
                 [&](uint64_t chunk) { return chunk - first < count; });
  }
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

int64_t FreeChunks::spare() const {
  const base::MutexLock lock(mutex_);
  return static_cast<int64_t>(Usable()) - static_cast<int64_t>(ReserveFor(AllocationClass::kWrite));
}

uint64_t FreeChunks::reserve(uint64_t more) const {
  const base::MutexLock lock(mutex_);
  // Logs that wait for a flush say whether what is written is to be copied.
  return ReserveFor(AllocationClass::kWrite, write_ahead() != 0 ? more : 0);
}

uint64_t FreeChunks::reserve_at_rest() const {
  const base::MutexLock lock(mutex_);
  // As much as it has taken is free again with its log, or when it gives its copies back.
  return ReserveFor(AllocationClass::kWrite) + copied_.load(std::memory_order_relaxed);
}

uint64_t FreeChunks::used() const {
  const base::MutexLock lock(mutex_);
  return chunks_ - Count() - unlisted_;
}

std::vector<uint64_t> FreeChunks::ListOf(uint32_t region) const {
  BRAID_DCHECK(region < format::kMaxRegions);
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t> chunks = FreeAndHoles(regions_[region]);
  chunks.insert(chunks.end(), regions_[region].aside.begin(), regions_[region].aside.end());
  return chunks;
}

}  // namespace braid::pool
