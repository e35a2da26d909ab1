// Purpose: adding up chunks.
// Thread safety, persistence: see space_use.h.
#include "space/space_use.h"

#include <algorithm>

#include "base/check.h"
#include "log/log_reader.h"

namespace braid::space {

using format::ChunkKind;

void FillHoles(const pool::PmemPool& pool, Statistics* statistics) {
  const uint64_t bytes = pool.chunk_bytes();
  statistics->pool_allocated_bytes = pool.media().allocated_bytes().value_or(0);
  statistics->pool_hole_bytes = pool.hole_chunks() * bytes;
  statistics->given_back_bytes = pool.holes().chunks_given_back() * bytes;
  statistics->holes_filled_bytes = pool.holes().chunks_filled() * bytes;
}

void AddUpChunks(const pool::PmemPool& pool, const pool::ChunkUsage& usage,
                 base::FunctionRef<EntryLevel(uint64_t chunk, format::ChunkState state)> level_of,
                 Statistics* statistics) {
  Statistics& s = *statistics;
  const uint64_t bytes = pool.chunk_bytes();
  const uint64_t chunks = pool.chunks();
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    // Read once: it may be freed and begin its next life while it is looked at.
    const format::ChunkState state = pool.StateOf(chunk);
    const ChunkKind kind = state.kind();
    if (kind == ChunkKind::kFree) {
      s.pool_free_bytes += bytes;
      continue;
    }
    if (format::IsOfExtent(kind)) {
      s.value_bytes += bytes;
      continue;
    }
    const EntryLevel level =
        format::HoldsEntries(kind) ? level_of(chunk, state) : EntryLevel::kUnknown;
    if (level == EntryLevel::kUnknown || level == EntryLevel::kLog) {
      (level == EntryLevel::kLog ? s.log_bytes : s.other_bytes) += bytes;
      continue;
    }
    const int64_t counted = usage.Live(chunk);
    if (counted < 0) {
      s.uncounted_bytes += bytes;
      continue;
    }
    const uint64_t live = std::min(static_cast<uint64_t>(counted), bytes);
    const bool is_l0 = level == EntryLevel::kL0;
    (is_l0 ? s.l0_bytes : s.l1_bytes) += live;
    (is_l0 ? s.l0_obsolete_bytes : s.l1_obsolete_bytes) += bytes - live;
  }
}

void AddUpRetired(const pool::PmemPool& pool, uint64_t chunks,
                  const std::unordered_set<uint64_t>& extents, Statistics* statistics) {
  uint64_t extent_bytes = 0;
  for (const uint64_t offset : extents) {
    // Null when it was given back meanwhile.
    const format::ExtentHeader* extent = pool.ExtentAt(offset);
    if (extent != nullptr) extent_bytes += extent->chunks * pool.chunk_bytes();
  }
  Statistics& s = *statistics;
  s.value_obsolete_bytes = std::min(extent_bytes, s.value_bytes);
  s.value_bytes -= s.value_obsolete_bytes;
  s.retired_bytes = chunks * pool.chunk_bytes() + s.value_obsolete_bytes;
}

LogLevels::LogLevels(const pool::PmemPool& pool) : pool_(pool) {
  (void)in_last_level_.Allocate(pool.media().reserved_bytes() / pool.chunk_bytes());
}

EntryLevel LogLevels::Of(const Tables& tables, uint64_t chunk,
                         format::ChunkState state) const noexcept {
  BRAID_DCHECK(format::HoldsEntries(state.kind()) && state.generation() != 0);
  if (state.kind() == ChunkKind::kWriteAhead) return EntryLevel::kLog;
  if (state.kind() == ChunkKind::kCollected) return EntryLevel::kL1;
  const bool remembers = in_last_level_.ok();
  // Relaxed: a note that is missed leads to another look.
  if (remembers && in_last_level_[chunk].load(std::memory_order_relaxed) == state.generation()) {
    return EntryLevel::kL1;
  }
  Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
  if (!header.ok()) return EntryLevel::kUnknown;
  const uint64_t id = header->table_id;
  if (id > tables.flushed_id) {
    const bool is_shown =
        std::find(tables.shown.begin(), tables.shown.end(), id) != tables.shown.end();
    return is_shown ? EntryLevel::kL0 : EntryLevel::kLog;
  }
  if (id > tables.merged_id) return EntryLevel::kL0;
  if (remembers) in_last_level_[chunk].store(state.generation(), std::memory_order_relaxed);
  return EntryLevel::kL1;
}

}  // namespace braid::space
