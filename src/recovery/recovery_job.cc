// Purpose: recovery at open.
// Thread safety, invariants, persistence: see recovery_job.h.
#include "recovery/recovery_job.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <unordered_set>

#include "base/check.h"
#include "base/processors.h"
#include "level/level_sizes.h"
#include "log/log_reader.h"
#include "merge/pointer_persistence.h"
#include "recovery/rebuild.h"
#include "recovery/replay.h"

namespace braid::recovery {

using format::ChunkKind;
using format::EntryHeader;

bool RecoveryJob::NeedsRebuild() const {
  // Links stored through the page cache mean nothing after the cache is lost.
  return !pool_->was_clean() && pool_->boot_changed() &&
         pool_->header().media_class == static_cast<uint32_t>(MediaClass::kPage);
}

Result<RecoveredState> RecoveryJob::Run() {
  BRAID_CHECK(log_chunks_.empty() && extents_.empty() && state_.entries == nullptr);  // runs once
  if (Status s = manifest_->Load(level::LevelsOfPool(options_.levels)); !s.ok()) return s;
  if (const auto cut = pool_->media().cut()) return TakeCut(*cut);
  const bool rebuild = NeedsRebuild();
  if (Status s = ReserveCopies(rebuild); !s.ok()) return s;
  if (rebuild) {
    if (Status s = RebuildFromEntries(pool_, manifest_, usage_, tier_); !s.ok()) return s;
    state_.rebuilt = true;
  }
  state_.last_sequence = manifest_->record().last_sequence;
  state_.next_table_id = manifest_->record().next_table_id;
  if (Status s = FinishMerges(); !s.ok()) return s;
  if (Status s = CheckHeads(); !s.ok()) return s;
  if (Status s = ClassifyChunks(); !s.ok()) return s;
  if (Status s = ReplayLogs(); !s.ok()) return s;
  if (Status s = SweepExtents(); !s.ok()) return s;
  // What goes to the tier was in a table, whose numbers the manifest knows; and the pool is durable
  // first.
  if (tier_ != nullptr && tier_->newest_sequence() > state_.last_sequence) {
    return Status::InvalidArgument(
        "the tier has entries that are newer than all that the pool has: one of them is an older "
        "copy; restore both as of one moment");
  }
  // Invariant 3.
  BRAID_DCHECK(state_.last_sequence >= manifest_->record().last_sequence);
  BRAID_DCHECK(state_.next_table_id >= manifest_->record().next_table_id);
  return std::move(state_);
}

/// While another process writes: the tables that it has granted are complete, and all there is.
RecoveredState RecoveryJob::TakeCut(const media::Media::Cut& cut) {
  BRAID_CHECK(pool_->read_only());
  format::ManifestState& record = manifest_->record();
  std::erase_if(record.tables, [&](const format::TableRecord& table) {
    return table.level == 0 && table.id > cut.tables;
  });
  record.flushed_table_id = cut.tables;
  state_.last_sequence = cut.sequence;
  state_.next_table_id = record.next_table_id;
  return std::move(state_);
}

/// What is stored to whatever is found: states of chunks, and, by a rebuild, each entry.
Status RecoveryJob::ReserveCopies(bool rebuild) {
  if (pool_->was_clean()) return Status::OK();
  constexpr uint64_t kHeadsAndHeaders = 16;
  uint64_t bytes = pool_->chunks() * sizeof(uint64_t);
  for (uint64_t chunk = 0; rebuild && chunk < pool_->chunks(); ++chunk) {
    if (format::HoldsEntries(pool_->StateOf(chunk).kind())) bytes += pool_->chunk_bytes();
  }
  return pool_->WillCopy(kHeadsAndHeaders + bytes / format::kPageBytes);
}

/// Pages that hold the targets of updates.
uint64_t RecoveryJob::PagesOf(const std::vector<format::RedoUpdate>& updates) {
  std::unordered_set<uint64_t> pages;
  for (const format::RedoUpdate& update : updates) {
    pages.insert((update.target & format::kOffsetMask) / format::kPageBytes);
  }
  return pages.size();
}

/// Makes what open merges have committed, and finds out how far they are.
Status RecoveryJob::FinishMerges() {
  for (const format::MergeRecord& merge : manifest_->record().merges) {
    if (merge.id == 0) continue;
    const bool by_pointers = (merge.flags & format::kMergeByPointers) != 0;
    const Status s = by_pointers ? SettleMerge(merge) : Redo(merge);
    if (!s.ok()) return s;
    // The thread that resumes the merge has to know how far it is.
    BRAID_DCHECK(state_.open_merges.contains(merge.source_id));
  }
  return Status::OK();
}

Status RecoveryJob::Redo(const format::MergeRecord& merge) {
  BRAID_DCHECK(merge.id != 0);
  merge::RedoLog redo(pool_, merge);
  std::vector<format::RedoUpdate> updates;
  Result<merge::BatchProgress> newest = redo.Newest(&updates);
  if (!newest.ok()) return newest.status();
  merge::BatchProgress& progress = state_.open_merges[merge.source_id];
  progress = *newest;
  if (pool_->read_only()) {
    if (Status s = pool_->WillCopy(PagesOf(updates)); !s.ok()) return s;
  }
  return redo.Apply(updates);
}

/// A merge without records: what it has done is seen in its lists.
Status RecoveryJob::SettleMerge(const format::MergeRecord& merge) {
  BRAID_DCHECK(merge.id != 0 && (merge.flags & format::kMergeByPointers) != 0);
  const format::TableRecord* source = manifest_->FindTable(merge.source_id);
  const format::TableRecord* target = manifest_->FindTable(merge.target_id);
  if (source == nullptr || target == nullptr) {
    return pool_->CorruptionAt(format::kManifestOffset[0], "manifest", "its merge has no tables");
  }
  Result<uint64_t> boundary = merge::SettleInterruptedMerge(pool_, pool_->HeadOffset(source->head),
                                                            pool_->HeadOffset(target->head));
  if (!boundary.ok()) return boundary.status();
  merge::BatchProgress& progress = state_.open_merges[merge.source_id];
  progress = {};
  progress.boundary = *boundary;
  progress.counted = false;
  return Status::OK();
}

/// What took the place of a page, or line, of heads may have a link where a list is to begin, and
/// lead into it from the middle: it would hide what comes before. One damaged link alone is left to
/// the reads that meet it, since all others can do without.
Status RecoveryJob::CheckHeads() const {
  constexpr std::ptrdiff_t kMostDamaged = 1;
  const format::ManifestState& record = manifest_->record();
  for (const format::TableRecord& table : record.tables) {
    const uint64_t head = pool_->HeadOffset(table.head);
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      const uint64_t place = pool_->StrandHead(head, strand);
      const auto* links = pool_->As<uint64_t>(place);
      const std::ptrdiff_t damaged =
          std::count_if(links, links + format::kMaxHeight,
                        [](uint64_t link) { return !format::EntryPtr{link}.IsValid(); });
      if (damaged > kMostDamaged) {
        return pool_->CorruptionAt(place, "head of a table", "most of it is damaged, or misplaced");
      }
    }
    const bool is_exact = (table.flags & format::kEntriesNotCounted) == 0 &&
                          record.MergeOf(table.id) == nullptr && !record.IsTarget(table.id);
    if (is_exact && table.entries != 0 && format::EntryPtr{*pool_->As<uint64_t>(head)}.IsEnd()) {
      return pool_->CorruptionAt(
          head, "head of a table",
          "it leads to no entry, and the manifest counts " + std::to_string(table.entries));
    }
  }
  return Status::OK();
}

bool RecoveryJob::IsNamed(const format::ManifestState& manifest, uint64_t redo_chunk) {
  return std::any_of(manifest.merges.begin(), manifest.merges.end(), [&](const auto& merge) {
    return merge.redo_chunks[0] == redo_chunk || merge.redo_chunks[1] == redo_chunk;
  });
}

/// Sorts chunks into logs to replay, orphans to free, and chunks of tables, which are only noted.
Status RecoveryJob::ClassifyChunks() {
  const format::ManifestState& manifest = manifest_->record();
  uint64_t bodies_left = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    if (kind == ChunkKind::kExtentBody) {
      if (bodies_left > 0) {
        --bodies_left;
      } else {
        pool_->FreeChunk(chunk);  // its head was freed, or never written
      }
      continue;
    }
    bodies_left = 0;
    // Allocated for a commit that never came.
    if ((kind == ChunkKind::kManifest && chunk != manifest.extension) ||
        (kind == ChunkKind::kRedo && !IsNamed(manifest, chunk))) {
      pool_->FreePlainChunk(chunk);
      continue;
    }
    if (kind == ChunkKind::kFree && !state_.rebuilt && pool_->holes().MayHoldBytes(chunk) &&
        log::HoldsUnknownLife(*pool_, chunk)) {
      return pool_->CorruptionAt(pool_->ChunkOffset(chunk), "chunk",
                                 "its state says that it is free and is older than its entries: "
                                 "the medium has lost a write; braid repair salvages them");
    }
    if (kind == ChunkKind::kExtentHead) {
      const uint64_t offset = pool_->ChunkOffset(chunk);
      format::ExtentHeader header;
      std::memcpy(&header, pool_->At(offset), sizeof header);
      if (header.magic != format::kExtentMagic ||
          header.check != format::StructCheck(header, offset) || header.chunks == 0) {
        return pool_->CorruptionAt(offset, "extent header", "its check does not match");
      }
      if (pool_->ExtentAt(offset) == nullptr) {
        return pool_->CorruptionAt(offset, "extent", "it has lost a chunk, or its sizes are wrong");
      }
      bodies_left = header.chunks - 1;
      extents_.push_back(offset);
      continue;
    }
    if (!format::HoldsEntries(kind)) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
    if (!header.ok()) return header.status();
    state_.next_table_id = std::max(state_.next_table_id, header->table_id + 1);
    const bool in_table =
        header->table_id <=
        (kind == ChunkKind::kCollected ? manifest.collected_table_id : manifest.flushed_table_id);
    if (kind == ChunkKind::kWriteAhead) {
      if (in_table) {
        pool_->FreeChunk(chunk);  // its table has copies
      } else {
        log_chunks_.push_back(chunk);
        state_.write_ahead = true;
      }
    } else if (manifest.left_behind.Has(kind, header->table_id)) {
      pool_->FreeChunk(chunk);
    } else if (in_table) {
      usage_->Set(chunk, pool::ChunkUsage::kUnknown);
    } else if (kind == ChunkKind::kLog) {
      log_chunks_.push_back(chunk);
    } else {
      pool_->FreeChunk(chunk);  // the collection, or the flush, was not committed
    }
  }
  return Status::OK();
}

Status RecoveryJob::ReplayLogs() {
  // A rebuild has put all that logs held into L1.
  BRAID_DCHECK(!state_.rebuilt || log_chunks_.empty());
  BRAID_DCHECK(!state_.write_ahead || !log_chunks_.empty());
  if (log_chunks_.empty()) return Status::OK();
  std::map<std::pair<uint64_t, uint32_t>, std::vector<log::LogChunk>> shards;
  uint64_t newest_id = 0;
  for (const uint64_t chunk : log_chunks_) {
    Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
    if (!header.ok()) return header.status();
    shards[{header->table_id, header->shard}].push_back(*header);
    newest_id = std::max(newest_id, header->table_id);
  }
  // The memtable that comes next has an id above those of all logs.
  BRAID_DCHECK(newest_id < state_.next_table_id);
  state_.log_id = newest_id;
  state_.entries = std::make_unique<memtable::RecoveredEntries>(pool_, *options_.memtable.kind);
  std::vector<std::vector<log::LogChunk>> logs;
  for (auto& [place, chunks] : shards) {
    std::sort(chunks.begin(), chunks.end(),
              [](const log::LogChunk& a, const log::LogChunk& b) { return a.ordinal < b.ordinal; });
    logs.push_back(std::move(chunks));
  }
  std::vector<Status> outcomes(logs.size());
  std::vector<log::ShardLog> read(logs.size());
  const size_t threads = options_.background_threads && log_chunks_.size() > 2 * logs.size()
                             ? std::clamp<size_t>(base::ProcessorsOfProcess(), 1, logs.size())
                             : 1;
  const Status ran = OnThreads(threads, logs.size(), [&](size_t i) {
    Result<log::ShardLog> shard = log::ReadShardLog(*pool_, logs[i]);
    if (shard.ok()) {
      read[i] = std::move(*shard);
    } else {
      outcomes[i] = shard.status();
    }
  });
  if (!ran.ok()) return ran;
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) return outcome;
  }
  FlushLastWrites(read);
  Replay replay(pool_, state_.entries.get(), &read, threads);
  if (Status s = replay.Run(); !s.ok()) return s;
  for (const log::ShardLog& shard : read) {
    state_.replayed_entries += shard.committed.size();
    state_.last_sequence = std::max(state_.last_sequence, shard.max_sequence);
    if (Status s = pool_->WillCopy(shard.torn.size()); !s.ok()) return s;
    // So that nobody takes what was never acknowledged for an entry of the table to come.
    for (const uint64_t offset : shard.torn) {
      auto* entry = pool_->As<EntryHeader>(offset);
      pool_->ops().StoreByte(entry->state_byte(), format::kStateVoid);
      pool_->ops().Persist(entry->state_byte(), 1, media::Site::kTornMark);
    }
  }
  return Status::OK();
}

/// The process that died may have been about to flush the last write of each shard: it is whole in
/// the caches, and will be shown. The writes before it had returned.
void RecoveryJob::FlushLastWrites(const std::vector<log::ShardLog>& logs) {
  media::PersistOps& ops = pool_->ops();
  for (const log::ShardLog& shard : logs) {
    for (size_t i = shard.committed.size(); i-- > 0;) {
      const uint64_t offset = shard.committed[i];
      const auto* entry = pool_->As<EntryHeader>(offset);
      ops.Flush(entry, entry->size(), media::Site::kLastWrites);
      if (const uint64_t extent = pool_->ExtentOf(offset); extent != 0) {
        const auto* header = pool_->As<format::ExtentHeader>(extent);
        ops.Flush(header, sizeof *header + header->value_bytes, media::Site::kLastWrites);
      }
      if (entry->has(format::kFirstOfUnit)) break;
    }
  }
  ops.Fence(media::Site::kLastWritesFence);
}

ExtentOwner OwnerOf(const pool::PmemPool& pool, uint64_t extent) {
  BRAID_DCHECK(extent == pool.ChunkOffset(pool.ChunkOf(extent)));
  format::ExtentHeader header;
  std::memcpy(&header, pool.At(extent), sizeof header);
  const EntryHeader* owner = pool.EntryAt(header.owner);
  if (owner == nullptr || !owner->has(format::kValueInExtent) ||
      owner->value_bytes != sizeof(format::ExtentRef) ||
      !index::KeyIsIntact(pool, *owner, header.owner, base::Hash64(owner->key()))) {
    return ExtentOwner::kNobody;
  }
  format::ExtentRef ref;
  std::memcpy(&ref, owner->value().data(), sizeof ref);
  if (format::ValueCheck(owner->value()) != owner->value_check || ref.offset != extent) {
    return ExtentOwner::kNobody;
  }
  return owner->is_kept() ? ExtentOwner::kAlive : ExtentOwner::kObsolete;
}

/// Frees extents whose entry was never committed, or is obsolete. A process that died in a merge
/// has left obsolete marks in the page cache alone; on the medium they come first, lest a rebuild
/// finds an entry that is live and has lost its value.
Status RecoveryJob::SweepExtents() {
  bool synced =
      state_.rebuilt || pool_->read_only() || pool_->ops().media_class() != MediaClass::kPage;
  for (const uint64_t extent : extents_) {
    const ExtentOwner owner = OwnerOf(*pool_, extent);
    // Nobody else gives extents back at an open.
    BRAID_DCHECK(pool_->StateOf(pool_->ChunkOf(extent)).kind() == ChunkKind::kExtentHead);
    if (owner == ExtentOwner::kAlive) continue;
    if (owner == ExtentOwner::kObsolete && !synced) {
      if (Status s = pool_->media().Sync(media::Site::kSweepSync); !s.ok()) return s;
      synced = true;
    }
    pool_->FreeExtent(extent);
  }
  return Status::OK();
}

}  // namespace braid::recovery
