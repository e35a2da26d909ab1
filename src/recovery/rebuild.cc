// Purpose: the rebuild after a power loss on page-cache media. Thread safety, invariants,
// persistence: see rebuild.h.
#include "recovery/rebuild.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/mutants.h"
#include "flush/link_flush.h"
#include "log/log_reader.h"
#include "memtable/dram_memtable.h"

namespace braid::recovery {

using format::ChunkKind;
using format::EntryHeader;

namespace {

/// Entries of one shard's log, in order, with the units that are whole.
class UnitCollector {
 public:
  explicit UnitCollector(const pmem::PmemPool& pool) : pool_(pool) {}

  /// Reads a chunk; behind a damaged entry it looks for the next intact one.
  void ReadChunk(uint64_t chunk) {
    uint64_t offset = pool_.ChunkOffset(chunk) + sizeof(format::LogChunkHeader);
    const uint64_t end = pool_.ChunkOffset(chunk) + pool_.chunk_bytes();
    while (offset + sizeof(EntryHeader) <= end) {
      if (!log::EntryVerifies(pool_, offset)) {
        unit_.clear();
        offset += 8;
        continue;
      }
      const EntryHeader* entry = pool_.EntryAt(offset);
      Take(*entry, offset);
      offset += entry->size();
    }
  }
  void BreakUnit() { unit_.clear(); }
  const std::vector<uint64_t>& committed() const { return committed_; }
  uint64_t max_sequence() const { return max_sequence_; }

 private:
  void Take(const EntryHeader& entry, uint64_t offset) {
    max_sequence_ = std::max(max_sequence_, entry.sequence());
    if (entry.has(format::kFirstOfUnit)) {
      unit_.clear();
    } else if (unit_.empty()) {
      return;  // its beginning is lost
    }
    unit_.push_back(offset);
    if (entry.has(format::kMoreOfUnit)) return;
    committed_.insert(committed_.end(), unit_.begin(), unit_.end());
    unit_.clear();
  }

  const pmem::PmemPool& pool_;
  std::vector<uint64_t> unit_;
  std::vector<uint64_t> committed_;
  uint64_t max_sequence_ = 0;
};

/// Entries of chunks whose batches are known to be whole, since the table was synced and flushed.
void CollectFlushed(const pmem::PmemPool& pool, uint64_t chunk, std::vector<uint64_t>* entries,
                    uint64_t* max_sequence) {
  uint64_t offset = pool.ChunkOffset(chunk) + sizeof(format::LogChunkHeader);
  const uint64_t end = pool.ChunkOffset(chunk) + pool.chunk_bytes();
  while (offset + sizeof(EntryHeader) <= end) {
    if (!log::EntryVerifies(pool, offset)) {
      offset += 8;
      continue;
    }
    const EntryHeader* entry = pool.EntryAt(offset);
    entries->push_back(offset);
    *max_sequence = std::max(*max_sequence, entry->sequence());
    offset += entry->size();
  }
}

}  // namespace

Status RebuildFromEntries(pmem::PmemPool* pool, level::Manifest* manifest,
                          pmem::ChunkUsage* usage) {
  format::ManifestRecord& record = manifest->record();
  std::map<std::pair<uint64_t, uint32_t>, std::vector<log::LogChunk>> logs;
  std::vector<uint64_t> entries;
  uint64_t max_sequence = record.last_sequence;
  uint64_t max_id = record.next_table_id;
  for (uint64_t chunk = 0; chunk < pool->chunks(); ++chunk) {
    const ChunkKind kind = pool->StateOf(chunk).kind();
    if (kind != ChunkKind::kLog && kind != ChunkKind::kCollected) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool, chunk);
    if (!header.ok()) {
      pool->FreeChunk(
          chunk);  // its allocation did not reach the medium, so nothing in it was synced
      continue;
    }
    max_id = std::max(max_id, header->table_id + 1);
    if (kind == ChunkKind::kLog && header->table_id > record.flushed_table_id) {
      logs[{header->table_id, header->shard}].push_back(*header);
    } else {
      CollectFlushed(*pool, chunk, &entries, &max_sequence);
    }
  }
  if (BRAID_MUTANT(kRebuildForgetsLogs)) logs.clear();
  for (auto& [place, chunks] : logs) {
    std::sort(chunks.begin(), chunks.end(),
              [](const log::LogChunk& a, const log::LogChunk& b) { return a.ordinal < b.ordinal; });
    UnitCollector collector(*pool);
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i > 0 && chunks[i].ordinal != chunks[i - 1].ordinal + 1) collector.BreakUnit();
      collector.ReadChunk(chunks[i].chunk);
    }
    entries.insert(entries.end(), collector.committed().begin(), collector.committed().end());
    max_sequence = std::max(max_sequence, collector.max_sequence());
  }
  memtable::DramMemTable table(pool, 0);
  for (const uint64_t offset : entries) {
    if (pool->As<EntryHeader>(offset)->state() == format::kStateLive) table.InsertRecovered(offset);
  }
  const format::TableRecord* l1 = manifest->FindTable(level::Manifest::kL1Id);
  if (l1 == nullptr) return Status::Corruption("the manifest names no L1 table");
  const uint64_t head = format::kTableHeadsOffset + l1->head * sizeof(format::TableHead);
  flush::LinkFlush flush(pool, usage);
  Result<flush::FlushResult> linked = flush.Run(*table.tree(), {}, head);
  if (!linked.ok()) return linked.status();
  if (Status s = pool->media().Sync(); !s.ok()) return s;

  format::TableRecord rebuilt = *l1;
  rebuilt.entries = linked->entries;
  rebuilt.max_sequence = linked->max_sequence;
  while (record.table_count > 0) manifest->RemoveTable(record.tables[0].id);
  manifest->AddTable(rebuilt);
  record.merge_id = 0;
  record.merging_table_id = 0;
  record.next_table_id = max_id;
  record.flushed_table_id = max_id - 1;
  record.merged_table_id = max_id - 1;
  record.collected_table_id = max_id - 1;
  record.last_sequence = max_sequence;
  manifest->Commit();
  return pool->media().Sync();
}

}  // namespace braid::recovery
