// Purpose: survey and copying collection.
// Thread safety, invariants, persistence: see garbage_collection.h.
#include "compaction/garbage_collection.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/compare.h"
#include "base/prefetch.h"
#include "level/copied_entries.h"
#include "log/log_reader.h"

namespace braid::compaction {

using format::ChunkKind;
using format::EntryHeader;
using format::EntryPtr;
using index::Replacement;

namespace {

bool IsLive(const EntryHeader& entry) { return entry.state() == format::kStateLive; }

/// True when the chunk's entries are in L1 only: not in a log, not in L0, not on their way.
bool IsMerged(const format::ManifestState& manifest, ChunkKind kind, uint64_t table_id) {
  if (kind != ChunkKind::kCollected) return table_id <= manifest.merged_table_id;
  return table_id <= manifest.collected_table_id && manifest.MergeOf(table_id) == nullptr;
}

}  // namespace

uint64_t CountLiveBytes(const pool::PmemPool& pool, uint64_t chunk) {
  uint64_t live = 0;
  log::ForEachEntry(pool, chunk, [&](uint64_t, const EntryHeader& entry) {
    if (entry.is_kept()) live += entry.size();
  });
  return live;
}

ChunkSurvey SurveyChunks(const pool::PmemPool& pool, const pool::ChunkUsage& usage,
                         const format::ManifestState& manifest, double live_ratio) {
  BRAID_DCHECK(live_ratio >= 0 && live_ratio <= 1);
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
  BRAID_DCHECK(survey.empty.size() + survey.sparse.size() <= survey.counted);
  std::sort(survey.sparse.begin(), survey.sparse.end(),
            [&](uint64_t a, uint64_t b) { return usage.Live(a) < usage.Live(b); });
  return survey;
}

NewlyEmpty WithoutRetiring(const std::vector<pool::ChunkId>& empty,
                           const std::vector<pool::ChunkId>& retiring) {
  const auto in_order = [](const pool::ChunkId& a, const pool::ChunkId& b) {
    return a.chunk < b.chunk;
  };
  BRAID_DCHECK(std::is_sorted(empty.begin(), empty.end(), in_order));
  BRAID_DCHECK(std::is_sorted(retiring.begin(), retiring.end(), in_order));
  NewlyEmpty fresh;
  size_t at = 0;
  for (const pool::ChunkId& chunk : empty) {
    ++fresh.looked_at;
    for (; at < retiring.size() && retiring[at].chunk < chunk.chunk; ++at) ++fresh.looked_at;
    const bool is_retiring = at < retiring.size() && retiring[at] == chunk;
    if (!is_retiring) fresh.chunks.push_back(chunk);
  }
  BRAID_DCHECK(fresh.looked_at <= empty.size() + retiring.size());  // each is gone through once
  return fresh;
}

/// By the first bytes of their keys, so that few entries are looked at again.
void SortAsList(const pool::PmemPool& pool, std::vector<Replacement>* entries) {
  struct Front {
    uint64_t high;
    uint64_t low;
    uint64_t entry;
    bool operator<(const Front& other) const {
      return high != other.high ? high < other.high : low < other.low;
    }
  };
  std::vector<Front> fronts;
  fronts.reserve(entries->size());
  for (const Replacement& entry : *entries) {
    const std::string_view key = log::Verified(pool, entry.from)->key();
    fronts.push_back({base::WordAt(key, 0), base::WordAt(key, 8), entry.from});
  }
  std::sort(fronts.begin(), fronts.end());
  for (size_t i = 0; i < fronts.size(); ++i) (*entries)[i] = {fronts[i].entry, 0};
  const auto before = [&pool](const Replacement& a, const Replacement& b) {
    const EntryHeader* left = log::Verified(pool, a.from);
    const EntryHeader* right = log::Verified(pool, b.from);
    const int order = left->key().compare(right->key());
    return order != 0 ? order < 0 : left->sequence() > right->sequence();
  };
  // By a heap: it stays within the list even if the medium fails meanwhile and the keys change.
  for (size_t i = 0; i < fronts.size();) {
    size_t end = i + 1;
    while (end < fronts.size() && !(fronts[i] < fronts[end])) ++end;
    const auto at = entries->begin() + static_cast<std::ptrdiff_t>(i);
    if (end - i > 1) {
      const auto behind = entries->begin() + static_cast<std::ptrdiff_t>(end);
      std::make_heap(at, behind, before);
      std::sort_heap(at, behind, before);
    }
    i = end;
  }
}

namespace {

/// The live entries worth copying of as many chunks as fit.
std::vector<Replacement> GatherLive(const pool::PmemPool& pool, const std::vector<uint64_t>& chunks,
                                    uint64_t max_bytes, CollectedTable* collected) {
  std::vector<Replacement> live;
  uint64_t bytes = 0;
  for (const uint64_t chunk : chunks) {
    std::vector<Replacement> here;
    uint64_t here_bytes = 0;
    bool movable = true;
    log::ForEachEntry(pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (!IsLive(entry)) return;
      // A copy gets new checks: damage must not be copied, or nobody would see it again.
      if (entry.has(format::kValueInExtent) || !log::EntryVerifies(pool, offset)) movable = false;
      here.push_back({offset, 0});
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
  BRAID_DCHECK(bytes <= max_bytes);
  BRAID_DCHECK(collected->copied.size() + collected->unmovable.size() <= chunks.size());
  SortAsList(pool, &live);
  return live;
}

/// Writes copies of entries, large values included.
class CopyWriter {
 public:
  CopyWriter(pool::PmemPool* pool, pool::ChunkUsage* usage, uint64_t table_id)
      : pool_(pool), copies_(pool, usage, table_id, ChunkKind::kCollected) {}

  /// Takes extents for the copies of those `entries` that have one.
  Status ReserveExtents(const std::vector<Replacement>& entries) {
    BRAID_DCHECK(reserved_.empty());  // what was taken before would be forgotten
    for (const Replacement& entry : entries) {
      const uint64_t extent = pool_->ExtentOf(entry.from);
      if (extent == 0) continue;
      const format::ExtentHeader* header = pool_->ExtentAt(extent);
      if (header == nullptr) return pool_->FaultStatus();  // it was there a moment ago
      const uint64_t bytes = header->value_bytes;
      // The copy would hold the value itself, and have no use for an extent.
      if (bytes <= log::LargestInlineValue(*pool_)) {
        return pool_->CorruptionAt(entry.from, "log entry", "its value is too small for an extent");
      }
      reserved_.push_back({entry.from, extent, bytes, 0, false});
    }
    std::sort(reserved_.begin(), reserved_.end(),
              [](const Large& a, const Large& b) { return a.bytes > b.bytes; });
    for (Large& large : reserved_) {
      Result<uint64_t> taken = pool_->ReserveExtent(large.bytes, pool_->RegionOf(large.entry),
                                                    pool::AllocationClass::kBackground);
      if (!taken.ok()) return taken.status();
      BRAID_DCHECK(*taken != 0);  // which says that none is taken
      large.copy = *taken;
    }
    std::sort(reserved_.begin(), reserved_.end(),
              [](const Large& a, const Large& b) { return a.entry < b.entry; });
    // An entry has one value, and its copy one extent.
    BRAID_DCHECK(
        std::adjacent_find(reserved_.begin(), reserved_.end(), [](const Large& a, const Large& b) {
          return a.entry == b.entry;
        }) == reserved_.end());
    return Status::OK();
  }

  /// Returns the place of the copy.
  Result<uint64_t> Copy(uint64_t offset) {
    const EntryHeader* original = log::Verified(*pool_, offset);
    log::PendingEntry pending;
    pending.op = original->op();
    pending.key = original->key();
    pending.value = original->value();
    Large* const large = LargeOf(offset);
    if (large != nullptr) CopyValue(*large, &pending);
    pending.key_hash = base::Hash64(pending.key);
    pending.value_check = original->value_check;
    Result<uint64_t> copy = copies_.Add(&pending, original->sequence(), pool_->RegionOf(offset));
    if (copy.ok() && large != nullptr) large->is_bound = true;
    return copy;
  }
  size_t chunks() const { return copies_.chunks(); }
  void Close(uint32_t head) { copies_.Close(pool_->HeadOffset(head)); }
  void GiveBack() {
    for (const Large& large : reserved_) {
      if (large.copy == 0) continue;
      if (large.is_bound) {
        pool_->FreeExtent(large.copy);
      } else {
        pool_->CancelExtent(large.copy, large.bytes);
      }
    }
    copies_.GiveBack();
  }

 private:
  /// A large value that is moved.
  struct Large {
    uint64_t entry;
    uint64_t extent;
    uint64_t bytes;
    uint64_t copy;  // 0: none is taken
    bool is_bound;
  };
  /// Null when the value lies in the entry.
  Large* LargeOf(uint64_t entry) {
    const auto found =
        std::lower_bound(reserved_.begin(), reserved_.end(), entry,
                         [](const Large& large, uint64_t offset) { return large.entry < offset; });
    return found != reserved_.end() && found->entry == entry ? &*found : nullptr;
  }
  void CopyValue(const Large& large, log::PendingEntry* pending) {
    BRAID_DCHECK(large.copy != 0 && !large.is_bound);  // each is moved once
    pending->value = {pool_->At(large.extent + sizeof(format::ExtentHeader)), large.bytes};
    pending->reserved = large.copy;
    pending->extent_ref = {large.copy, large.bytes, base::Hash64(pending->value)};
    log::WriteToExtent(pool_, large.copy, pending->value);
  }

  pool::PmemPool* pool_;
  level::CopiedEntries copies_;
  std::vector<Large> reserved_;
};

}  // namespace

Result<format::TableRecord> CopyEntries(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                        std::vector<Replacement>* entries, uint64_t table_id,
                                        uint32_t head, uint64_t fewer_than) {
  constexpr size_t kAhead = 12;         // entries asked for ahead of the copy
  constexpr uint64_t kMaxAsked = 1024;  // bytes of one; the hardware reads on
  CopyWriter writer(pool, usage, table_id);
  uint64_t likely_bytes = 128;
  size_t copied = 0;
  for (size_t i = 0; i < entries->size(); ++i) {
    if (i + kAhead < entries->size()) {
      base::PrefetchRange(pool->At((*entries)[i + kAhead].from), likely_bytes);
    }
    const uint64_t offset = (*entries)[i].from;
    if (!log::EntryVerifies(*pool, offset)) continue;
    likely_bytes = std::min(log::Verified(*pool, offset)->size(), kMaxAsked);
    Result<uint64_t> copy = writer.Copy(offset);
    if (!copy.ok()) {
      writer.GiveBack();
      return copy.status();
    }
    (*entries)[copied++] = {offset, *copy};
  }
  entries->resize(copied);
  if (writer.chunks() >= fewer_than) {
    writer.GiveBack();
    entries->clear();
  } else {
    writer.Close(head);
  }
  return format::TableRecord{table_id, 0, format::kTableOfCopies, head, entries->size(), 0};
}

Result<format::TableRecord> MoveEntries(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                        const std::vector<uint64_t>& entries, uint64_t table_id,
                                        uint32_t head) {
  std::vector<Replacement> moved;
  moved.reserve(entries.size());
  for (const uint64_t entry : entries) moved.push_back({entry, 0});
  SortAsList(*pool, &moved);
  CopyWriter writer(pool, usage, table_id);
  Status s = writer.ReserveExtents(moved);
  for (size_t i = 0; i < moved.size() && s.ok(); ++i) s = writer.Copy(moved[i].from).status();
  if (!s.ok()) {
    writer.GiveBack();
    return s;
  }
  writer.Close(head);
  return format::TableRecord{table_id, 0, format::kTableOfCopies, head, moved.size(), 0};
}

Result<CollectedTable> CopyLiveEntries(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                       const std::vector<uint64_t>& chunks, uint64_t table_id,
                                       uint32_t head, uint64_t max_bytes) {
  CollectedTable collected;
  std::vector<Replacement> live = GatherLive(*pool, chunks, max_bytes, &collected);
  Result<format::TableRecord> record =
      CopyEntries(pool, usage, &live, table_id, head, collected.copied.size());
  if (!record.ok()) return record.status();
  collected.record = *record;
  BRAID_DCHECK(record->entries == live.size());
  BRAID_DCHECK(record->entries == 0 || !collected.copied.empty());
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
