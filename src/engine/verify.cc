// Purpose: the complete check of a database while it is open. Thread safety, invariants,
// persistence: see lsm_engine.h.
#include <algorithm>

#include "compaction/garbage_collection.h"
#include "engine/lsm_engine.h"
#include "level/level_check.h"
#include "log/log_reader.h"

namespace braid::engine {

using format::ChunkKind;

Status LsmEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  // Merges and flushes wait meanwhile, so that counts mean something; reads and writes go on.
  const std::lock_guard merge_lock(merge_mutex_);
  const std::lock_guard flush_lock(flush_mutex_);
  const std::lock_guard checkpoint_lock(checkpoint_mutex_);
  if (closed()) return Status::Closed();
  return VerifyAll(report, progress);
}

void LsmEngine::CheckTables(const format::ManifestRecord& manifest,
                            const std::function<void(double)>& progress,
                            level::CheckTotals* totals) {
  const auto intact = [&](uint64_t offset) { return log::EntryVerifies(*pool_, offset); };
  uint64_t heads = 0;
  for (uint32_t i = 0; i < manifest.table_count; ++i) {
    if (progress) progress(0.8 * i / manifest.table_count);
    const format::TableRecord& record = manifest.tables[i];
    const bool merging = manifest.merge_id != 0 && manifest.merging_table_id == record.id;
    uint64_t expected = record.entries;
    if (merging) expected -= std::min(expected, resumed_merge_.merged_entries);
    const bool unknown =
        (record.flags & format::kEntriesNotCounted) != 0 || (merging && !resumed_merge_.counted);
    if (record.level == 1 && manifest.merge_id != 0) {
      expected =
          static_cast<uint64_t>(static_cast<int64_t>(expected) + resumed_merge_.entries_delta);
    }
    const level::PmemTable table(pool_.get(), record, true);
    const std::string name =
        "L" + std::to_string(record.level) + " table " + std::to_string(record.id);
    if ((heads >> record.head & 1) != 0) totals->problems.push_back(name + ": shares its head");
    heads |= 1ull << record.head;
    const uint64_t counted =
        level::CheckTable(table, name, merging ? resumed_merge_.boundary : 0,
                          unknown ? level::kAnyCount : expected, intact, totals);
    if (record.level == 1 && manifest.merge_id == 0 && unknown && totals->problems.empty()) {
      SetEntriesOfL1(counted);
    }
  }
}

/// L1 was counted as a whole while no merge could change it.
void LsmEngine::SetEntriesOfL1(uint64_t entries) {
  const std::lock_guard lock(structure_mutex_);
  level::PmemTable& l1 = *state_owner_->version->l1;
  l1.set_counted(entries);
  // Durable with the next commit; until then it is not known, which is true as well.
  if (format::TableRecord* record = manifest_.FindTable(l1.id())) *record = l1.record();
}

/// What is live in a chunk of tables is what their lists link, and what is counted.
void LsmEngine::CheckChunk(uint64_t chunk, const format::ManifestRecord& manifest,
                           level::CheckTotals* totals) const {
  // A chunk that is given back now would be written to while it is looked at.
  const auto reclaim_lock = reclaimer_.Hold();
  const ChunkKind kind = pool_->StateOf(chunk).kind();
  if (!format::HoldsEntries(kind) || kind == ChunkKind::kWriteAhead) return;
  Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
  if (!header.ok()) {
    totals->problems.emplace_back(header.status().message());
    return;
  }
  const uint64_t limit =
      kind == ChunkKind::kCollected ? manifest.collected_table_id : manifest.flushed_table_id;
  if (header->table_id > limit) return;  // a log: its entries are not in a table yet
  uint64_t live = 0;
  log::ForEachEntry(*pool_, chunk, [&](uint64_t, const format::EntryHeader& entry) {
    totals->max_sequence = std::max(totals->max_sequence, entry.sequence());
    if (entry.state() == format::kStateLive) live += entry.size();
  });
  // Entries a resumed merge has taken but not accounted, and copies beside their originals, are
  // in two lists or none for a while.
  if (manifest.merge_id != 0) return;
  const auto linked = totals->linked_bytes.find(chunk);
  const uint64_t linked_bytes = linked != totals->linked_bytes.end() ? linked->second : 0;
  const auto problem = [&](uint64_t other, const char* how) {
    totals->problems.emplace_back(
        pool_
            ->CorruptionAt(
                pool_->ChunkOffset(chunk), "chunk",
                std::to_string(live) + " bytes of entries are live, " + std::to_string(other) + how)
            .message());
  };
  if (live != linked_bytes) problem(linked_bytes, " are linked");
  if (usage_.IsKnown(chunk) && static_cast<uint64_t>(usage_.Live(chunk)) != live) {
    problem(static_cast<uint64_t>(usage_.Live(chunk)), " are accounted for");
  }
}

Status LsmEngine::VerifyAll(VerifyReport* report, const std::function<void(double)>& progress) {
  *report = VerifyReport{};
  format::ManifestRecord manifest;
  {
    const std::lock_guard lock(structure_mutex_);
    manifest = ManifestOfNow();
  }
  level::CheckTotals totals;
  CheckTables(manifest, progress, &totals);
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    if (progress && chunk % 256 == 0) {
      progress(0.8 + 0.2 * static_cast<double>(chunk) / static_cast<double>(pool_->chunks()));
    }
    if (closed()) return Status::Closed();
    ++report->chunks;
    CheckChunk(chunk, manifest, &totals);
  }
  CheckSpace(&totals);
  // The same through the read path: what a user would see, each value checked. Not where a dead
  // entry is linked: readers take it for one that a merge has just unlinked, and look again.
  if (!totals.links_dead) {
    const std::unique_ptr<Iterator> all = NewIterator({});
    for (all->SeekToFirst(); all->Valid(); all->Next()) ++report->live_entries;
    // Lack of memory is no damage.
    if (Status s = all->status(); s.IsCorruption()) {
      totals.problems.emplace_back(s.message());
    } else if (!s.ok()) {
      return s;
    }
  }
  report->entries = totals.entries;
  report->links = totals.links;
  report->bytes = totals.bytes;
  report->problems = std::move(totals.problems);
  if (progress) progress(1.0);
  return report->problems.empty() ? Status::OK() : Status::Corruption(report->problems[0]);
}

}  // namespace braid::engine
