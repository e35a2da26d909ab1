// Purpose: the allocator of a pool's chunks.
// Thread safety, invariants, persistence: see pool.h.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "pool/pool.h"

namespace braid::pool {

using format::ChunkKind;
using format::ChunkState;
using format::EntryHeader;
using format::ExtentHeader;
using format::LogChunkHeader;

format::EntryHeader* PmemPool::EntryAt(uint64_t offset) noexcept {
  const uint64_t chunk = ChunkOf(offset);
  if (chunk >= chunks() || !format::HoldsEntries(StateOf(chunk).kind())) return nullptr;
  return const_cast<EntryHeader*>(EntryInChunk(offset));
}

const ExtentHeader* PmemPool::ExtentAt(uint64_t offset) const noexcept {
  const uint64_t first = ChunkOf(offset);
  if (first >= chunks() || ChunkOffset(first) != offset ||
      StateOf(first).kind() != ChunkKind::kExtentHead) {
    return nullptr;
  }
  const auto* header = reinterpret_cast<const ExtentHeader*>(At(offset));
  if (header->magic != format::kExtentMagic ||
      header->check != format::StructCheck(*header, offset) ||
      header->value_bytes > pool_bytes() - offset - sizeof(ExtentHeader) ||
      header->chunks != ExtentChunks(header->value_bytes)) {
    return nullptr;
  }
  for (uint64_t i = 1; i < header->chunks; ++i) {
    if (first + i >= chunks() || StateOf(first + i).kind() != ChunkKind::kExtentBody) {
      return nullptr;
    }
  }
  return header;
}

uint64_t PmemPool::ExtentOf(uint64_t entry) const noexcept {
  const EntryHeader* owner = EntryAt(entry);
  format::ExtentRef ref;
  if (owner == nullptr || !owner->has(format::kValueInExtent) || owner->value_bytes != sizeof ref) {
    return 0;
  }
  std::memcpy(&ref, owner->value().data(), sizeof ref);
  const ExtentHeader* extent = ExtentAt(ref.offset);
  return extent != nullptr && extent->owner == entry ? ref.offset : 0;
}

uint64_t* PmemPool::StateWord(uint64_t chunk) noexcept {
  for (size_t i = segments_.size(); i-- > 0;) {
    const Segment& segment = segments_[i];
    if (chunk >= segment.first_chunk) {
      // Behind it lies what is no state.
      BRAID_DCHECK(chunk - segment.first_chunk < segment.bytes >> chunk_shift_);
      return As<uint64_t>(segment.state_table) + (chunk - segment.first_chunk);
    }
  }
  BRAID_CHECK(false);
}

namespace {

media::Site SiteOf(ChunkKind kind) noexcept {
  switch (kind) {
    case ChunkKind::kFree:
      return media::Site::kFreeState;
    case ChunkKind::kRedo:
      return media::Site::kRedoState;
    case ChunkKind::kExtentHead:
    case ChunkKind::kExtentBody:
      return media::Site::kExtentState;
    default:
      return media::Site::kChunkState;
  }
}

}  // namespace

/// Stores the state word and flushes it; the caller fences.
void PmemPool::SetState(uint64_t chunk, ChunkKind kind, uint32_t generation) {
  uint64_t* word = nullptr;
  {
    const base::MutexLock lock(mutex_);  // segments_ may grow
    word = StateWord(chunk);
  }
  BRAID_DCHECK(format::MayBecome(StateOf(chunk).kind(), kind));
  BRAID_DCHECK(generation >= StateOf(chunk).generation());
  const ChunkState state = ChunkState::Make(kind, generation, chunk);
  BRAID_DCHECK(state.IsValid(chunk));  // or the next open would find damage
  states_[chunk].store(state.raw, std::memory_order_relaxed);
  ops_.StoreU64(word, state.raw);
  ops_.Flush(word, sizeof *word, SiteOf(kind));
}

uint64_t PmemPool::ReserveFor(AllocationClass allocation) const {
  // A full pool must still take deletes, and collection must still be able to copy.
  const uint64_t whole = std::clamp<uint64_t>(chunks() / 32, 4, 64);
  // So must a flush that copies. Copies have towers, and another order may leave half of each chunk
  // unused. Relaxed: a count; a flush that finds too little waits.
  const uint64_t copies = 2 * write_ahead_chunks_.load(std::memory_order_relaxed);
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

Status PmemPool::FullError() const {
  return Status::OutOfSpace("the pool is full at " + std::to_string(pool_bytes()) + " bytes" +
                            (max_bytes_ != 0
                                 ? " (pool.max_bytes is " + std::to_string(max_bytes_) + ")"
                                 : std::string()) +
                            "; delete keys and compact, or give it more room");
}

namespace {
/// Bytes that a pool of ordinary size keeps free, and chunks that any does.
constexpr uint64_t kUsualFree = 64ull << 20;
constexpr uint64_t kLeastFree = 8;
/// What is kept free at most, however much is wanted.
constexpr uint64_t kMostFree = 512ull << 20;
}  // namespace

bool PmemPool::GrowAhead(uint64_t demand) {
  demand = std::min(demand, kMostFree >> chunk_shift_);
  std::optional<uint32_t> wanting;
  {
    const base::MutexLock lock(mutex_);
    if (max_bytes_ != 0 && pool_bytes() + 4 * chunk_bytes() > max_bytes_) return false;
    for (uint32_t region = 0; region < regions_ && !wanting; ++region) {
      const uint64_t chunks = chunks_of(region);
      const uint64_t few = std::min(chunks / 2, kUsualFree >> chunk_shift_);
      const uint64_t enough = std::min(std::max(chunks / 4, few), 2 * kUsualFree >> chunk_shift_);
      if (free_[region].size() < std::max({enough, kLeastFree, demand / regions_})) {
        wanting = region;
      }
    }
  }
  const uint64_t from = pool_bytes();
  if (!wanting || !Grow(*wanting).ok()) return false;
  // Outside of the lock that others who need a segment wait for. They may take chunks of this one
  // meanwhile, and touch its pages themselves.
  media_->Prefault(from, pool_bytes() - from);
  return true;
}

uint64_t PmemPool::FreeCount() const noexcept {
  uint64_t count = 0;
  for (const std::vector<uint64_t>& chunks : free_) count += chunks.size();
  BRAID_DCHECK(count + unlisted_ < chunks());  // some hold headers
  return count;
}

/// The last one that is not kept for a large value; there is one.
uint64_t PmemPool::TakeOne(std::vector<uint64_t>* free) {
  BRAID_DCHECK(!free->empty());
  auto at = free->end() - 1;
  while (IsKept(*at)) {
    BRAID_DCHECK(at != free->begin());
    --at;
  }
  const uint64_t chunk = *at;
  BRAID_DCHECK(StateOf(chunk).kind() == ChunkKind::kFree);
  *at = free->back();
  free->pop_back();
  return chunk;
}

/// The shortest run of free chunks that will do: its place in the free list, which is sorted. Long
/// ones stay for larger values. A run can't cross segments: meta chunks lie between them.
std::optional<size_t> PmemPool::FindRun(uint64_t count, uint32_t region, bool kept_too) {
  std::vector<uint64_t>& free = free_[region];
  BRAID_DCHECK(count > 0 && region < regions_);
  std::sort(free.begin(), free.end(), std::greater<>());
  // No chunk is free twice, or two would get it.
  BRAID_DCHECK(std::adjacent_find(free.begin(), free.end()) == free.end());
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

/// Of the free chunks of a region. What is kept is for writes of large values only.
std::optional<uint64_t> PmemPool::TakeFree(uint64_t count, uint32_t region,
                                           AllocationClass allocation) {
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t>& free = free_[region];
  const bool takes_kept = count > 1 && allocation != AllocationClass::kBackground &&
                          kept_.count != 0 && kept_.free == kept_.count;
  const uint64_t out_of_reach = takes_kept ? 0 : kept_.free;
  if (FreeCount() < count + ReserveFor(allocation) + out_of_reach) return std::nullopt;
  const uint64_t here = kept_.count != 0 && RegionOfChunk(kept_.first) == region ? out_of_reach : 0;
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

void PmemPool::KeepRun(uint64_t first, uint64_t count) {
  BRAID_DCHECK(count > 0 && first + count <= chunks());
  // TakeFree looks for it in one free list.
  BRAID_DCHECK(RegionOfChunk(first) == RegionOfChunk(first + count - 1));
  const base::MutexLock lock(mutex_);
  kept_ = {first, count, 0};
  const std::vector<uint64_t>& free = free_[RegionOfChunk(first)];
  for (const uint64_t chunk : free) kept_.free += IsKept(chunk) ? 1 : 0;
  BRAID_DCHECK(kept_.free <= kept_.count);
}

void PmemPool::LetRunGo() {
  const base::MutexLock lock(mutex_);
  kept_ = {};
}

bool PmemPool::HasRun(uint64_t count) {
  BRAID_DCHECK(count > 0);
  const base::MutexLock lock(mutex_);
  const bool kept_too = kept_.free == kept_.count;
  const uint64_t out_of_reach = kept_too ? 0 : kept_.free;
  if (FreeCount() < count + ReserveFor(AllocationClass::kWrite) + out_of_reach) return false;
  for (uint32_t region = 0; region < regions_; ++region) {
    if (FindRun(count, region, kept_too)) return true;
  }
  return false;
}

Result<uint64_t> PmemPool::Take(uint64_t count, uint32_t region, AllocationClass allocation) {
  BRAID_CHECK(count > 0 && region < regions_);
  for (;;) {
    if (const auto first = TakeFree(count, region, allocation)) return *first;
    Status grown = Grow(region, count);
    if (grown.ok()) continue;
    if (const auto first = TakeFree(count, region, allocation)) return *first;
    // The region is full. Better far away than not at all.
    for (uint32_t i = 1; i < regions_; ++i) {
      const uint32_t other = (region + i) % regions_;
      auto first = TakeFree(count, other, allocation);
      if (!first && Grow(other, count).ok()) first = TakeFree(count, other, allocation);
      if (!first) continue;
      region_fallbacks_.fetch_add(1, std::memory_order_relaxed);
      return *first;
    }
    return grown;
  }
}

uint32_t PmemPool::NextGeneration(uint64_t chunk) const noexcept {
  return std::max(StateOf(chunk).generation() + 1, static_cast<uint32_t>(header_.generation_floor));
}

namespace {

/// Kinds of chunk that begin with a LogChunkHeader.
bool BeginsWithHeader(ChunkKind kind) noexcept {
  return format::HoldsEntries(kind) || kind == ChunkKind::kLeaf || kind == ChunkKind::kLeafIndex;
}

}  // namespace

Result<uint64_t> PmemPool::AllocateLogChunk(const LogChunkHeader& header, ChunkKind kind,
                                            AllocationClass allocation) {
  BRAID_CHECK(BeginsWithHeader(kind));
  Result<uint64_t> taken = Take(1, header.shard % regions_, allocation);
  if (!taken.ok()) return taken;
  const uint64_t chunk = *taken;
  const uint32_t generation = NextGeneration(chunk);
  LogChunkHeader sealed = header;
  sealed.magic = format::kLogChunkMagic;
  sealed.generation = generation;
  sealed.check = format::StructCheck(sealed, ChunkOffset(chunk));
  ops_.Copy(At(ChunkOffset(chunk)), &sealed, sizeof sealed);
  ops_.Flush(At(ChunkOffset(chunk)), sizeof sealed, media::Site::kChunkHeader);
  ops_.Fence(media::Site::kChunkHeaderFence);
  SetState(chunk, kind, generation);
  // The entries' own fence would do for them. But so an entry in a chunk that is free proves that
  // the state was lost (RecoveryJob).
  ops_.Fence(media::Site::kChunkStateFence);
  if (kind == ChunkKind::kWriteAhead) {
    write_ahead_chunks_.fetch_add(1, std::memory_order_relaxed);
  }
  return chunk;
}

namespace {

/// Of kinds that only the manifest says to be in use.
bool IsPlain(ChunkKind kind) noexcept {
  return kind == ChunkKind::kRedo || kind == ChunkKind::kManifest;
}

}  // namespace

Result<uint64_t> PmemPool::AllocatePlainChunk(ChunkKind kind) {
  BRAID_CHECK(IsPlain(kind));
  Result<uint64_t> taken = Take(1, 0, AllocationClass::kBackground);
  if (!taken.ok()) return taken;
  SetState(*taken, kind, NextGeneration(*taken));
  ops_.Fence(media::Site::kPlainStateFence);
  return taken;
}

Result<uint64_t> PmemPool::ReserveExtent(uint64_t bytes, uint32_t region,
                                         AllocationClass allocation) {
  const uint64_t count = ExtentChunks(bytes);
  Result<uint64_t> taken = Take(count, region, allocation);
  if (!taken.ok()) return taken;
  const uint64_t first = *taken;
  // A run does not cross segments, so it lies in one region.
  BRAID_DCHECK(RegionOfChunk(first) == RegionOfChunk(first + count - 1));
  for (uint64_t i = 0; i < count; ++i) {
    SetState(first + i, ChunkKind::kExtentBody, NextGeneration(first + i));
  }
  return ChunkOffset(first);
}

void PmemPool::BindExtent(uint64_t extent, uint64_t bytes, uint64_t owner) {
  const uint64_t first = ChunkOf(extent);
  BRAID_DCHECK(ChunkOffset(first) == extent && first + ExtentChunks(bytes) <= chunks());
  ExtentHeader header{};
  header.magic = format::kExtentMagic;
  header.generation = StateOf(first).generation();
  header.chunks = ExtentChunks(bytes);
  header.value_bytes = bytes;
  header.owner = owner;
  header.check = format::StructCheck(header, extent);
  ops_.Copy(At(extent), &header, sizeof header);
  ops_.Flush(At(extent), sizeof header, media::Site::kExtentHeader);
  ops_.Fence(media::Site::kExtentHeaderFence);
  // Durable with the entry, at the fence behind it.
  SetState(first, ChunkKind::kExtentHead, header.generation);
}

void PmemPool::CancelExtent(uint64_t extent, uint64_t bytes) {
  const uint64_t first = ChunkOf(extent);
  BRAID_DCHECK(ChunkOffset(first) == extent);
  // An extent that was bound has an entry, and goes by FreeExtent.
  BRAID_DCHECK(StateOf(first).kind() == ChunkKind::kExtentBody);
  for (uint64_t i = 0; i < ExtentChunks(bytes); ++i) FreeChunk(first + i);
}

Result<uint64_t> PmemPool::AllocateExtent(uint64_t bytes, uint64_t owner,
                                          AllocationClass allocation) {
  Result<uint64_t> extent = ReserveExtent(bytes, RegionOf(owner), allocation);
  if (extent.ok()) BindExtent(*extent, bytes, owner);
  return extent;
}

void PmemPool::FreeChunk(uint64_t chunk) {
  BRAID_DCHECK(chunk < chunks());
  const ChunkState state = StateOf(chunk);
  if (state.kind() == ChunkKind::kFree || state.kind() == ChunkKind::kMeta ||
      IsPlain(state.kind())) {
    return;
  }
  if (state.kind() == ChunkKind::kWriteAhead) {
    BRAID_DCHECK(write_ahead_chunks() > 0);  // this one is counted
    write_ahead_chunks_.fetch_sub(1, std::memory_order_relaxed);
  }
  MakeFree(chunk);
}

void PmemPool::FreePlainChunk(uint64_t chunk) {
  BRAID_DCHECK(chunk < chunks());
  if (IsPlain(StateOf(chunk).kind())) MakeFree(chunk);
}

void PmemPool::MakeFree(uint64_t chunk) {
  SetState(chunk, ChunkKind::kFree, StateOf(chunk).generation());
  ops_.Fence(media::Site::kFreeStateFence);
  const base::MutexLock lock(mutex_);
  std::vector<uint64_t>& free = free_[RegionOfChunk(chunk)];
  BRAID_DCHECK(free.size() < free.capacity());  // to give a chunk back takes no memory
  free.push_back(chunk);
  if (IsKept(chunk)) ++kept_.free;
  BRAID_DCHECK(kept_.free <= kept_.count);
}

void PmemPool::KeepWriteAhead(uint64_t chunk) {
  const ChunkState state = StateOf(chunk);
  if (state.kind() != ChunkKind::kWriteAhead) return;
  BRAID_DCHECK(write_ahead_chunks() > 0);  // this one is counted
  write_ahead_chunks_.fetch_sub(1, std::memory_order_relaxed);
  SetState(chunk, ChunkKind::kLog, state.generation());
}

void PmemPool::FreeExtent(uint64_t extent) {
  const ExtentHeader* header = ExtentAt(extent);
  if (header == nullptr) return;
  const uint64_t first = ChunkOf(extent);
  const uint64_t count = header->chunks;
  // The head goes first: bodies without a head are swept at the next open.
  FreeChunk(first);
  for (uint64_t i = 1; i < count; ++i) FreeChunk(first + i);
}

uint64_t PmemPool::free_chunks() const {
  const base::MutexLock lock(mutex_);
  return FreeCount();
}

int64_t PmemPool::spare_chunks() const {
  const base::MutexLock lock(mutex_);
  return static_cast<int64_t>(FreeCount()) -
         static_cast<int64_t>(ReserveFor(AllocationClass::kWrite));
}

uint64_t PmemPool::used_chunks() const {
  const base::MutexLock lock(mutex_);
  return chunks() - FreeCount() - unlisted_;
}

uint64_t PmemPool::free_chunks_of(uint32_t region) const {
  BRAID_DCHECK(region < regions_);
  const base::MutexLock lock(mutex_);
  return free_[region].size();
}

}  // namespace braid::pool
