// Purpose: the rebuild after a power loss on page-cache media.
// Thread safety, invariants, persistence: see rebuild.h.
#include "recovery/rebuild.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "flush/link_flush.h"
#include "level/copied_list.h"
#include "log/log_reader.h"
#include "memtable/recovered_entries.h"
#include "recovery/entry_scan.h"

namespace braid::recovery {

using format::ChunkKind;
using format::EntryHeader;

namespace {

/// What is on the medium.
struct Survivors {
  std::vector<uint64_t> entries;         // of whole writes
  std::unordered_set<uint64_t> of_logs;  // of these: not flushed
  std::vector<uint64_t> torn;            // with an intact key, but of writes that are not whole
  uint64_t max_sequence = 0;
  uint64_t max_id = 0;
  uint64_t damaged = 0;  // offset of a flushed entry that is not whole any more; 0: none
};

void CollectLog(const pool::PmemPool& pool, std::vector<log::LogChunk>* chunks,
                Survivors* survivors) {
  std::sort(chunks->begin(), chunks->end(),
            [](const log::LogChunk& a, const log::LogChunk& b) { return a.ordinal < b.ordinal; });
  // One shard's of one table: only in such a log entries have an order.
  BRAID_DCHECK(!chunks->empty() &&
               std::all_of(chunks->begin(), chunks->end(), [&](const log::LogChunk& chunk) {
                 return chunk.table_id == chunks->front().table_id &&
                        chunk.shard == chunks->front().shard;
               }));
  UnitCollector units;
  for (const log::LogChunk& chunk : *chunks) {
    log::ForEachEntry(pool, chunk.chunk, [&](uint64_t offset, const EntryHeader& entry) {
      survivors->max_sequence = std::max(survivors->max_sequence, entry.sequence());
      if (log::EntryVerifies(pool, offset)) {
        units.Take(offset, entry);
      } else {
        survivors->torn.push_back(offset);  // its value is not all there
      }
    });
  }
  survivors->entries.insert(survivors->entries.end(), units.committed().begin(),
                            units.committed().end());
  survivors->of_logs.insert(units.committed().begin(), units.committed().end());
  for (const std::vector<uint64_t>* torn : {&units.broken(), &units.tail()}) {
    survivors->torn.insert(survivors->torn.end(), torn->begin(), torn->end());
  }
}

/// False for copies that were not committed, for a log whose table has copies, and for what was
/// left behind.
bool BelongsToStore(ChunkKind kind, uint64_t table_id, const format::ManifestState& record) {
  if (record.left_behind.Has(kind, table_id)) return false;
  switch (kind) {
    case ChunkKind::kCollected:
      return table_id <= record.collected_table_id;
    case ChunkKind::kCopied:
      return table_id <= record.flushed_table_id;
    case ChunkKind::kWriteAhead:
      return table_id > record.flushed_table_id;
    default:
      return true;
  }
}

Survivors CollectSurvivors(pool::PmemPool* pool, const format::ManifestState& record) {
  Survivors survivors;
  survivors.max_sequence = record.last_sequence;
  survivors.max_id = record.next_table_id;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<log::LogChunk>> logs;
  for (uint64_t chunk = 0; chunk < pool->chunks(); ++chunk) {
    const ChunkKind kind = pool->StateOf(chunk).kind();
    if (!format::HoldsEntries(kind)) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool, chunk);
    // Its allocation did not reach the medium, so nothing in it was synced; or it holds copies of a
    // collection that was not committed.
    if (!header.ok() || !BelongsToStore(kind, header->table_id, record)) {
      pool->FreeChunk(chunk);
      continue;
    }
    survivors.max_id = std::max(survivors.max_id, header->table_id + 1);
    if (format::IsLogKind(kind) && header->table_id > record.flushed_table_id) {
      // The rebuilt list takes its entries as they are. Still a log, should the rebuild start
      // again.
      pool->KeepWriteAhead(chunk);
      logs[{header->table_id, header->shard}].push_back(*header);
      continue;
    }
    // Synced before it was flushed: its batches are whole. So are the values of what is live: an
    // extent is freed after the obsolete mark has reached the medium.
    log::ForEachEntry(*pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      survivors.max_sequence = std::max(survivors.max_sequence, entry.sequence());
      if (log::EntryVerifies(*pool, offset)) {
        survivors.entries.push_back(offset);
      } else if (entry.state() == format::kStateLive && survivors.damaged == 0) {
        survivors.damaged = offset;
      }
    });
  }
  for (auto& [place, chunks] : logs) CollectLog(*pool, &chunks, &survivors);
  // Invariant 3 of recovery_job.h: no number and no id is handed out again.
  BRAID_DCHECK(survivors.max_sequence >= record.last_sequence);
  BRAID_DCHECK(survivors.max_id >= record.next_table_id);
  return survivors;
}

/// Frees the chunks of extents that no entry among `entries` owns: what their writes left behind.
/// Those of obsolete entries stay as well: the next open sweeps them. (To free them here would lose
/// nothing: in a log obsolete marks are taken back before this, and what is obsolete in a flushed
/// table is needed by nobody if the rebuild has to start again.)
void FreeLostExtents(pool::PmemPool* pool, const std::vector<uint64_t>& entries) {
  std::unordered_set<uint64_t> owned;
  for (const uint64_t offset : entries) {
    const auto* entry = pool->As<EntryHeader>(offset);
    if (!entry->has(format::kValueInExtent)) continue;
    format::ExtentRef ref;
    std::memcpy(&ref, entry->value().data(), sizeof ref);
    const uint64_t first = pool->ChunkOf(ref.offset);
    const uint64_t count = pool->As<format::ExtentHeader>(ref.offset)->chunks;
    for (uint64_t i = 0; i < count; ++i) owned.insert(first + i);
  }
  for (uint64_t chunk = 0; chunk < pool->chunks(); ++chunk) {
    const ChunkKind kind = pool->StateOf(chunk).kind();
    const bool extent = format::IsOfExtent(kind);
    if (extent && !owned.contains(chunk)) pool->FreeChunk(chunk);
  }
}

/// Whether the tier, which may be null, has a newer version of the entry's key.
Result<bool> TierHasNewer(const tier::Store* tier, const EntryHeader& entry) {
  if (tier == nullptr || !tier->MayHold(entry.key())) return false;
  tier::Found found;
  if (Status s = tier->Get(entry.key(), &found); !s.ok()) return s;
  return found.result().has_version() && found.result().sequence > entry.sequence();
}

/// Whether an entry that refers to a value is the one that counts of its write. The entry that it
/// refers to may not have been marked yet; or has been, since another one has taken the place of
/// both, or the write no longer counts, while this one's mark is lost.
bool NeedsNode(const pool::PmemPool& pool, const EntryHeader& node) {
  const uint64_t carrier = pool.CarrierOf(node);
  return carrier != 0 && pool.EntryAt(carrier)->state() == format::kStateCarrier;
}

/// Durable with the list that is made.
void SetState(pool::PmemPool* pool, EntryHeader* entry, uint8_t state) {
  pool->ops().StoreByte(entry->state_byte(), state);
  pool->ops().Flush(entry->state_byte(), 1, media::Site::kRebuildMark);
}

/// What holds values for nobody any more is obsolete; the others are counted, as the list's own
/// entries are.
void SettleCarriers(pool::PmemPool* pool, pool::ChunkUsage* usage, const Survivors& survivors) {
  std::unordered_set<uint64_t> needed;
  for (const uint64_t offset : survivors.entries) {
    const auto* entry = pool->As<EntryHeader>(offset);
    if (entry->state() == format::kStateLive) needed.insert(pool->CarrierOf(*entry));
  }
  for (const uint64_t offset : survivors.entries) {
    auto* entry = pool->As<EntryHeader>(offset);
    if (entry->state() != format::kStateCarrier) continue;
    if (needed.contains(offset)) {
      usage->Add(pool->ChunkOf(offset), entry->size());
    } else {
      pool->ops().StoreByte(entry->state_byte(), format::kStateObsolete);
      pool->ops().Flush(entry->state_byte(), 1, media::Site::kOriginalsMark);
    }
  }
  pool->ops().Fence(media::Site::kOriginalsMarkFence);
}

/// What counts of the entries, which are in the order of their numbers.
Status InsertLive(pool::PmemPool* pool, const Survivors& survivors, const tier::Store* tier,
                  memtable::RecoveredEntries* newest) {
  for (const uint64_t offset : survivors.entries) {
    auto* entry = pool->As<EntryHeader>(offset);
    // A copying flush that was not committed has marked what it had copied: its copies are gone.
    if (survivors.of_logs.contains(offset) && entry->state() == format::kStateObsolete) {
      SetState(pool, entry, format::kStateLive);
    }
    // The mark on a delete may have reached the medium before the marks on what it hides did. So a
    // delete counts for as long as its chunk was not freed, which waits for all marks.
    if (entry->state() == format::kStateObsolete && entry->op() == format::EntryOp::kDelete) {
      SetState(pool, entry, format::kStateLive);
    }
    if (entry->state() != format::kStateLive) continue;
    if (entry->has(format::kValueElsewhere) && !NeedsNode(*pool, *entry)) {
      SetState(pool, entry, format::kStateObsolete);
      continue;
    }
    const Result<bool> is_older = TierHasNewer(tier, *entry);
    if (!is_older.ok()) return is_older.status();
    if (*is_older) {
      SetState(pool, entry, format::kStateObsolete);
    } else {
      newest->Insert(offset);
    }
  }
  return Status::OK();
}

}  // namespace

Status RebuildFromEntries(pool::PmemPool* pool, level::Manifest* manifest, pool::ChunkUsage* usage,
                          const tier::Store* tier) {
  BRAID_CHECK(!pool->was_clean() && !pool->media().cut());
  format::ManifestState& record = manifest->record();
  if (Status s = pool->RaiseGenerations(); !s.ok()) return s;
  Survivors survivors = CollectSurvivors(pool, record);
  if (survivors.damaged != 0) {
    return pool->CorruptionAt(survivors.damaged, "entry",
                              "its value does not match its check; braid repair salvages the rest");
  }
  for (const uint64_t offset : survivors.torn) {
    SetState(pool, pool->As<EntryHeader>(offset), format::kStateVoid);
  }
  memtable::RecoveredEntries newest(pool, MemTableKind::kBTree);
  // Oldest first: Insert has nothing to look for then.
  std::sort(survivors.entries.begin(), survivors.entries.end(), [&](uint64_t a, uint64_t b) {
    const uint64_t left = pool->As<EntryHeader>(a)->sequence();
    const uint64_t right = pool->As<EntryHeader>(b)->sequence();
    return left != right ? left < right : a < b;
  });
  // Each chunk was read once; an entry that is met twice would be an older version of itself.
  BRAID_DCHECK(std::adjacent_find(survivors.entries.begin(), survivors.entries.end()) ==
               survivors.entries.end());
  if (Status s = InsertLive(pool, survivors, tier, &newest); !s.ok()) return s;
  FreeLostExtents(pool, survivors.entries);
  const format::TableRecord* bottom = record.Bottom();
  BRAID_CHECK(bottom != nullptr);  // Manifest::Load has looked
  const uint64_t head = pool->HeadOffset(bottom->head);
  flush::LinkFlush flush(pool, usage);
  Result<flush::FlushResult> linked = flush.Run(*newest.tree(), {}, head);
  if (!linked.ok()) return linked.status();
  SettleCarriers(pool, usage, survivors);
  // The lists of the other levels hold nothing any more.
  std::vector<format::TableRecord> lists;
  for (uint32_t level = 1; level + 1 < record.level_count; ++level) {
    format::TableRecord list = *record.ListOf(level);
    level::CopiedList(pool).Close(pool->HeadOffset(list.head));
    list.entries = list.max_sequence = 0;
    list.flags = 0;
    lists.push_back(list);
  }
  if (Status s = pool->media().Sync(media::Site::kRebuildSync); !s.ok()) return s;

  format::TableRecord rebuilt = *bottom;
  rebuilt.entries = linked->entries;
  rebuilt.flags = 0;
  rebuilt.max_sequence = linked->max_sequence;
  lists.push_back(rebuilt);
  record.tables = std::move(lists);
  for (format::MergeRecord& merge : record.merges) manifest->EndMerge(merge.source_id);
  record.next_table_id = survivors.max_id;
  record.flushed_table_id = survivors.max_id - 1;
  record.merged_table_id = survivors.max_id - 1;
  record.collected_table_id = survivors.max_id - 1;
  record.last_sequence = survivors.max_sequence;
  return manifest->Commit();
}

}  // namespace braid::recovery
