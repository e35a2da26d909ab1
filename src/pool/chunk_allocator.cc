// Purpose: the allocator of a pool's chunks.
// Thread safety, invariants, persistence: see pool.h.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/no_throw.h"
#include "pool/pool.h"

namespace braid::pool {

using format::ChunkKind;
using format::ChunkState;
using format::EntryHeader;
using format::ExtentHeader;
using format::LogChunkHeader;

/// Stores the state word and flushes it; the caller fences.
void PmemPool::SetState(uint64_t chunk, ChunkKind kind, uint32_t generation) {
  BRAID_DCHECK(format::MayBecome(StateOf(chunk).kind(), kind));
  BRAID_DCHECK(generation >= StateOf(chunk).generation());
  const ChunkState state = ChunkState::Make(kind, generation, chunk);
  SetStateOf(chunk, state);
  segments_.StoreState(chunk, state);
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
/// What is kept free in a pool of which next to nothing is used, however much is wanted.
constexpr uint64_t kFirstFree = 1ull << 20;
}  // namespace

/// Asks for pages of holes ahead of their use. A device that is full is the writers' to report.
bool PmemPool::FillAhead(uint64_t demand) {
  constexpr uint64_t kPiece = 8;
  const uint64_t ready = (free_.reserve(demand) + std::max(kLeastReady, demand)) / regions();
  bool filled = false;
  for (uint32_t region = 0; region < regions() && !failed(); ++region) {
    const uint64_t resident = free_.resident_of(region);
    if (resident >= ready || free_.holes_of(region) == 0) continue;
    const Result<bool> done = holes_.FillAhead(region, std::min(kPiece, ready - resident));
    filled = (done.ok() && *done) || filled;
  }
  return filled;
}

void PmemPool::Prefault(uint64_t offset, uint64_t bytes) {
  const uint64_t end = offset + bytes;
  BRAID_DCHECK(end <= pool_bytes());
  if (free_.holes() == 0) return media().Prefault(offset, bytes);
  while (offset < end) {
    const uint64_t chunk = ChunkOf(offset);
    const uint64_t next = std::min(end, ChunkOffset(chunk + 1));
    if (free_.HolesIn(chunk, 1, RegionOfChunk(chunk)).empty()) {
      media().Prefault(offset, next - offset);
    }
    offset = next;
  }
}

bool PmemPool::GrowAhead(uint64_t demand) {
  // As much as is used, since a demand may be wrong: a thread that gets no processor takes what was
  // written in a second for that of its wait of 10 ms, and asks for a hundred times as much.
  demand = std::min({demand, ChunksIn(kMostFree), used_chunks() + ChunksIn(kFirstFree)});
  std::optional<uint32_t> wanting;
  const bool filled = FillAhead(demand);
  if (max_bytes_ != 0 && pool_bytes() + 4 * chunk_bytes() > max_bytes_) return filled;
  // What writes must leave alone is of no use to them, so what they soon take comes on top of it.
  const uint64_t soon =
      std::max(kLeastFree, demand / regions()) + free_.reserve(demand) / regions();
  for (uint32_t region = 0; region < regions() && !wanting; ++region) {
    const uint64_t chunks = chunks_of(region);
    const uint64_t few = std::min(chunks / 2, ChunksIn(kUsualFree));
    const uint64_t enough = std::min(std::max(chunks / 4, few), ChunksIn(2 * kUsualFree));
    if (free_.free_of(region) < std::max(enough, soon)) {
      wanting = region;
    }
  }
  const uint64_t from = pool_bytes();
  if (!wanting || !Grow(*wanting).ok()) return filled;
  // Outside of the lock that others who need a segment wait for. They may take chunks of this one
  // meanwhile, and touch its pages themselves.
  media().Prefault(from, pool_bytes() - from);
  return true;
}

void PmemPool::KeepRun(uint64_t first, uint64_t count) {
  BRAID_DCHECK(count > 0 && first + count <= chunks());
  const uint32_t region = RegionOfChunk(first);
  // It is looked for in one free list.
  BRAID_DCHECK(region == RegionOfChunk(first + count - 1));
  // Where the device is full the run will not be complete, and the write finds no room.
  base::IgnoreExceptions([&] { (void)holes_.FillRun(first, count, region); });
  free_.KeepRun(first, count, region);
}

/// Without growth. Errors: NotFound, there is none; those of Holes::FillFor.
Result<uint64_t> PmemPool::TakeWithHoles(uint64_t count, uint32_t region,
                                         AllocationClass allocation) {
  for (;;) {
    const uint64_t times = free_.times_put_back();
    if (const auto first = free_.Take(count, region, allocation)) return *first;
    const Result<bool> filled =
        base::CatchToStatus([&] { return holes_.FillFor(count, region, allocation); });
    if (!filled.ok()) return filled.status();
    if (!*filled && !free_.AwaitPutBack(times)) return Status::NotFound();
  }
}

Result<uint64_t> PmemPool::Take(uint64_t count, uint32_t region, AllocationClass allocation) {
  BRAID_CHECK(count > 0 && region < regions());
  for (;;) {
    Result<uint64_t> taken = TakeWithHoles(count, region, allocation);
    if (taken.ok()) return taken;
    Status grown = Grow(region, count);
    if (grown.ok()) continue;
    taken = TakeWithHoles(count, region, allocation);
    if (taken.ok()) return taken;
    Status full_device = taken.status().IsNotFound() ? Status::OK() : taken.status();
    // The region is full. Better far away than not at all.
    for (uint32_t i = 1; i < regions(); ++i) {
      const uint32_t other = (region + i) % regions();
      taken = TakeWithHoles(count, other, allocation);
      if (!taken.ok() && Grow(other, count).ok()) taken = TakeWithHoles(count, other, allocation);
      if (!taken.ok()) continue;
      region_fallbacks_.fetch_add(1, std::memory_order_relaxed);
      return taken;
    }
    // What holes could not get is what there is to be done about.
    return full_device.ok() ? grown : full_device;
  }
}

uint32_t PmemPool::NextGeneration(uint64_t chunk) const noexcept {
  BRAID_DCHECK(StateOf(chunk).kind() == ChunkKind::kFree);  // it was in a list
  return std::max(StateOf(chunk).generation() + 1,
                  static_cast<uint32_t>(header().generation_floor));
}

namespace {

/// Kinds of chunk that begin with a LogChunkHeader.
bool BeginsWithHeader(ChunkKind kind) noexcept {
  return format::HoldsEntries(kind) || kind == ChunkKind::kLeaf || kind == ChunkKind::kLeafIndex;
}

/// With what the allocation knows.
LogChunkHeader Seal(LogChunkHeader header, ChunkKind kind, uint32_t generation, uint64_t place) {
  header.magic = format::kLogChunkMagic;
  header.generation = generation;
  header.kind = static_cast<uint64_t>(kind);
  header.check = format::StructCheck(header, place);
  return header;
}

}  // namespace

Result<uint64_t> PmemPool::AllocateLogChunk(const LogChunkHeader& header, ChunkKind kind,
                                            AllocationClass allocation) {
  BRAID_CHECK(BeginsWithHeader(kind));
  Result<uint64_t> taken = Take(1, header.shard % regions(), allocation);
  if (!taken.ok()) return taken;
  const uint64_t chunk = *taken;
  const uint32_t generation = NextGeneration(chunk);
  const LogChunkHeader sealed = Seal(header, kind, generation, ChunkOffset(chunk));
  ops_.Copy(At(ChunkOffset(chunk)), &sealed, sizeof sealed);
  ops_.Flush(At(ChunkOffset(chunk)), sizeof sealed, media::Site::kChunkHeader);
  ops_.Fence(media::Site::kChunkHeaderFence);
  SetState(chunk, kind, generation);
  // The entries' own fence would do for them. But so an entry in a chunk that is free proves that
  // the state was lost (RecoveryJob).
  ops_.Fence(media::Site::kChunkStateFence);
  if (kind == ChunkKind::kWriteAhead) free_.AddWriteAhead();
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
  if (state.kind() == ChunkKind::kWriteAhead) free_.RemoveWriteAhead();
  MakeFree(chunk);
}

void PmemPool::FreePlainChunk(uint64_t chunk) {
  BRAID_DCHECK(chunk < chunks());
  if (IsPlain(StateOf(chunk).kind())) MakeFree(chunk);
}

void PmemPool::MakeFree(uint64_t chunk) {
  SetState(chunk, ChunkKind::kFree, StateOf(chunk).generation());
  ops_.Fence(media::Site::kFreeStateFence);
  free_.GiveBack(chunk, RegionOfChunk(chunk));
}

void PmemPool::KeepWriteAhead(uint64_t chunk) {
  const ChunkState state = StateOf(chunk);
  if (state.kind() != ChunkKind::kWriteAhead) return;
  free_.RemoveWriteAhead();
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

}  // namespace braid::pool
