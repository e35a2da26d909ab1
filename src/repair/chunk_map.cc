// Purpose: classifying the chunks of a damaged pool.
// Thread safety, invariants, persistence: see chunk_map.h.
#include "repair/chunk_map.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"

namespace braid::repair {

using format::ChunkKind;
using format::ChunkState;
using format::LogChunkHeader;

namespace {

std::string NameOfState(uint64_t chunk) { return "chunk state " + std::to_string(chunk); }

}  // namespace

void ChunkMap::Classify() {
  BRAID_DCHECK(entry_chunks_.empty() && idle_chunks_.empty() && unknown_chunks_.empty());
  const Geometry& geometry = pool_.geometry();
  has_leaves_ = geometry.header && (geometry.header->incompat & format::kIncompatLeaves) != 0;
  for (const SegmentPlace& segment : geometry.segments) {
    for (const uint64_t i : ChunksToLookAt(segment)) {
      ClassifyChunk(segment, segment.base / pool_.chunk_bytes() + i);
    }
  }
  BRAID_DCHECK(std::is_sorted(idle_chunks_.begin(), idle_chunks_.end()));
}

/// Those that hold any bytes, or have a state: a header, or a file that is one hole, may claim any
/// size. Ascending.
std::vector<uint64_t> ChunkMap::ChunksToLookAt(const SegmentPlace& segment) const {
  const media::PoolImage::File& file = pool_.image().files()[segment.file];
  const uint64_t unit = pool_.chunk_bytes();
  const uint64_t count = std::min(segment.bytes, (file.bytes + unit - 1) / unit * unit) / unit;
  const uint64_t meta =
      format::MetaChunks(segment.index, segment.bytes, unit, pool_.geometry().regions);
  const uint64_t table = segment.state_table() - segment.base;
  std::vector<uint64_t> found;
  for (const media::PoolImage::Range& data : file.data) {
    const uint64_t end = data.offset + data.bytes;
    for (uint64_t i = data.offset / unit; i * unit < end; ++i) found.push_back(i);
    const uint64_t first = std::max(data.offset, table);
    for (uint64_t at = (first + 7) / 8 * 8; at + 8 <= std::min(end, table + count * 8); at += 8) {
      uint64_t word;
      std::memcpy(&word, pool_.base() + segment.base + at, sizeof word);
      if (word != 0) found.push_back((at - table) / 8);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [&](uint64_t i) { return i < meta || i >= count; });
  return found;
}

void ChunkMap::ClassifyChunk(const SegmentPlace& segment, uint64_t chunk) {
  const uint64_t place = chunk * pool_.chunk_bytes();
  const uint64_t word =
      segment.state_table() + (chunk - segment.base / pool_.chunk_bytes()) * sizeof(uint64_t);
  ChunkState state;
  std::memcpy(&state.raw, pool_.base() + word, sizeof state.raw);
  EntryChunk found;
  found.chunk = chunk;
  std::memcpy(&found.header, pool_.base() + place, sizeof found.header);
  found.has_header = found.header.magic == format::kLogChunkMagic &&
                     found.header.check == format::StructCheck(found.header, place);
  format::ExtentHeader extent;
  std::memcpy(&extent, pool_.base() + place, sizeof extent);
  const bool is_extent =
      extent.magic == format::kExtentMagic && extent.check == format::StructCheck(extent, place);
  if (!state.IsValid(chunk)) {
    ClassifyByHeader(found, is_extent, word);
    return;
  }
  found.generation = state.generation();
  found.SetKind(state.kind());
  has_leaves_ = has_leaves_ || state.kind() == ChunkKind::kLeaf;
  has_leaf_index_ = has_leaf_index_ || state.kind() == ChunkKind::kLeafIndex;
  if (state.kind() == ChunkKind::kRedo) redo_chunks_.push_back(place);
  if (state.kind() == ChunkKind::kExtentHead && !is_extent) {
    findings_->Note(place, sizeof extent, "extent header", "its check does not match", false);
  }
  if (BeganLaterLife(found, word)) return;
  const bool knows_life = found.has_header && found.header.generation == state.generation();
  if (!format::HoldsEntries(state.kind()) || (knows_life && IsLeftOut(found, state.kind()))) {
    idle_chunks_.push_back(chunk);
    return;
  }
  if (!knows_life) {
    found.has_header = false;
    findings_->Note(place, sizeof(LogChunkHeader), "log chunk header", "its check does not match",
                    false);
  }
  entry_chunks_.push_back(found);
}

/// A chunk whose state, at `word`, is damaged.
void ChunkMap::ClassifyByHeader(EntryChunk found, bool is_extent, uint64_t word) {
  const std::string name = NameOfState(found.chunk);
  if (found.has_header) {
    findings_->Note(word, sizeof word, name,
                    "its check does not match; the chunk's own header was used", false);
    found.generation = found.header.generation;
    const auto kind = static_cast<ChunkKind>(found.header.kind);
    if (format::HoldsEntries(kind)) {
      found.SetKind(kind);
      // Of a log it tells the kind at first: a flush may have made it the table's own since.
      if (found.collected && IsLeftOut(found, kind)) {
        idle_chunks_.push_back(found.chunk);
        return;
      }
    }
    entry_chunks_.push_back(found);
  } else if (is_extent) {
    findings_->Note(word, sizeof word, name, "its check does not match", false);
  } else {
    const uint64_t place = found.chunk * pool_.chunk_bytes();
    unknown_chunks_.push_back(place);
    redo_chunks_.push_back(place);
  }
}

/// Whether the chunk was taken in a later life than its state, at `word`, knows of.
bool ChunkMap::BeganLaterLife(const EntryChunk& found, uint64_t word) {
  if (!found.has_header || found.header.generation <= found.generation ||
      found.header.generation < pool_.generation_floor()) {  // lost with power, and known
    return false;
  }
  // The chunk began another life and its state does not know. Between the two stores of an
  // allocation there is no entry yet; otherwise the state is an old one.
  EntryChunk later;
  later.chunk = found.chunk;
  later.generation = found.header.generation;
  later.has_header = true;
  later.header = found.header;
  const uint64_t first = found.chunk * pool_.chunk_bytes() + sizeof(LogChunkHeader);
  if (recovery::EntryIn(pool_.RegionOf(later.chunk, later.generation), first) == nullptr) {
    return false;
  }
  findings_->Note(word, sizeof word, NameOfState(found.chunk),
                  "it is from an earlier use of the chunk", false);
  // Else the power took the state from the page cache: nothing of that life had been synced.
  if (pool_.lost_page_cache()) return false;
  entry_chunks_.push_back(later);
  return true;
}

/// A log whose table has copies of all that counts in it, and which was about to be freed; copies
/// of a flush, a bulk load or a collection that was not committed: no caller ever saw its success.
bool ChunkMap::IsLeftOut(const EntryChunk& chunk, ChunkKind kind) const noexcept {
  if (!pool_.has_manifest()) return false;
  const uint64_t id = chunk.header.table_id;
  if (pool_.manifest().left_behind.Has(kind, id)) return true;
  switch (kind) {
    case ChunkKind::kWriteAhead:
      return id <= pool_.manifest().flushed_table_id;
    case ChunkKind::kCopied:
      return id > pool_.manifest().flushed_table_id;
    case ChunkKind::kCollected:
      return id > pool_.manifest().collected_table_id;
    default:
      return false;
  }
}

bool ChunkMap::IsIdle(uint64_t chunk) const noexcept {
  return std::binary_search(idle_chunks_.begin(), idle_chunks_.end(), chunk);
}

bool ChunkMap::IsFlushed(const EntryChunk& chunk) const noexcept {
  if (chunk.collected) return true;
  return pool_.has_manifest() && chunk.has_header &&
         chunk.header.table_id <= pool_.manifest().flushed_table_id;
}

bool ChunkMap::WasClosed() const noexcept {
  // The image of the index is written by a close, and freed by the open that follows.
  const std::optional<format::PoolHeader>& header = pool_.geometry().header;
  return header ? header->clean != 0 : has_leaf_index_;
}

}  // namespace braid::repair
