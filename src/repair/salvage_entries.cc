// Purpose: the first half of a salvage: finds all entries, and decides which belong to complete
// writes.
// Thread safety, invariants, persistence: see salvage.h.
#include <algorithm>
#include <map>
#include <utility>

#include "repair/log_parts.h"
#include "repair/salvage.h"

namespace braid::repair {

namespace {
constexpr char kEndOfLog[] =
    "the log ends here; the bytes after it are from a torn write or from an earlier use of the "
    "chunk, or they are damaged";
}  // namespace

using format::EntryHeader;
using format::EntryPtr;
using format::LogChunkHeader;

class Salvage::ChunkVisitor final : public recovery::EntryVisitor {
 public:
  ChunkVisitor(Salvage* salvage, ScannedChunk* chunk)
      : salvage_(salvage), chunk_(chunk), believes_marks_(!salvage->map_.IsOpenLog(*chunk)) {}

  void Entry(uint64_t offset, const EntryHeader& entry) override {
    const bool is_void = entry.state() == format::kStateVoid;
    if (gap_.bytes != 0) TakeGap(is_void);
    if (is_void) return;  // of a write that was never whole
    if (salvage_->map_.IsOfNoTable(*chunk_, entry)) return;
    salvage_->candidates_.push_back({offset, salvage_->FactsOf(offset, entry, believes_marks_)});
  }
  /// Before the entry that ends it.
  void Gap(uint64_t begin, uint64_t end) override { gap_ = {begin, end - begin}; }

 private:
  void TakeGap(bool before_void) {
    const media::PoolImage::Range gap = std::exchange(gap_, {});
    if (salvage_->map_.has_leaves()) {
      salvage_->gaps_.push_back(gap);
    } else if (before_void) {
      // The write that recovery has left out as a crash had torn it.
    } else {
      chunk_->gaps.push_back(gap);
    }
  }

  Salvage* salvage_;
  ScannedChunk* chunk_;
  const bool believes_marks_;
  media::PoolImage::Range gap_;
};

uint16_t Salvage::FactsOf(uint64_t offset, const EntryHeader& entry, bool believes_marks) {
  const bool live = entry.state() != format::kStateObsolete || !believes_marks;
  uint16_t facts = values_.IsIntact(entry, live) ? kValueIntact : 0;
  if (entry.state() == format::kStateLive) {
    if (!redo_.MarksObsolete(offset)) facts |= kLive;
  } else if (entry.state() == format::kStateCarrier) {
    facts |= kLive | kLinked | kCarrier;  // the same write as the one that refers to it
  } else if (entry.state() != format::kStateObsolete) {
    facts |= kLive | kStateDamaged;
  } else if (!believes_marks) {
    facts |= kLive;
  }
  return facts;
}

void Salvage::ReadEntries(const std::function<void(double)>& progress) {
  for (const EntryChunk& chunk : map_.TakeEntryChunks()) chunks_.emplace_back(chunk);
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (progress && i % 16 == 0) {
      progress(static_cast<double>(i) / static_cast<double>(chunks_.size()));
    }
    ScannedChunk& chunk = chunks_[i];
    chunk.first_candidate = candidates_.size();
    ChunkVisitor visitor(this, &chunk);
    chunk.end_of_entries = recovery::ScanEntries(RegionOf(chunk), &visitor);
    chunk.candidates = candidates_.size() - chunk.first_candidate;
  }
  report_.chunks = chunks_.size();
  report_.entries = candidates_.size();
}

/// Whether a flush has linked the entry: then its write was whole. In a log the upper links are
/// zero, and the bottom one leads to an older version of the key, or is zero.
bool Salvage::WasLinked(const EntryHeader& entry) const {
  for (uint32_t layer = 1; layer < entry.height(); ++layer) {
    if (entry.links()[layer] != 0) return true;
  }
  const EntryPtr bottom{entry.links()[0]};
  if (bottom.raw == 0 || !bottom.IsValid()) return false;
  if (bottom.IsEnd()) return true;
  const uint64_t chunk = bottom.offset() / pool_->chunk_bytes();
  const auto found =
      std::lower_bound(chunks_.begin(), chunks_.end(), chunk,
                       [](const ScannedChunk& a, uint64_t number) { return a.chunk < number; });
  if (found == chunks_.end() || found->chunk != chunk) return false;
  const EntryHeader* next = recovery::EntryIn(RegionOf(*found), bottom.offset());
  return next != nullptr && next->key() != entry.key();
}

Salvage::Candidate* Salvage::FindCandidate(uint64_t offset) {
  const auto found = std::lower_bound(
      candidates_.begin(), candidates_.end(), offset,
      [](const Candidate& candidate, uint64_t number) { return candidate.offset < number; });
  return found != candidates_.end() && found->offset == offset ? &*found : nullptr;
}

void Salvage::Commit(uint64_t offset) {
  if (Candidate* candidate = FindCandidate(offset)) candidate->facts |= kCommitted;
}

/// Else a part of a write would count without the rest.
void Salvage::PlaceChunks() {
  if (pool_->lost_page_cache() || map_.has_leaves()) return;
  std::vector<LogPart> parts;
  std::vector<ScannedChunk*> chunks;
  for (ScannedChunk& chunk : chunks_) {
    if (chunk.collected || chunk.candidates == 0 || !(chunk.has_header || chunk.is_log)) continue;
    const EntryHeader& first = *EntryOf(candidates_[chunk.first_candidate]);
    const EntryHeader& last = *EntryOf(candidates_[chunk.first_candidate + chunk.candidates - 1]);
    parts.push_back({.has_header = chunk.has_header,
                     .header = &chunk.header,
                     .used = chunk.end_of_entries - chunk.chunk * pool_->chunk_bytes(),
                     .first = first.sequence(),
                     .last = last.sequence(),
                     .begins_within = !first.has(format::kFirstOfUnit),
                     .ends_within = last.has(format::kMoreOfUnit)});
    chunks.push_back(&chunk);
  }
  PlaceParts(&parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    ScannedChunk& chunk = *chunks[i];
    if (chunk.has_header || !parts[i].has_header) continue;
    chunk.has_header = true;
    if (!map_.IsOpenLog(chunk)) continue;
    for (size_t c = 0; c < chunk.candidates; ++c) {
      Candidate& candidate = candidates_[chunk.first_candidate + c];
      candidate.facts = FactsOf(candidate.offset, *EntryOf(candidate), false);
    }
  }
}

void Salvage::JudgeLogs() {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<ScannedChunk*>> logs;
  for (ScannedChunk& chunk : chunks_) {
    if (!map_.IsOpenLog(chunk)) NoteGaps(&chunk);
    if (map_.LostHeaderWithPower(chunk)) {
      std::vector<ScannedChunk*> alone{&chunk};
      JudgeLog(&alone);
      continue;
    }
    if (chunk.has_header && !chunk.collected && !map_.has_leaves()) {
      logs[{chunk.header.table_id, chunk.header.shard}].push_back(&chunk);
      if (!map_.IsFlushed(chunk)) continue;
    }
    // Of a table: its writes were whole, or marked void before it was flushed. Of a chunk that does
    // not say: what is live counts, and of the obsolete what can't be of a torn write.
    const bool whole = pool_->has_manifest() && map_.IsFlushed(chunk) && !map_.has_leaves();
    for (size_t i = 0; i < chunk.candidates; ++i) {
      Candidate& candidate = candidates_[chunk.first_candidate + i];
      const EntryHeader& entry = *EntryOf(candidate);
      const bool alone = entry.has(format::kFirstOfUnit) && !entry.has(format::kMoreOfUnit);
      if (candidate.is(kLive) ||
          (candidate.is(kValueIntact) && (whole || alone || WasLinked(entry)))) {
        candidate.facts |= kCommitted;
      }
      if (map_.IsFlushed(chunk) && !map_.has_leaves()) candidate.facts |= kFlushed;
    }
  }
  for (auto& [place, chunks] : logs) {
    std::sort(chunks.begin(), chunks.end(), [](const ScannedChunk* a, const ScannedChunk* b) {
      return a->header.ordinal < b->header.ordinal;
    });
    NoteEnds(chunks);
    JudgeGaps(chunks);
    if (!map_.IsFlushed(*chunks[0])) JudgeLog(&chunks);
  }
}

/// The writes of one shard's log that was not flushed, or of which that is not known.
void Salvage::JudgeLog(std::vector<ScannedChunk*>* chunks) {
  recovery::UnitCollector units;
  for (size_t i = 0; i < chunks->size(); ++i) {
    const ScannedChunk& chunk = *(*chunks)[i];
    uint64_t end = chunk.chunk * pool_->chunk_bytes() + sizeof(LogChunkHeader);
    const uint32_t expected = i == 0 ? 0 : (*chunks)[i - 1]->header.ordinal + 1;
    if (chunk.header.ordinal != expected) units.Break();
    for (size_t c = 0; c < chunk.candidates; ++c) {
      const Candidate& candidate = candidates_[chunk.first_candidate + c];
      if (candidate.offset != end) units.Break();
      units.Take(candidate.offset, *EntryOf(candidate), candidate.is(kValueIntact));
      end = candidate.offset + EntryOf(candidate)->size();
    }
    if (i + 1 == chunks->size() ||
        end != chunk.chunk * pool_->chunk_bytes() + (*chunks)[i + 1]->header.previous_used) {
      units.Break();
    }
  }
  for (const uint64_t offset : units.committed()) Commit(offset);
  for (const uint64_t offset : units.broken()) {
    const EntryHeader* entry = pool_->EntryAt(offset);
    if (!pool_->lost_page_cache()) {
      Commit(offset);  // another write began behind, so it was acknowledged, and is damaged
    } else {
      findings_.Note(offset, entry->size(), "log entry",
                     "its write is incomplete: a power loss took a part of it before it was "
                     "synced, or it is damaged; left out",
                     false, entry);
    }
  }
  const bool linked = !pool_->has_manifest() &&
                      std::any_of(units.tail().begin(), units.tail().end(), [&](uint64_t offset) {
                        return WasLinked(*pool_->EntryAt(offset));
                      });
  for (const uint64_t offset : units.tail()) {
    if (linked) {
      Commit(offset);
      continue;
    }
    const EntryHeader* entry = pool_->EntryAt(offset);
    findings_.Note(
        offset, entry->size(), "log entry",
        "the last write of its shard is incomplete: a crash tore it, or it is damaged; left out",
        false, entry);
  }
}

bool Salvage::MayBeOfAnExtent(const ScannedChunk& chunk) const noexcept {
  if (!pool_->lost_page_cache() || !map_.IsFlushed(chunk)) return false;
  for (size_t i = 0; i < chunk.candidates; ++i) {
    if (candidates_[chunk.first_candidate + i].is(kLive)) return false;
  }
  return true;
}

/// Bytes without an entry in a chunk of a table, or in one that does not say what it is of.
void Salvage::NoteGaps(ScannedChunk* chunk) {
  for (const media::PoolImage::Range& gap : std::exchange(chunk->gaps, {})) {
    findings_.Note(gap.offset, gap.bytes, "entry", "no intact entry is in these bytes",
                   !MayHaveGaps(*chunk));
  }
}

/// Bytes without an entry in a log: behind which another write begins, or of the last one, which a
/// crash may have torn.
void Salvage::JudgeGaps(const std::vector<ScannedChunk*>& chunks) {
  std::vector<media::PoolImage::Range> open;
  const auto note = [&](bool lost) {
    for (const media::PoolImage::Range& gap : open) {
      findings_.Note(
          gap.offset, gap.bytes, "entry",
          lost ? "no intact entry is in these bytes"
               : "no intact entry is in these bytes; a crash or power loss tore their write",
          lost);
    }
    open.clear();
  };
  for (const ScannedChunk* chunk : chunks) {
    size_t next = 0;
    for (size_t c = 0; c < chunk->candidates; ++c) {
      const Candidate& candidate = candidates_[chunk->first_candidate + c];
      while (next < chunk->gaps.size() && chunk->gaps[next].offset < candidate.offset) {
        open.push_back(chunk->gaps[next++]);
      }
      if (EntryOf(candidate)->has(format::kFirstOfUnit)) note(!MayHaveGaps(*chunk));
    }
  }
  note(false);
}

/// Where each chunk of a log ends, by what the next one says; and chunks that are missing.
void Salvage::NoteEnds(const std::vector<ScannedChunk*>& chunks) {
  const bool flushed = map_.IsFlushed(*chunks[0]);
  // From here on chunks were taken for a write that was under way: the last one.
  size_t last_write = chunks.size();
  while (last_write > 1 && chunks[last_write - 1]->header.within_unit != 0) --last_write;
  const std::string log = "log of table " + std::to_string(chunks[0]->header.table_id) +
                          ", shard " + std::to_string(chunks[0]->header.shard);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const ScannedChunk& chunk = *chunks[i];
    const uint64_t begin = chunk.chunk * pool_->chunk_bytes();
    const uint32_t expected = i == 0 ? 0 : chunks[i - 1]->header.ordinal + 1;
    // Chunks of tables are freed one by one.
    if (!flushed && pool_->has_manifest() && chunk.header.ordinal != expected) {
      findings_.Note(begin, 0, log, "the chunk before this one is missing, or has lost its header",
                     !MayHaveGaps(chunk));
    }
    const uint64_t end = begin + pool_->chunk_bytes();
    if (i + 1 < chunks.size() && chunks[i + 1]->header.ordinal == chunk.header.ordinal + 1) {
      const LogChunkHeader& next = chunks[i + 1]->header;
      const uint64_t used = begin + std::min(next.previous_used, pool_->chunk_bytes());
      // A write that a crash interrupted may have left nothing here.
      const bool torn = i + 1 >= last_write;
      if (chunk.end_of_entries < used && !(torn && flushed)) {
        findings_.Note(
            chunk.end_of_entries, used - chunk.end_of_entries, torn ? "log entry" : "entry",
            torn ? kEndOfLog : "no intact entry is in these bytes", !torn && !MayHaveGaps(chunk));
      }
      continue;
    }
    if (flushed) continue;  // links tell what is missing here
    const char* rest = pool_->base() + chunk.end_of_entries;
    if (std::any_of(rest, pool_->base() + end, [](char byte) { return byte != 0; })) {
      findings_.Note(chunk.end_of_entries, end - chunk.end_of_entries, "log entry", kEndOfLog,
                     false);
    }
  }
}

}  // namespace braid::repair
