// Purpose: walks over a store's tables, chunks, extents and logs.
// Thread safety, invariants, persistence: see verifier.h.
#include "lsm/verifier.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "log/log_reader.h"
#include "recovery/recovery_job.h"

namespace braid::lsm {

using format::ChunkKind;

bool Verifier::CheckTables(base::FunctionRef<bool()> is_closed) {
  BRAID_DCHECK(chunks_ == 0 && heads_.empty());  // an object checks once
  are_live_entries_linked_ = AreLiveEntriesLinked();
  double checked = 0;
  for (const format::TableRecord& table : manifest_.tables) {
    Progress(0.8 * checked++ / static_cast<double>(manifest_.tables.size()));
    // Marking its entries was interrupted; there are copies of all.
    if ((table.flags & format::kTableOfOriginals) != 0) continue;
    CheckTable(table);
  }
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    if (chunk % 256 == 0) {
      Progress(0.8 + 0.2 * static_cast<double>(chunk) / static_cast<double>(pool_.chunks()));
    }
    if (is_closed()) return false;
    ++chunks_;
    CheckChunk(chunk);
  }
  return true;
}

/// Of the open merge of a table; nothing where none is open.
merge::BatchProgress Verifier::ProgressOf(uint64_t table_id) const {
  const auto found = store_.open_merges->find(table_id);
  const bool is_open = manifest_.MergeOf(table_id) != nullptr;
  return is_open && found != store_.open_merges->end() ? found->second : merge::BatchProgress();
}

/// Whether an entry of a table that is live is in one list, and no other: not while copies are
/// beside their originals, and not where a crash has left a merge without records, of which nobody
/// knows what it has left out. Of others a batch moves entries, and marks those that it leaves out,
/// as a whole.
bool Verifier::AreLiveEntriesLinked() const {
  constexpr uint16_t kCopied =
      format::kTableOfCopies | format::kTableWasCopied | format::kTableOfOriginals;
  for (const format::TableRecord& table : manifest_.tables) {
    if ((table.flags & kCopied) != 0) return false;
  }
  return std::all_of(manifest_.merges.begin(), manifest_.merges.end(), [this](const auto& merge) {
    return merge.id == 0 || ProgressOf(merge.source_id).counted;
  });
}

void Verifier::CheckTable(const format::TableRecord& record) {
  const merge::BatchProgress open_merge = ProgressOf(record.id);
  const bool merging = manifest_.MergeOf(record.id) != nullptr;
  const bool unknown =
      (record.flags & format::kEntriesNotCounted) != 0 || (merging && !open_merge.counted);
  uint64_t expected = record.entries;
  if (merging) expected -= std::min(expected, open_merge.merged_entries);
  for (const format::MergeRecord& merge : manifest_.merges) {
    if (merge.id == 0 || merge.target_id != record.id) continue;
    const int64_t delta = ProgressOf(merge.source_id).entries_delta;
    expected = static_cast<uint64_t>(static_cast<int64_t>(expected) + delta);
  }
  const level::PmemTable table(&pool_, record, true);
  const std::string name =
      "L" + std::to_string(record.level) + " table " + std::to_string(record.id);
  if (!heads_.insert(record.head).second) {
    AddProblem(table.head_offset(), "table", name + " shares its head with another");
  }
  const uint64_t counted = level::CheckTable(
      table, name, merging ? open_merge.boundary : 0, unknown ? level::kAnyCount : expected,
      [this](uint64_t offset) { return log::EntryVerifies(pool_, offset); }, &totals_);
  const bool is_bottom = record.level + 1u == manifest_.level_count;
  if (is_bottom && !table.is_of_run() && !manifest_.AnyMerge() && unknown &&
      totals_.problems.empty()) {
    store_.versions->Lock().SetEntriesOfBottom(counted);
  }
}

/// What is live in a chunk of tables is what their lists link, and what is counted.
void Verifier::CheckChunk(uint64_t chunk) {
  // A chunk that is given back now would be written to while it is looked at.
  const auto reclaim_lock = store_.reclaimer->Hold();
  const ChunkKind kind = pool_.StateOf(chunk).kind();
  if (!format::HoldsEntries(kind) || kind == ChunkKind::kWriteAhead) return;
  const Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
  if (!header.ok()) return AddProblem(header.status());
  const uint64_t limit =
      kind == ChunkKind::kCollected ? manifest_.collected_table_id : manifest_.flushed_table_id;
  if (header->table_id > limit) return;  // a log: its entries are not in a table yet
  if (manifest_.left_behind.Has(kind, header->table_id)) {  // it is about to be freed
    if (!store_.usage->IsKnown(chunk) || store_.usage->Live(chunk) != 0) {
      AddProblem(pool_.ChunkOffset(chunk), "chunk",
                 "a merge has left it behind, but it is counted");
    }
    return;
  }
  uint64_t live = 0;
  log::ForEachEntry(pool_, chunk, [&](uint64_t, const format::EntryHeader& entry) {
    totals_.max_sequence = std::max(totals_.max_sequence, entry.sequence());
    if (entry.is_kept()) live += entry.size();
  });
  if (!are_live_entries_linked_) return;
  const auto problem = [&](uint64_t other, const char* how) {
    AddProblem(pool_.ChunkOffset(chunk), "chunk",
               std::to_string(live) + " bytes of entries are live, " + std::to_string(other) + how);
  };
  const auto linked = totals_.linked_bytes.find(chunk);
  const uint64_t linked_bytes = linked != totals_.linked_bytes.end() ? linked->second : 0;
  if (live != linked_bytes) problem(linked_bytes, " are linked");
  // What a merge has made obsolete is subtracted once its batch is durable, or by its end.
  if (manifest_.AnyMerge() || !store_.usage->IsKnown(chunk)) return;
  const auto counted = static_cast<uint64_t>(store_.usage->Live(chunk));
  if (counted != live) problem(counted, " are accounted for");
}

void Verifier::CheckSpace() {
  const auto versions = std::as_const(*store_.versions).Lock();
  for (std::string& problem : pool_.CheckAllocator(versions.record().redo_chunks())) {
    totals_.problems.push_back(std::move(problem));
  }
  CheckExtents(versions);
  CheckUsage(versions);
  const uint64_t live = CheckLogs(versions);
  uint64_t known = versions.state().active->entries();
  for (const auto& table : versions.state().immutables) known += table->entries();
  if (live > known) {
    AddProblem(format::kManifestOffset[0], "logs",
               std::to_string(live) + " entries are live, only " + std::to_string(known) +
                   " are in a memtable");
  }
  const uint64_t last = store_.sequence->load();
  if (totals_.max_sequence > last) {
    AddProblem(format::kManifestOffset[0], "manifest",
               "an entry has the sequence number " + std::to_string(totals_.max_sequence) +
                   ", the last one drawn is " + std::to_string(last));
  }
}

/// The sum of what is accounted for, by which the tier is filled, is that of chunks of tables.
void Verifier::CheckUsage(const level::VersionSet::ConstLocked& versions) {
  if (versions.loading_table_id() != 0) return;  // a load goes on, and counts what it writes
  uint64_t live = 0;
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    if (!store_.usage->IsKnown(chunk) || store_.usage->Live(chunk) == 0) continue;
    const auto counted = static_cast<uint64_t>(store_.usage->Live(chunk));
    live += counted;
    if (format::HoldsEntries(pool_.StateOf(chunk).kind())) continue;
    AddProblem(
        pool_.ChunkOffset(chunk), "chunk",
        "it holds no entries, but " + std::to_string(counted) + " bytes of some are accounted for");
  }
  if (const uint64_t sum = store_.usage->KnownLive(); sum != live) {
    AddProblem(format::kFirstStateTableOffset, "chunks",
               std::to_string(live) + " bytes of entries are accounted for, their sum is " +
                   std::to_string(sum));
  }
}

/// Extents, and that no chunk of one is left without its head.
void Verifier::CheckExtents(const level::VersionSet::ConstLocked& versions) {
  std::unordered_set<uint64_t> retired = store_.reclaimer->RetiredExtents();
  for (const level::WaitingTable& table : versions.waiting()) {
    retired.insert(table.obsolete_extents.begin(), table.obsolete_extents.end());
  }
  uint64_t bodies = 0;
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    const ChunkKind kind = pool_.StateOf(chunk).kind();
    if (kind == ChunkKind::kExtentBody) {
      if (bodies == 0 && !store_.large_values->HasReserved(chunk)) {
        AddProblem(pool_.ChunkOffset(chunk), "chunk", "it belongs to no extent");
      }
      bodies -= bodies == 0 ? 0 : 1;
      continue;
    }
    bodies = 0;
    if (kind != ChunkKind::kExtentHead) continue;
    format::ExtentHeader header;
    std::memcpy(&header, pool_.At(pool_.ChunkOffset(chunk)), sizeof header);
    bodies = header.chunks == 0 ? 0 : header.chunks - 1;
    CheckExtent(pool_.ChunkOffset(chunk), versions, retired);
  }
}

/// An extent belongs to a live entry, or its entry is obsolete and it waits for its readers to
/// leave.
void Verifier::CheckExtent(uint64_t extent, const level::VersionSet::ConstLocked& versions,
                           const std::unordered_set<uint64_t>& retired) {
  const auto problem = [&](const char* what) { AddProblem(extent, "extent", what); };
  format::ExtentHeader header;
  std::memcpy(&header, pool_.At(extent), sizeof header);
  if (header.magic != format::kExtentMagic || header.check != format::StructCheck(header, extent)) {
    return problem("its header's check does not match");
  }
  const uint64_t first = pool_.ChunkOf(extent);
  for (uint64_t i = 1; i < header.chunks; ++i) {
    if (first + i >= pool_.chunks() || pool_.StateOf(first + i).kind() != ChunkKind::kExtentBody) {
      return problem("it has lost a chunk");
    }
  }
  // Of a load under way the entry may not be there yet.
  if (IsBeingLoaded(pool_.ChunkOf(header.owner), versions.loading_table_id())) return;
  if (retired.count(extent) != 0) return;
  const recovery::ExtentOwner owner = recovery::OwnerOf(pool_, extent);
  if (owner == recovery::ExtentOwner::kNobody) return problem("no entry owns it");
  if (owner == recovery::ExtentOwner::kObsolete && !versions.record().AnyMerge()) {
    problem("its entry is obsolete, and nothing will free it");
  }
}

/// Whether the chunk is one of the bulk load under way, of table `loading`; 0: there is none.
bool Verifier::IsBeingLoaded(uint64_t chunk, uint64_t loading) const {
  if (loading == 0 || chunk >= pool_.chunks() ||
      pool_.StateOf(chunk).kind() != ChunkKind::kCopied) {
    return false;
  }
  const Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
  return header.ok() && header->table_id == loading;
}

/// Chunks of logs belong to a memtable, which knows all their live entries. Returns how many these
/// are.
uint64_t Verifier::CheckLogs(const level::VersionSet::ConstLocked& versions) {
  const uint64_t flushed_table_id = versions.RecordToCome().flushed_table_id;
  uint64_t live = 0;
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    const ChunkKind kind = pool_.StateOf(chunk).kind();
    if (!format::HoldsEntries(kind) || kind == ChunkKind::kCollected) continue;
    const Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
    if (!header.ok()) continue;  // CheckChunk has said so
    const bool flushed = header->table_id <= flushed_table_id;
    CheckLog(chunk, kind, header->table_id, flushed, versions);
    if (flushed || kind == ChunkKind::kCopied) continue;
    log::ForEachEntry(pool_, chunk, [&](uint64_t, const format::EntryHeader& entry) {
      live += entry.state() == format::kStateLive ? 1 : 0;
    });
  }
  return live;
}

void Verifier::CheckLog(uint64_t chunk, ChunkKind kind, uint64_t table_id, bool flushed,
                        const level::VersionSet::ConstLocked& versions) {
  const auto problem = [&](const char* what) {
    AddProblem(pool_.ChunkOffset(chunk), "chunk", what);
  };
  // A write-ahead log is freed when its table is committed and its readers have left; a flush that
  // failed frees copies.
  if (kind == ChunkKind::kWriteAhead && table_id <= versions.logs_retired_to() &&
      !store_.reclaimer->IsRetired({chunk, pool_.StateOf(chunk).generation()})) {
    problem("its table has copies of its entries, and nothing will free it");
  }
  if (flushed) return;
  if (kind == ChunkKind::kCopied) {
    if (table_id != versions.loading_table_id()) {
      problem("its entries are copies for a table that does not exist");
    }
  } else if (table_id >= versions.next_table_id() || totals_.linked_bytes.count(chunk) != 0) {
    problem("its entries belong to no memtable, or to a table as well");
  }
}

Status Verifier::Report(VerifyReport* report) {
  report->chunks = chunks_;
  report->entries = totals_.entries;
  report->links = totals_.links;
  report->bytes = totals_.bytes;
  report->problems = std::move(totals_.problems);
  Progress(1.0);
  return report->problems.empty() ? Status::OK() : Status::Corruption(report->problems[0]);
}

}  // namespace braid::lsm
