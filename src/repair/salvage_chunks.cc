// Purpose: the first half of a salvage: what lies where, and which entries belong to whole writes.
// Thread safety, invariants, persistence: see salvage.h.
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "repair/salvage.h"

namespace braid::repair {

using format::ChunkKind;
using format::ChunkState;
using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;
using format::LogChunkHeader;

void Salvage::LoadManifest() {
  for (int i = 0; i < 2; ++i) {
    const uint64_t place = format::kManifestOffset[i];
    if (!image_->Holds(place, format::kManifestBytes)) continue;
    const auto extension = [this](uint64_t chunk, uint64_t offset, uint64_t bytes) -> const char* {
      const uint64_t at = chunk * geometry_.chunk_bytes + offset;
      const bool is_there =
          chunk < format::kMaxId / geometry_.chunk_bytes && image_->Holds(at, bytes);
      return is_there ? image_->base() + at : nullptr;
    };
    format::ManifestState state;
    uint32_t version = 0;
    if (!format::DecodeManifest(image_->base() + place, i, geometry_.chunk_bytes, extension, &state,
                                &version)) {
      Note(place, sizeof(format::ManifestRecord), "manifest copy " + std::to_string(i + 1),
           "its check does not match", false);
    } else if (!has_manifest_ || state.commit_count > manifest_.commit_count) {
      manifest_ = std::move(state);
      has_manifest_ = true;
    }
  }
}

/// A merge that was interrupted had said in its newest record what it was about to do, and may have
/// done a part of it.
void Salvage::ReadRedo() {
  struct Newest {
    uint64_t batch = 0;
    uint64_t place = 0;
  };
  std::map<uint64_t, Newest> newest;  // by the number of the merge
  for (const format::MergeRecord& merge : manifest_.merges) {
    if (merge.id != 0) newest[merge.id] = {};
  }
  for (const uint64_t place : redo_chunks_) {
    format::RedoHeader header;
    std::memcpy(&header, image_->base() + place, sizeof header);
    const uint64_t room = (geometry_.chunk_bytes - sizeof header) / sizeof(format::RedoUpdate);
    const auto merge = newest.find(header.merge_id);
    if (header.magic != format::kRedoMagic || merge == newest.end() || header.count > room ||
        header.batch <= merge->second.batch) {
      continue;
    }
    const char* body = image_->base() + place + sizeof header;
    const uint64_t check = base::Mix(format::StructCheck(header, place),
                                     base::Hash64(body, header.count * sizeof(format::RedoUpdate)));
    if (check == header.check) merge->second = {header.batch, place};
  }
  for (const auto& [id, record] : newest) {
    if (record.batch != 0) TakeUpdates(record.place);
  }
}

/// Of the redo record at `place`, which is intact.
void Salvage::TakeUpdates(uint64_t place) {
  format::RedoHeader header;
  std::memcpy(&header, image_->base() + place, sizeof header);
  for (uint32_t i = 0; i < header.count; ++i) {
    format::RedoUpdate update;
    std::memcpy(&update, image_->base() + place + sizeof header + i * sizeof update, sizeof update);
    if ((update.target & format::kRedoMarkObsolete) != 0) {
      // Not so after a loss of the page cache: of an original and its copy a rebuild that was
      // interrupted may have chosen the one that the merge was about to drop.
      if (!links_mean_something_) continue;
      redo_obsolete_.insert(update.target & format::kOffsetMask);
    } else {
      redo_links_.push_back(update.value);
    }
  }
}

void Salvage::ClassifyChunks() {
  for (const SegmentPlace& segment : geometry_.segments) {
    for (const uint64_t i : ChunksToLookAt(segment)) {
      ClassifyChunk(segment, segment.base / geometry_.chunk_bytes + i);
    }
  }
}

/// Those that hold any bytes, or have a state: a header, or a file that is one hole, may claim any
/// size. Ascending.
std::vector<uint64_t> Salvage::ChunksToLookAt(const SegmentPlace& segment) const {
  const media::PoolImage::File& file = image_->files()[segment.file];
  const uint64_t unit = geometry_.chunk_bytes;
  const uint64_t count = std::min(segment.bytes, (file.bytes + unit - 1) / unit * unit) / unit;
  const uint64_t meta = format::MetaChunks(segment.index, segment.bytes, unit, geometry_.regions);
  const uint64_t table = segment.state_table() - segment.base;
  std::vector<uint64_t> found;
  for (const media::PoolImage::Range& data : file.data) {
    const uint64_t end = data.offset + data.bytes;
    for (uint64_t i = data.offset / unit; i * unit < end; ++i) found.push_back(i);
    const uint64_t first = std::max(data.offset, table);
    for (uint64_t at = (first + 7) / 8 * 8; at + 8 <= std::min(end, table + count * 8); at += 8) {
      uint64_t word;
      std::memcpy(&word, image_->base() + segment.base + at, sizeof word);
      if (word != 0) found.push_back((at - table) / 8);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [&](uint64_t i) { return i < meta || i >= count; });
  return found;
}

void Salvage::ClassifyChunk(const SegmentPlace& segment, uint64_t chunk) {
  const uint64_t place = chunk * geometry_.chunk_bytes;
  const uint64_t word =
      segment.state_table() + (chunk - segment.base / geometry_.chunk_bytes) * sizeof(uint64_t);
  ChunkState state;
  std::memcpy(&state.raw, image_->base() + word, sizeof state.raw);
  EntryChunk found;
  found.chunk = chunk;
  std::memcpy(&found.header, image_->base() + place, sizeof found.header);
  found.has_header = found.header.magic == format::kLogChunkMagic &&
                     found.header.check == format::StructCheck(found.header, place);
  format::ExtentHeader extent;
  std::memcpy(&extent, image_->base() + place, sizeof extent);
  const bool is_extent =
      extent.magic == format::kExtentMagic && extent.check == format::StructCheck(extent, place);
  const std::string name = "chunk state " + std::to_string(chunk);
  if (!state.IsValid(chunk)) {
    if (found.has_header) {
      Note(word, sizeof word, name, "its check does not match; the chunk's own header was used",
           false);
      found.generation = found.header.generation;
      chunks_.push_back(found);
    } else if (is_extent) {
      Note(word, sizeof word, name, "its check does not match", false);
    } else {
      unknown_chunks_.push_back(place);
      redo_chunks_.push_back(place);
    }
    return;
  }
  const bool holds_entries = format::HoldsEntries(state.kind());
  found.generation = state.generation();
  found.collected = state.kind() == ChunkKind::kCollected || state.kind() == ChunkKind::kCopied;
  found.is_log = format::IsLogKind(state.kind());
  has_leaves_ = has_leaves_ || state.kind() == ChunkKind::kLeaf;
  has_leaf_index_ = has_leaf_index_ || state.kind() == ChunkKind::kLeafIndex;
  if (state.kind() == ChunkKind::kRedo) redo_chunks_.push_back(place);
  if (state.kind() == ChunkKind::kExtentHead && !is_extent) {
    Note(place, sizeof extent, "extent header", "its check does not match", false);
  }
  if (found.has_header && found.header.generation > state.generation() &&
      found.header.generation >= GenerationFloor()) {  // else: lost with power, and known
    // The chunk began another life and its state does not know. Between the two stores of an
    // allocation there is no entry yet; otherwise the state is an old one.
    EntryChunk later;
    later.chunk = chunk;
    later.generation = found.header.generation;
    later.has_header = true;
    later.header = found.header;
    if (recovery::EntryIn(RegionOf(later), place + sizeof(LogChunkHeader)) != nullptr) {
      Note(word, sizeof word, name, "it is of an earlier life of the chunk", false);
      if (links_mean_something_) {
        chunks_.push_back(later);
        return;
      }
      // The power took the state from the page cache: nothing of that life had been synced.
    }
  }
  const bool knows_life = found.has_header && found.header.generation == state.generation();
  if (!holds_entries || (knows_life && IsLeftOut(found, state.kind()))) {
    idle_chunks_.push_back(chunk);
    return;
  }
  if (!knows_life) {
    found.has_header = false;
    Note(place, sizeof(LogChunkHeader), "log chunk header", "its check does not match", false);
  }
  chunks_.push_back(found);
}

/// A log whose table has copies of all that counts in it, and which was about to be freed; copies
/// of a flush, a bulk load or a collection that was not committed: no caller ever saw its success.
bool Salvage::IsLeftOut(const EntryChunk& chunk, ChunkKind kind) const noexcept {
  if (!has_manifest_) return false;
  const uint64_t id = chunk.header.table_id;
  switch (kind) {
    case ChunkKind::kWriteAhead:
      return id <= manifest_.flushed_table_id;
    case ChunkKind::kCopied:
      return id > manifest_.flushed_table_id;
    case ChunkKind::kCollected:
      return id > manifest_.collected_table_id;
    default:
      return false;
  }
}

class Salvage::ChunkVisitor final : public recovery::EntryVisitor {
 public:
  ChunkVisitor(Salvage* salvage, EntryChunk* chunk)
      : salvage_(salvage), chunk_(chunk), believes_marks_(!salvage->IsOpenLog(*chunk)) {}

  void Entry(uint64_t offset, const EntryHeader& entry) override {
    const bool is_void = entry.state() == format::kStateVoid;
    if (gap_.bytes != 0) TakeGap(is_void);
    if (is_void) return;  // of a write that was never whole
    if (salvage_->IsOfNoTable(*chunk_, entry)) return;
    const bool live = entry.state() != format::kStateObsolete || !believes_marks_;
    uint16_t facts = salvage_->ValueIsIntact(entry, live) ? kValueIntact : 0;
    if (entry.state() == format::kStateLive) {
      if (!salvage_->redo_obsolete_.contains(offset)) facts |= kLive;
    } else if (entry.state() != format::kStateObsolete) {
      facts |= kLive | kStateDamaged;
    } else if (!believes_marks_) {
      facts |= kLive;
    }
    salvage_->candidates_.push_back({offset, facts});
  }
  /// Before the entry that ends it.
  void Gap(uint64_t begin, uint64_t end) override { gap_ = {begin, end - begin}; }

 private:
  void TakeGap(bool before_void) {
    const media::PoolImage::Range gap = std::exchange(gap_, {});
    if (salvage_->has_leaves_) {
      salvage_->gaps_.push_back(gap);
    } else if (before_void) {
      // The write that recovery has left out as a crash had torn it.
    } else {
      chunk_->gaps.push_back(gap);
    }
  }

  Salvage* salvage_;
  EntryChunk* chunk_;
  const bool believes_marks_;
  media::PoolImage::Range gap_;
};

recovery::EntryRegion Salvage::RegionOf(const EntryChunk& chunk) const {
  const uint64_t begin = chunk.chunk * geometry_.chunk_bytes;
  return {image_->base(), begin, begin + geometry_.chunk_bytes, chunk.generation};
}

void Salvage::ReadEntries(const std::function<void(double)>& progress) {
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (progress && i % 16 == 0) {
      progress(static_cast<double>(i) / static_cast<double>(chunks_.size()));
    }
    EntryChunk& chunk = chunks_[i];
    chunk.first_candidate = candidates_.size();
    ChunkVisitor visitor(this, &chunk);
    chunk.end_of_entries = recovery::ScanEntries(RegionOf(chunk), &visitor);
    chunk.candidates = candidates_.size() - chunk.first_candidate;
  }
  report_.chunks = chunks_.size();
  report_.entries = candidates_.size();
}

bool Salvage::IsFlushed(const EntryChunk& chunk) const noexcept {
  if (chunk.collected) return true;
  return has_manifest_ && chunk.has_header && chunk.header.table_id <= manifest_.flushed_table_id;
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
  const uint64_t chunk = bottom.offset() / geometry_.chunk_bytes;
  const auto found =
      std::lower_bound(chunks_.begin(), chunks_.end(), chunk,
                       [](const EntryChunk& a, uint64_t number) { return a.chunk < number; });
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

void Salvage::JudgeLogs() {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<EntryChunk*>> logs;
  for (EntryChunk& chunk : chunks_) {
    if (!IsOpenLog(chunk)) NoteGaps(&chunk);
    if (LostHeaderWithPower(chunk)) {
      std::vector<EntryChunk*> alone{&chunk};
      JudgeLog(&alone);
      continue;
    }
    if (chunk.has_header && !chunk.collected && !has_leaves_) {
      logs[{chunk.header.table_id, chunk.header.shard}].push_back(&chunk);
      if (!IsFlushed(chunk)) continue;
    }
    // Of a table: its writes were whole, or marked void before it was flushed. Of a chunk that does
    // not say: what is live counts, and of the obsolete what can't be of a torn write.
    const bool whole = has_manifest_ && IsFlushed(chunk) && !has_leaves_;
    for (size_t i = 0; i < chunk.candidates; ++i) {
      Candidate& candidate = candidates_[chunk.first_candidate + i];
      const EntryHeader& entry = *EntryOf(candidate);
      const bool alone = entry.has(format::kFirstOfUnit) && !entry.has(format::kMoreOfUnit);
      if (candidate.is(kLive) ||
          (candidate.is(kValueIntact) && (whole || alone || WasLinked(entry)))) {
        candidate.facts |= kCommitted;
      }
      if (IsFlushed(chunk) && !has_leaves_) candidate.facts |= kFlushed;
    }
  }
  for (auto& [place, chunks] : logs) {
    std::sort(chunks.begin(), chunks.end(), [](const EntryChunk* a, const EntryChunk* b) {
      return a->header.ordinal < b->header.ordinal;
    });
    NoteEnds(chunks);
    JudgeGaps(chunks);
    if (!IsFlushed(*chunks[0])) JudgeLog(&chunks);
  }
}

/// The writes of one shard's log that was not flushed, or of which that is not known.
void Salvage::JudgeLog(std::vector<EntryChunk*>* chunks) {
  recovery::UnitCollector units;
  for (size_t i = 0; i < chunks->size(); ++i) {
    const EntryChunk& chunk = *(*chunks)[i];
    uint64_t end = chunk.chunk * geometry_.chunk_bytes + sizeof(LogChunkHeader);
    const uint32_t expected = i == 0 ? 0 : (*chunks)[i - 1]->header.ordinal + 1;
    if (chunk.header.ordinal != expected) units.Break();
    for (size_t c = 0; c < chunk.candidates; ++c) {
      const Candidate& candidate = candidates_[chunk.first_candidate + c];
      if (candidate.offset != end) units.Break();
      units.Take(candidate.offset, *EntryOf(candidate), candidate.is(kValueIntact));
      end = candidate.offset + EntryOf(candidate)->size();
    }
    if (i + 1 == chunks->size() ||
        end != chunk.chunk * geometry_.chunk_bytes + (*chunks)[i + 1]->header.previous_used) {
      units.Break();
    }
  }
  for (const uint64_t offset : units.committed()) Commit(offset);
  for (const uint64_t offset : units.broken()) {
    const auto* entry = reinterpret_cast<const EntryHeader*>(image_->base() + offset);
    if (links_mean_something_) {
      Commit(offset);  // another write began behind, so it was acknowledged, and is damaged
    } else {
      Note(offset, entry->size(), "log entry",
           "its write is not whole: the power took a part of it before it was synced, or it is "
           "damaged; left out",
           false, entry);
    }
  }
  const bool linked =
      !has_manifest_ && std::any_of(units.tail().begin(), units.tail().end(), [&](uint64_t offset) {
        return WasLinked(*reinterpret_cast<const EntryHeader*>(image_->base() + offset));
      });
  for (const uint64_t offset : units.tail()) {
    if (linked) {
      Commit(offset);
      continue;
    }
    const auto* entry = reinterpret_cast<const EntryHeader*>(image_->base() + offset);
    Note(offset, entry->size(), "log entry",
         "the last write of its shard is not whole: a crash tore it, or it is damaged; left out",
         false, entry);
  }
}

bool Salvage::MayBeOfAnExtent(const EntryChunk& chunk) const noexcept {
  if (links_mean_something_ || !IsFlushed(chunk)) return false;
  for (size_t i = 0; i < chunk.candidates; ++i) {
    if (candidates_[chunk.first_candidate + i].is(kLive)) return false;
  }
  return true;
}

/// Bytes without an entry in a chunk of a table, or in one that does not say what it is of.
void Salvage::NoteGaps(EntryChunk* chunk) {
  for (const media::PoolImage::Range& gap : std::exchange(chunk->gaps, {})) {
    Note(gap.offset, gap.bytes, "entry", "no intact entry is in these bytes", !MayHaveGaps(*chunk));
  }
}

/// Bytes without an entry in a log: behind which another write begins, or of the last one, which a
/// crash may have torn.
void Salvage::JudgeGaps(const std::vector<EntryChunk*>& chunks) {
  std::vector<media::PoolImage::Range> open;
  const auto note = [&](bool lost) {
    for (const media::PoolImage::Range& gap : open) {
      Note(gap.offset, gap.bytes, "entry",
           lost ? "no intact entry is in these bytes"
                : "no intact entry is in these bytes; a crash or a loss of power tore their write",
           lost);
    }
    open.clear();
  };
  for (const EntryChunk* chunk : chunks) {
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
void Salvage::NoteEnds(const std::vector<EntryChunk*>& chunks) {
  const bool flushed = IsFlushed(*chunks[0]);
  // From here on chunks were taken for a write that was under way: the last one.
  size_t last_write = chunks.size();
  while (last_write > 1 && chunks[last_write - 1]->header.within_unit != 0) --last_write;
  const std::string log = "log of table " + std::to_string(chunks[0]->header.table_id) +
                          ", shard " + std::to_string(chunks[0]->header.shard);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const EntryChunk& chunk = *chunks[i];
    const uint64_t begin = chunk.chunk * geometry_.chunk_bytes;
    const uint32_t expected = i == 0 ? 0 : chunks[i - 1]->header.ordinal + 1;
    // Chunks of tables are freed one by one.
    if (!flushed && has_manifest_ && chunk.header.ordinal != expected) {
      Note(begin, 0, log, "the chunk before this one is missing, or has lost its header",
           !MayHaveGaps(chunk));
    }
    const uint64_t end = begin + geometry_.chunk_bytes;
    if (i + 1 < chunks.size() && chunks[i + 1]->header.ordinal == chunk.header.ordinal + 1) {
      const LogChunkHeader& next = chunks[i + 1]->header;
      const uint64_t used = begin + std::min(next.previous_used, geometry_.chunk_bytes);
      // A write that a crash interrupted may have left nothing here.
      const bool torn = i + 1 >= last_write;
      if (chunk.end_of_entries < used && !(torn && flushed)) {
        Note(chunk.end_of_entries, used - chunk.end_of_entries, "entry",
             "no intact entry is in these bytes", !torn && !MayHaveGaps(chunk));
      }
      continue;
    }
    if (flushed) continue;  // links tell what is missing here
    const char* rest = image_->base() + chunk.end_of_entries;
    if (std::any_of(rest, image_->base() + end, [](char byte) { return byte != 0; })) {
      Note(
          chunk.end_of_entries, end - chunk.end_of_entries, "log entry",
          "the log ends here; the bytes behind are of a torn write or of the chunk's earlier life, "
          "or they are damaged",
          false);
    }
  }
}

}  // namespace braid::repair
