// Purpose: finds contiguous chunks that can be emptied.
// Thread safety, invariants, persistence: see room.h.
#include "compaction/room.h"

#include <algorithm>

#include "base/check.h"
#include "log/log_reader.h"

namespace braid::compaction {

using format::ChunkKind;
using format::EntryHeader;
using Kind = ChunkUse::Kind;

namespace {

/// The entry that owns the extent; null when that is not known to be in one of `uses` that may be
/// moved.
const EntryHeader* OwnerAmong(const pool::PmemPool& pool, const std::vector<ChunkUse>& uses,
                              uint64_t extent) {
  const format::ExtentHeader* header = pool.ExtentAt(extent);
  if (header == nullptr) return nullptr;
  const uint64_t owner = header->owner;
  if (pool.ChunkOf(owner) >= uses.size() || uses[pool.ChunkOf(owner)].kind != Kind::kMovable) {
    return nullptr;
  }
  return pool.ExtentOf(owner) == extent ? pool.EntryAt(owner) : nullptr;
}

}  // namespace

std::vector<ChunkUse> SurveyUses(const pool::PmemPool& pool, const pool::ChunkUsage& usage,
                                 std::span<const uint64_t> movable, uint64_t wanted) {
  BRAID_DCHECK(wanted != 0);
  std::vector<ChunkUse> uses(pool.chunks());
  for (uint64_t chunk = 0; chunk < uses.size(); ++chunk) {
    const bool free = pool.StateOf(chunk).kind() == ChunkKind::kFree;
    uses[chunk] = {free ? Kind::kFree : Kind::kFixed, 0, chunk, chunk + 1};
  }
  for (const uint64_t chunk : movable) {
    BRAID_DCHECK(chunk < uses.size());  // a pool does not shrink
    const auto live = static_cast<uint64_t>(std::max<int64_t>(usage.Live(chunk), 0));
    uses[chunk] = {Kind::kMovable, live, chunk, chunk + 1};
  }
  std::vector<uint64_t> staying;  // no other place is as large as one of their values
  for (uint64_t chunk = 0; chunk < uses.size(); ++chunk) {
    if (pool.StateOf(chunk).kind() != ChunkKind::kExtentHead) continue;
    const EntryHeader* owner = OwnerAmong(pool, uses, pool.ChunkOffset(chunk));
    if (owner == nullptr) continue;
    const format::ExtentHeader* extent = pool.ExtentAt(pool.ChunkOffset(chunk));
    if (extent == nullptr) continue;  // the medium has failed meanwhile
    const uint64_t count = extent->chunks;
    // What is obsolete waits for its readers only.
    const bool live = owner->is_kept();
    const uint64_t owners_chunk = pool.ChunkOf(pool.OffsetOf(owner));
    if (live) uses[owners_chunk].bytes += count * pool.chunk_bytes();
    if (count >= wanted) {
      if (live) staying.push_back(owners_chunk);
      continue;
    }
    for (uint64_t i = chunk; i < chunk + count; ++i) {
      uses[i] = {Kind::kMovable, live ? pool.chunk_bytes() : 0, chunk, chunk + count};
    }
  }
  for (const uint64_t chunk : staying) uses[chunk].kind = Kind::kFixed;
  return uses;
}

std::optional<Room> CheapestRoom(std::span<const ChunkUse> uses, uint64_t count,
                                 uint64_t chunk_bytes) {
  BRAID_DCHECK(count != 0 && chunk_bytes != 0);
  // Sums over all chunks below.
  std::vector<uint64_t> fixed(uses.size() + 1, 0);
  std::vector<uint64_t> free(uses.size() + 1, 0);
  std::vector<uint64_t> bytes(uses.size() + 1, 0);
  for (size_t i = 0; i < uses.size(); ++i) {
    fixed[i + 1] = fixed[i] + (uses[i].kind == Kind::kFixed ? 1 : 0);
    free[i + 1] = free[i] + (uses[i].kind == Kind::kFree ? 1 : 0);
    bytes[i + 1] = bytes[i] + uses[i].bytes;
  }
  std::optional<Room> best;
  uint64_t best_bytes = ~0ull;
  for (uint64_t first = 0; first + count <= uses.size(); ++first) {
    const Room room{first, uses[first].begin, uses[first + count - 1].end};
    // What lies in the run, and with it what reaches into it.
    BRAID_DCHECK(room.begin <= first && first + count <= room.end && room.end <= uses.size());
    if (fixed[room.end] != fixed[room.begin]) continue;
    const uint64_t cost = bytes[room.end] - bytes[room.begin];
    // Ends of chunks stay unused where large entries are copied.
    const uint64_t needed = (cost + cost / 7 + chunk_bytes - 1) / chunk_bytes;
    if (cost >= best_bytes || needed > free.back() - (free[first + count] - free[first])) continue;
    best_bytes = cost;
    best = room;
  }
  return best;
}

std::optional<std::vector<uint64_t>> EntriesIn(const pool::PmemPool& pool,
                                               std::span<const ChunkUse> uses, const Room& room) {
  BRAID_DCHECK(room.begin < room.end && room.end <= uses.size());
  std::vector<uint64_t> entries;
  for (uint64_t chunk = room.begin; chunk < room.end; chunk = uses[chunk].end) {
    BRAID_DCHECK(uses[chunk].kind != Kind::kFixed);  // invariant 1
    BRAID_DCHECK(uses[chunk].end > chunk);
    if (uses[chunk].kind == Kind::kFree) continue;
    // Entries that a merge has left behind have no marks.
    if (uses[chunk].bytes == 0) continue;
    if (pool.StateOf(chunk).kind() == ChunkKind::kExtentHead) {
      const format::ExtentHeader* extent = pool.ExtentAt(pool.ChunkOffset(chunk));
      const EntryHeader* owner = extent == nullptr ? nullptr : pool.EntryAt(extent->owner);
      if (owner == nullptr) return std::nullopt;
      if (owner->is_kept()) entries.push_back(extent->owner);
      continue;
    }
    log::ForEachEntry(pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (entry.is_kept()) entries.push_back(offset);
    });
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  for (const uint64_t entry : entries) {
    if (!log::EntryVerifies(pool, entry)) return std::nullopt;
  }
  return entries;
}

}  // namespace braid::compaction
