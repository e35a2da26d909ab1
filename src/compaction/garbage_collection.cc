// Purpose: survey and copying collection. Thread safety, invariants, persistence: see
// garbage_collection.h.
#include "compaction/garbage_collection.h"

#include <algorithm>
#include <cstring>

#include "base/mutants.h"
#include "level/copied_list.h"
#include "log/index_unified_log.h"
#include "log/log_reader.h"

namespace braid::compaction {

using format::ChunkKind;
using format::EntryHeader;
using format::EntryPtr;
using format::kMaxHeight;

namespace {

bool IsLive(const EntryHeader& entry) { return entry.state() == format::kStateLive; }

/// True when the chunk's entries are in L1 only: not in a log, not in L0, not on their way.
bool IsMerged(const format::ManifestRecord& manifest, ChunkKind kind, uint64_t table_id) {
  if (kind != ChunkKind::kCollected) return table_id <= manifest.merged_table_id;
  return table_id <= manifest.collected_table_id && table_id != manifest.merging_table_id;
}

}  // namespace

uint64_t CountLiveBytes(const pmem::PmemPool& pool, uint64_t chunk) {
  uint64_t live = 0;
  log::ForEachEntry(pool, chunk, [&](uint64_t, const EntryHeader& entry) {
    if (IsLive(entry)) live += entry.size();
  });
  return live;
}

ChunkSurvey SurveyChunks(const pmem::PmemPool& pool, const pmem::ChunkUsage& usage,
                         const format::ManifestRecord& manifest, double live_ratio) {
  ChunkSurvey survey;
  const auto limit = static_cast<int64_t>(live_ratio * static_cast<double>(pool.chunk_bytes()));
  for (uint64_t chunk = 0; chunk < pool.chunks(); ++chunk) {
    // Read once: the chunk may be freed and begin its next life while it is looked at.
    const format::ChunkState state = pool.StateOf(chunk);
    const ChunkKind kind = state.kind();
    // Write-ahead chunks hold no entries of tables: a flush retires them.
    if (!format::HoldsEntries(kind) || kind == ChunkKind::kWriteAhead) continue;
    if (usage.IsKnown(chunk) && usage.Live(chunk) > limit) {
      ++survey.counted;
      survey.live += usage.Live(chunk);
      continue;
    }
    Result<log::LogChunk> header = log::ReadLogChunk(pool, chunk);
    if (!header.ok() || !IsMerged(manifest, kind, header->table_id)) continue;
    if (!usage.IsKnown(chunk)) {
      survey.unknown.push_back(chunk);
      continue;
    }
    ++survey.counted;
    survey.live += usage.Live(chunk);
    if (usage.Live(chunk) == 0) {
      survey.empty.push_back({chunk, state.generation()});
    } else {
      survey.sparse.push_back(chunk);
    }
  }
  std::sort(survey.sparse.begin(), survey.sparse.end(),
            [&](uint64_t a, uint64_t b) { return usage.Live(a) < usage.Live(b); });
  return survey;
}

namespace {

/// The live entries worth copying of as many chunks as fit.
std::vector<const EntryHeader*> GatherLive(const pmem::PmemPool& pool,
                                           const std::vector<uint64_t>& chunks, uint64_t max_bytes,
                                           CollectedTable* collected) {
  std::vector<const EntryHeader*> live;
  uint64_t bytes = 0;
  for (const uint64_t chunk : chunks) {
    std::vector<const EntryHeader*> here;
    uint64_t here_bytes = 0;
    bool movable = true;
    log::ForEachEntry(pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (!IsLive(entry)) return;
      // A copy gets new checks: damage must not be copied, or nobody would see it again.
      if (entry.has(format::kValueInExtent) || !log::EntryVerifies(pool, offset)) movable = false;
      here.push_back(&entry);
      here_bytes += entry.size();
    });
    if (!movable) {
      collected->unmovable.push_back(chunk);
      continue;
    }
    if (bytes + here_bytes > max_bytes) break;
    collected->copied.push_back(chunk);
    bytes += here_bytes;
    live.insert(live.end(), here.begin(), here.end());
  }
  const auto before = [](const EntryHeader* a, const EntryHeader* b) {
    const int order = a->key().compare(b->key());
    return order != 0 ? order < 0 : a->sequence() > b->sequence();
  };
  // By a heap: it stays within the list even if the medium fails meanwhile and the keys change.
  std::make_heap(live.begin(), live.end(), before);
  std::sort_heap(live.begin(), live.end(), before);
  return live;
}

}  // namespace

Result<format::TableRecord> CopyEntries(pmem::PmemPool* pool, pmem::ChunkUsage* usage,
                                        const std::vector<const EntryHeader*>& entries,
                                        uint64_t table_id, uint32_t head, uint64_t fewer_than) {
  format::TableRecord record{table_id, 0, format::kTableOfCopies, head, 0, 0};
  // A shard a region: copies stay where their originals are.
  log::IndexUnifiedLog copies(pool, table_id, pool->regions(), ChunkKind::kCollected);
  level::CopiedList list(pool);
  uint64_t random = table_id;
  const auto give_back = [&] {
    for (const uint64_t chunk : copies.chunks()) {
      usage->Set(chunk, 0);
      pool->FreeChunk(chunk);
    }
  };
  for (const EntryHeader* original : entries) {
    log::Draft draft;
    draft.op = original->op();
    draft.key = original->key();
    draft.value = original->value();
    draft.key_hash = base::Hash64(draft.key);
    random = base::Mix(random, original->sequence_and_op);
    const uint32_t shard = pool->RegionOf(pool->OffsetOf(original));
    if (Status s = copies.Place(shard, &draft, 1, random, pmem::AllocationClass::kBackground);
        !s.ok()) {
      give_back();
      return s;
    }
    copies.WritePayload(&draft);
    // A copy stands alone: its write was whole long ago.
    copies.Seal(draft, original->sequence(), format::kFirstOfUnit, 0);
    copies.Accept(shard);
    list.Append(draft.offset);
    ++record.entries;
    usage->Add(pool->ChunkOf(draft.offset), pool->As<EntryHeader>(draft.offset)->size());
  }
  if (copies.chunks().size() >= fewer_than) {
    give_back();
    record.entries = 0;
    return record;
  }
  list.Close(format::kTableHeadsOffset + head * sizeof(format::TableHead));
  return record;
}

Result<CollectedTable> CopyLiveEntries(pmem::PmemPool* pool, pmem::ChunkUsage* usage,
                                       const std::vector<uint64_t>& chunks, uint64_t table_id,
                                       uint32_t head, uint64_t max_bytes) {
  CollectedTable collected;
  const std::vector<const EntryHeader*> live = GatherLive(*pool, chunks, max_bytes, &collected);
  Result<format::TableRecord> record =
      CopyEntries(pool, usage, live, table_id, head, collected.copied.size());
  if (!record.ok()) return record.status();
  collected.record = *record;
  if (record->entries == 0) {
    // Nothing is gained: large entries waste the ends of chunks, or there was room for few. The
    // copies would be as sparse, and be copied again, without end.
    collected.unmovable.insert(collected.unmovable.end(), collected.copied.begin(),
                               collected.copied.end());
    collected.copied.clear();
  }
  return collected;
}

}  // namespace braid::compaction
