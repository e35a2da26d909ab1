// Purpose: the complete check of a database while it is open. Thread safety, invariants,
// persistence: see lsm_engine.h.
#include <algorithm>
#include <cstring>

#include "compaction/garbage_collection.h"
#include "engine/lsm_engine.h"
#include "level/level_check.h"
#include "log/log_reader.h"

namespace braid::engine {

using format::ChunkKind;

namespace {

/// Live bytes of a chunk; raises `highest` to the highest sequence number of all its entries.
uint64_t CountEntries(const pmem::PmemPool& pool, uint64_t chunk, uint64_t* highest) {
  uint64_t live = 0;
  log::ForEachEntry(pool, chunk, [&](uint64_t, const format::EntryHeader& entry) {
    *highest = std::max(*highest, entry.sequence());
    if (entry.state() == format::kStateLive) live += entry.size();
  });
  return live;
}

}  // namespace

Status LsmEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  // Merges and flushes wait meanwhile, so that counts mean something; reads and writes go on.
  const std::lock_guard merge_lock(merge_mutex_);
  const std::lock_guard flush_lock(flush_mutex_);
  if (closed()) return Status::Closed();
  return VerifyAll(report, progress);
}

/// An extent belongs to an entry of a table, or to a write that is under way.
void LsmEngine::CheckExtent(uint64_t extent, const format::ManifestRecord& manifest,
                            level::CheckTotals* totals) const {
  format::ExtentHeader header;
  std::memcpy(&header, pool_->At(extent), sizeof header);
  const uint64_t owner_chunk = pool_->ChunkOf(header.owner);
  if (owner_chunk < pool_->chunks() && pool_->StateOf(owner_chunk).kind() == ChunkKind::kLog) {
    Result<log::LogChunk> chunk = log::ReadLogChunk(*pool_, owner_chunk);
    if (chunk.ok() && chunk->table_id > manifest.flushed_table_id) return;  // still in the log
  }
  if (recovery::OwnerOf(*pool_, extent) == recovery::ExtentOwner::kNobody) {
    totals->problems.emplace_back(
        pool_->CorruptionAt(extent, "extent", "no entry owns it").message());
  }
}

/// No entry has a number that is yet to be handed out.
void LsmEngine::CheckSequence(uint64_t highest, level::CheckTotals* totals) {
  // A batch under way publishes its numbers before it lets go of the lock.
  const std::lock_guard batch_lock(batch_mutex_);
  if (const uint64_t last = sequence_.load(); highest > last) {
    totals->problems.push_back("an entry has sequence number " + std::to_string(highest) +
                               ", the last one handed out is " + std::to_string(last));
  }
}

Status LsmEngine::VerifyAll(VerifyReport* report, const std::function<void(double)>& progress) {
  *report = VerifyReport{};
  std::shared_ptr<const ReadState> state;
  format::ManifestRecord manifest;
  {
    const std::lock_guard lock(structure_mutex_);
    state = state_owner_;
    manifest = manifest_.record();
  }
  const auto intact = [&](uint64_t offset) { return log::EntryVerifies(*pool_, offset); };
  level::CheckTotals totals;
  for (uint32_t i = 0; i < manifest.table_count; ++i) {
    if (progress) progress(0.8 * i / manifest.table_count);
    const format::TableRecord& record = manifest.tables[i];
    const bool merging = manifest.merge_id != 0 && manifest.merging_table_id == record.id;
    uint64_t expected = record.entries;
    if (merging) expected -= std::min(expected, resumed_merge_.merged_entries);
    if (record.level == 1 && manifest.merge_id != 0) {
      expected =
          static_cast<uint64_t>(static_cast<int64_t>(expected) + resumed_merge_.entries_delta);
    }
    const level::PmemTable table(pool_.get(), record, true);
    const std::string name =
        "L" + std::to_string(record.level) + " table " + std::to_string(record.id);
    level::CheckTable(table, name, merging ? resumed_merge_.boundary : 0, expected, intact,
                      &totals);
  }
  uint64_t highest_sequence = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    if (progress && chunk % 256 == 0) {
      progress(0.8 + 0.2 * static_cast<double>(chunk) / static_cast<double>(pool_->chunks()));
    }
    ++report->chunks;
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    if (kind == ChunkKind::kExtentHead) CheckExtent(pool_->ChunkOffset(chunk), manifest, &totals);
    if (kind != ChunkKind::kLog && kind != ChunkKind::kCollected) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
    if (!header.ok()) {
      totals.problems.emplace_back(header.status().message());
      continue;
    }
    const uint64_t live = CountEntries(*pool_, chunk, &highest_sequence);
    const uint64_t limit =
        kind == ChunkKind::kLog ? manifest.flushed_table_id : manifest.collected_table_id;
    if (header->table_id > limit) continue;  // a log: its entries are not in a table yet
    const uint64_t linked = totals.linked_bytes[chunk];
    // Entries a resumed merge has taken but not accounted, and copies beside their originals, are
    // in two lists or none for a while.
    if (manifest.merge_id == 0 && live != linked) {
      totals.problems.push_back(
          std::string(pool_
                          ->CorruptionAt(pool_->ChunkOffset(chunk), "chunk",
                                         std::to_string(live) + " bytes of entries are live, " +
                                             std::to_string(linked) + " are linked")
                          .message()));
    }
  }
  CheckSequence(highest_sequence, &totals);
  // The same through the read path: what a user would see, each value checked.
  const std::unique_ptr<Iterator> all = NewIterator({});
  for (all->SeekToFirst(); all->Valid(); all->Next()) ++report->live_entries;
  if (Status s = all->status(); !s.ok()) totals.problems.emplace_back(s.message());
  report->entries = totals.entries;
  report->links = totals.links;
  report->bytes = totals.bytes;
  report->problems = std::move(totals.problems);
  if (progress) progress(1.0);
  return report->problems.empty() ? Status::OK() : Status::Corruption(report->problems[0]);
}

}  // namespace braid::engine
