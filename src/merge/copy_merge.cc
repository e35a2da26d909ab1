// Purpose: copying an L0 table.
// Thread safety, invariants, persistence: see copy_merge.h.
#include "merge/copy_merge.h"

#include "base/check.h"
#include "level/copied_entries.h"
#include "log/log_reader.h"

namespace braid::merge {

using format::ChunkKind;
using format::EntryHeader;

Result<bool> CopyTable(pool::PmemPool* pool, pool::ChunkUsage* usage, const index::SkipList& list,
                       uint64_t table_id, uint32_t head) {
  level::CopiedEntries copies(pool, usage, table_id, ChunkKind::kCollected);
  const auto give_back = [&] {
    copies.GiveBack();
    return false;
  };
  index::Damage damage;
  const EntryHeader* previous = nullptr;
  for (const EntryHeader* entry = list.First(&damage); entry != nullptr;
       previous = entry, entry = list.Next(entry, &damage)) {
    const uint64_t offset = pool->OffsetOf(entry);
    // A copy gets new checks: damage must not be copied. Without order the walk may be a circle.
    const bool sound = log::EntryVerifies(*pool, offset) &&
                       (previous == nullptr || index::InOrder(*previous, *entry));
    if (!sound) {
      give_back();
      return pool->CorruptionAt(offset, "entry", "its check does not match, or it is out of order");
    }
    if (entry->has(format::kValueInExtent)) return give_back();
    log::PendingEntry pending = level::CopiedEntries::CopyOf(*entry);
    const Status placed = copies.Add(&pending, entry->sequence(), pool->RegionOf(offset)).status();
    if (placed.IsOutOfSpace()) return give_back();
    if (!placed.ok()) return placed;
  }
  if (damage) {
    give_back();
    return index::DamageStatus(*pool, damage.at);
  }
  copies.Close(pool->HeadOffset(head));
  return true;
}

namespace {

void MarkOriginal(pool::PmemPool* pool, uint64_t offset) {
  uint8_t* const state = pool->As<EntryHeader>(offset)->state_byte();
  pool->ops().StoreByte(state, format::kStateObsolete);
  pool->ops().Flush(state, 1, media::Site::kOriginalsMark);
}

}  // namespace

Result<std::vector<uint64_t>> MarkOriginals(pool::PmemPool* pool, const index::SkipList& list) {
  std::vector<uint64_t> marked;
  index::Damage damage;
  const EntryHeader* previous = nullptr;
  for (const EntryHeader* entry = list.First(&damage); entry != nullptr;
       previous = entry, entry = list.Next(entry, &damage)) {
    const uint64_t offset = pool->OffsetOf(entry);
    // Without order the walk may be a circle.
    if (previous != nullptr && !index::InOrder(*previous, *entry)) damage.at = offset;
    if (damage) break;
    if (entry->state() != format::kStateLive) continue;
    marked.push_back(offset);
    MarkOriginal(pool, offset);
  }
  if (damage) return index::DamageStatus(*pool, damage.at);
  pool->ops().Fence(media::Site::kOriginalsMarkFence);
  return marked;
}

std::vector<uint64_t> MarkOriginals(pool::PmemPool* pool, uint64_t after, uint64_t table_id) {
  std::vector<uint64_t> marked;
  for (uint64_t chunk = 0; chunk < pool->chunks(); ++chunk) {
    const ChunkKind kind = pool->StateOf(chunk).kind();
    if (kind != ChunkKind::kLog && kind != ChunkKind::kCopied) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool, chunk);
    if (!header.ok() || header->table_id <= after || header->table_id > table_id) continue;
    log::ForEachEntry(*pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (entry.state() != format::kStateLive) return;
      MarkOriginal(pool, offset);
      marked.push_back(offset);
    });
  }
  pool->ops().Fence(media::Site::kOriginalsMarkFence);
  return marked;
}

}  // namespace braid::merge
