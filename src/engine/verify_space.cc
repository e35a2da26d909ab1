// Purpose: the part of Verify that asks who owns each chunk and each extent: allocated must be
// reachable, free must not be. Thread safety, invariants, persistence: see lsm_engine.h.
#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "engine/lsm_engine.h"
#include "log/log_reader.h"

namespace braid::engine {

using format::ChunkKind;

/// An extent belongs to a live entry, or its entry died and it waits for its readers to leave.
void LsmEngine::CheckExtent(uint64_t extent, bool merging,
                            const std::unordered_set<uint64_t>& retired,
                            level::CheckTotals* totals) const {
  const auto problem = [&](const std::string& what) {
    totals->problems.emplace_back(pool_->CorruptionAt(extent, "extent", what).message());
  };
  format::ExtentHeader header;
  std::memcpy(&header, pool_->At(extent), sizeof header);
  if (header.magic != format::kExtentMagic || header.check != format::StructCheck(header, extent)) {
    return problem("its header's check does not match");
  }
  const uint64_t first = pool_->ChunkOf(extent);
  for (uint64_t i = 1; i < header.chunks; ++i) {
    if (first + i >= pool_->chunks() ||
        pool_->StateOf(first + i).kind() != ChunkKind::kExtentBody) {
      return problem("it has lost a chunk");
    }
  }
  if (IsBeingLoaded(pool_->ChunkOf(header.owner))) return;  // its entry may not be there yet
  const recovery::ExtentOwner owner = recovery::OwnerOf(*pool_, extent);
  if (owner == recovery::ExtentOwner::kNobody && retired.count(extent) == 0) {
    problem("no entry owns it");
  } else if (owner == recovery::ExtentOwner::kDead && !merging && retired.count(extent) == 0) {
    problem("its entry is dead, and nobody will free it");
  }
}

/// Whether the chunk is one of the bulk load under way. Under structure_mutex_.
bool LsmEngine::IsBeingLoaded(uint64_t chunk) const {
  if (loading_table_id_ == 0 || chunk >= pool_->chunks() ||
      pool_->StateOf(chunk).kind() != ChunkKind::kCopied) {
    return false;
  }
  Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
  return header.ok() && header->table_id == loading_table_id_;
}

/// Extents, and that no chunk of one is left without its head. Under structure_mutex_.
void LsmEngine::CheckExtents(bool merging, level::CheckTotals* totals) {
  std::unordered_set<uint64_t> retired = reclaimer_.RetiredExtents();
  for (const flush::WaitingTable& table : waiting_) {
    retired.insert(table.dead_extents.begin(), table.dead_extents.end());
  }
  uint64_t bodies = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    if (kind == ChunkKind::kExtentBody) {
      if (bodies == 0 && !large_values_.HasReserved(chunk)) {
        totals->problems.emplace_back(
            pool_->CorruptionAt(pool_->ChunkOffset(chunk), "chunk", "it belongs to no extent")
                .message());
      }
      bodies -= bodies == 0 ? 0 : 1;
      continue;
    }
    bodies = 0;
    if (kind != ChunkKind::kExtentHead) continue;
    format::ExtentHeader header;
    std::memcpy(&header, pool_->At(pool_->ChunkOffset(chunk)), sizeof header);
    bodies = header.chunks == 0 ? 0 : header.chunks - 1;
    CheckExtent(pool_->ChunkOffset(chunk), merging, retired, totals);
  }
}

/// Chunks of logs belong to a memtable, which knows all their live entries.
void LsmEngine::CheckLogs(const ReadState& state, uint64_t flushed_table_id,
                          level::CheckTotals* totals) const {
  uint64_t known = state.active->table->entries();
  for (const auto& table : state.immutables) known += table->table->entries();
  uint64_t live = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    if (!format::HoldsEntries(kind) || kind == ChunkKind::kCollected) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
    if (!header.ok()) continue;
    const bool flushed = header->table_id <= flushed_table_id;
    // A write-ahead log is freed when its table is committed and its readers have left; a flush
    // that failed frees copies.
    const bool is_due = header->table_id <= logs_retired_to_;
    if ((kind == ChunkKind::kWriteAhead && is_due && !reclaimer_.IsRetired(IdOf(chunk))) ||
        (kind == ChunkKind::kCopied && !flushed && header->table_id != loading_table_id_)) {
      totals->problems.emplace_back(
          pool_
              ->CorruptionAt(pool_->ChunkOffset(chunk), "chunk",
                             flushed
                                 ? "its table has copies of its entries, and nobody will free it"
                                 : "its entries are copies for a table that is not there")
              .message());
    }
    if (flushed || kind == ChunkKind::kCopied) continue;
    if (header->table_id >= next_table_id_ || totals->linked_bytes.count(chunk) != 0) {
      totals->problems.emplace_back(
          pool_
              ->CorruptionAt(pool_->ChunkOffset(chunk), "chunk",
                             "its entries belong to no memtable, or to a table as well")
              .message());
    }
    log::ForEachEntry(*pool_, chunk, [&](uint64_t, const format::EntryHeader& entry) {
      live += entry.state() == format::kStateLive ? 1 : 0;
    });
  }
  if (live > known) {
    totals->problems.emplace_back(
        pool_
            ->CorruptionAt(format::kManifestOffset[0], "logs",
                           std::to_string(live) + " entries are live, only " +
                               std::to_string(known) + " are in a memtable")
            .message());
  }
}

void LsmEngine::CheckSpace(level::CheckTotals* totals) {
  // Nobody allocates or frees meanwhile: writers wait here for a moment.
  const auto reclaim_lock = reclaimer_.Hold();
  const std::lock_guard batch_lock(batch_mutex_);
  std::vector<std::unique_lock<std::mutex>> shard_locks;
  shard_locks.reserve(shards_.size());
  for (ShardLock& shard : shards_) shard_locks.emplace_back(shard.mutex);
  const std::unique_lock large_lock = large_values_.Hold();
  const std::lock_guard load_lock(load_mutex_);
  const std::lock_guard lock(structure_mutex_);
  const format::ManifestRecord manifest = ManifestOfNow();
  for (std::string& problem : pool_->CheckAllocator()) {
    totals->problems.push_back(std::move(problem));
  }
  CheckExtents(manifest.merge_id != 0, totals);
  CheckLogs(*state_owner_, manifest.flushed_table_id, totals);
  if (totals->max_sequence > sequence_.load()) {
    totals->problems.emplace_back(pool_
                                      ->CorruptionAt(format::kManifestOffset[0], "manifest",
                                                     "an entry has the sequence number " +
                                                         std::to_string(totals->max_sequence) +
                                                         ", the last one drawn is " +
                                                         std::to_string(sequence_.load()))
                                      .message());
  }
}

}  // namespace braid::engine
