// Purpose: the rebuild after a power loss on page-cache media. Thread safety, invariants,
// persistence: see rebuild.h.
#include "recovery/rebuild.h"

#include <algorithm>
#include <map>
#include <vector>

#include "flush/link_flush.h"
#include "log/log_reader.h"
#include "memtable/dram_memtable.h"
#include "recovery/entry_scan.h"

namespace braid::recovery {

using format::ChunkKind;
using format::EntryHeader;

namespace {

/// Reads chunks of entries and keeps what is whole, value and extent included.
class ChunkReader final : public EntryVisitor {
 public:
  explicit ChunkReader(const pmem::PmemPool& pool) : pool_(pool) {}

  /// Of a chunk of a table, whose writes are known to be whole: the table was synced and flushed.
  void ReadOfTable(uint64_t chunk) { Scan(chunk); }

  /// The chunks of one shard's log, sorted by ordinal: only whole writes of it count.
  void ReadLog(const std::vector<log::LogChunk>& chunks) {
    UnitCollector units;
    units_ = &units;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const uint64_t end = Scan(chunks[i].chunk);
      const bool last = i + 1 == chunks.size();
      // A write may go on in the next chunk, if nothing between the two is missing.
      if (last || chunks[i + 1].ordinal != chunks[i].ordinal + 1 ||
          pool_.ChunkOffset(chunks[i].chunk) + chunks[i + 1].previous_used != end) {
        units.Break();
      }
    }
    units_ = nullptr;
    entries_.insert(entries_.end(), units.committed().begin(), units.committed().end());
  }
  const std::vector<uint64_t>& entries() const { return entries_; }
  uint64_t max_sequence() const { return max_sequence_; }

 private:
  uint64_t Scan(uint64_t chunk) {
    const uint64_t begin = pool_.ChunkOffset(chunk);
    return ScanEntries({pool_.At(0), begin, begin + pool_.chunk_bytes(), pool_.GenerationAt(begin)},
                       this);
  }
  void Entry(uint64_t offset, const EntryHeader& entry) override {
    // The numbers of torn entries count too: they must not be handed out again.
    max_sequence_ = std::max(max_sequence_, entry.sequence());
    if (!log::ValueVerifies(pool_, offset, entry)) {
      if (units_ != nullptr) units_->Break();
    } else if (units_ != nullptr) {
      units_->Take(offset, entry);
    } else {
      entries_.push_back(offset);
    }
  }
  void Gap(uint64_t, uint64_t) override {
    if (units_ != nullptr) units_->Break();
  }

  const pmem::PmemPool& pool_;
  UnitCollector* units_ = nullptr;  // of the log that is being read
  std::vector<uint64_t> entries_;
  uint64_t max_sequence_ = 0;
};

}  // namespace

Status RebuildFromEntries(pmem::PmemPool* pool, level::Manifest* manifest,
                          pmem::ChunkUsage* usage) {
  format::ManifestRecord& record = manifest->record();
  std::map<std::pair<uint64_t, uint32_t>, std::vector<log::LogChunk>> logs;
  ChunkReader reader(*pool);
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
      reader.ReadOfTable(chunk);
    }
  }
  for (auto& [place, chunks] : logs) {
    std::sort(chunks.begin(), chunks.end(),
              [](const log::LogChunk& a, const log::LogChunk& b) { return a.ordinal < b.ordinal; });
    reader.ReadLog(chunks);
  }
  memtable::DramMemTable table(pool, 0);
  // Oldest first: InsertRecovered has nothing to look for then.
  std::vector<uint64_t> entries = reader.entries();
  std::sort(entries.begin(), entries.end(), [&](uint64_t a, uint64_t b) {
    const uint64_t left = pool->As<EntryHeader>(a)->sequence();
    const uint64_t right = pool->As<EntryHeader>(b)->sequence();
    return left != right ? left < right : a < b;
  });
  for (const uint64_t offset : entries) {
    if (pool->As<EntryHeader>(offset)->state() == format::kStateLive) table.InsertRecovered(offset);
  }
  const format::TableRecord* l1 = manifest->FindTable(level::Manifest::kL1Id);
  if (l1 == nullptr)
    return pool->CorruptionAt(format::kManifestOffset[0], "manifest", "it names no L1 table");
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
  record.last_sequence = std::max(record.last_sequence, reader.max_sequence());
  manifest->Commit();
  return pool->media().Sync();
}

}  // namespace braid::recovery
