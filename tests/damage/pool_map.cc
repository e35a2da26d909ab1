#include "pool_map.h"

#include <cstring>

namespace braid::test {

using format::ChunkKind;
using format::ChunkState;
using format::EntryHeader;

namespace {

/// The file of `image` with this name, or null.
const PoolFile* FileOf(const PoolImage& image, const std::string& name) {
  for (const PoolFile& file : image.files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace

const char* ByteUseName(ByteUse use) {
  static const char* const kNames[] = {"unused",     "free",     "obsolete", "spare copy",
                                       "spare redo", "log only", "needed"};
  return kNames[static_cast<int>(use)];
}

template <class T>
T PoolMap::Read(uint64_t offset) const {
  T value;
  std::memcpy(&value, bytes_.data() + offset, sizeof value);
  return value;
}

PoolMap::PoolMap(const PoolImage& image) {
  for (const PoolFile& file : image.files) {
    const bool segment = file.name.starts_with("segment-") && !file.name.ends_with(".new");
    names_.push_back(file.name);
    bases_.push_back(segment ? bytes_.size() : ~0ull);
    if (segment) bytes_ += file.bytes;
  }
  uses_.assign(bytes_.size(), static_cast<uint8_t>(ByteUse::kUnused));
  MapHead();
  uint32_t index = 0;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (bases_[i] != ~0ull) MapSegment(index++, bases_[i], image.files[i].bytes.size());
  }
  for (uint64_t chunk = 0; chunk < states_.size(); ++chunk) MapChunk(chunk, states_[chunk]);
  for (const MappedEntry& entry : entries_) {
    uint64_t& newest = newest_[entry.key];
    newest = std::max(newest, entry.sequence);
    if (entry.copy) copied_.insert(entry.sequence);
  }
  for (const MappedEntry& entry : entries_) MarkEntry(entry);
}

void PoolMap::Mark(uint64_t offset, uint64_t size, ByteUse use) {
  std::fill_n(uses_.begin() + static_cast<std::ptrdiff_t>(offset), size, static_cast<uint8_t>(use));
}

void PoolMap::MapHead() {
  for (int i = 0; i < 2; ++i) {
    const auto header = Read<format::PoolHeader>(format::kPoolHeaderOffset[i]);
    if (header.check == format::StructCheck(header, format::kPoolHeaderOffset[i])) {
      chunk_bytes_ = header.chunk_bytes;
      regions_ = header.regions == 0 ? 1u : header.regions;
      strands_ = header.list_kind == static_cast<uint8_t>(ListKind::kBraided) ? regions_ : 1;
    }
    const auto record = Read<format::ManifestRecord>(format::kManifestOffset[i]);
    // The pools of these tests have no extension.
    const auto no_extension = [](uint64_t, uint64_t, uint64_t) -> const char* { return nullptr; };
    format::ManifestState state;
    uint32_t version = 0;
    if (format::DecodeManifest(reinterpret_cast<const char*>(&record), i, chunk_bytes_,
                               no_extension, &state, &version) &&
        state.commit_count > manifest_.commit_count) {
      manifest_ = std::move(state);
    }
    Mark(format::kPoolHeaderOffset[i], sizeof header, ByteUse::kSpareCopy);
    Mark(format::kManifestOffset[i], format::ManifestBytes(record), ByteUse::kSpareCopy);
  }
  for (const format::TableRecord& table : manifest_.tables) {
    Mark(format::kTableHeadsOffset + table.head * sizeof(format::TableHead),
         table.level == 0 ? 8 : sizeof(format::TableHead), ByteUse::kNeeded);
  }
}

void PoolMap::MapSegment(uint32_t index, uint64_t base, uint64_t bytes) {
  Mark(base, sizeof(format::SegmentHeader), ByteUse::kNeeded);
  const uint64_t table = base + format::StateTableOffset(index, regions_);
  // Upper layers of L0 are set anew or passed over; those of L1 are followed.
  for (const format::TableRecord& record : manifest_.tables) {
    const uint64_t head = record.head * sizeof(format::TableHead);
    if (record.level == 0 || !format::HasRegionHeads(index, strands_)) continue;
    Mark(base + format::kRegionHeadsOffset + head + 8, sizeof(format::TableHead) - 8,
         ByteUse::kNeeded);
  }
  for (uint64_t i = 0; i < bytes / chunk_bytes_; ++i) {
    state_words_.push_back(table + i * 8);
    states_.push_back(Read<ChunkState>(table + i * 8));
    Mark(table + i * 8, 8, ByteUse::kNeeded);
  }
}

uint64_t PoolMap::OffsetOfLastHead() const {
  const format::TableRecord* last = nullptr;
  for (const format::TableRecord& table : manifest_.tables) {
    if (last == nullptr || table.level > last->level) last = &table;
  }
  const uint32_t head = last == nullptr ? 0 : last->head;
  return format::HeadOffset(head, 0, chunk_bytes_, strands_);
}

bool PoolMap::HasKind(ChunkKind kind) const {
  return std::any_of(states_.begin(), states_.end(),
                     [kind](ChunkState state) { return state.kind() == kind; });
}

void PoolMap::MapChunk(uint64_t chunk, ChunkState state) {
  const uint64_t begin = chunk * chunk_bytes_;
  switch (state.kind()) {
    case ChunkKind::kFree:
      Mark(begin, chunk_bytes_, ByteUse::kFree);
      break;
    case ChunkKind::kRedo: {
      const auto header = Read<format::RedoHeader>(begin);
      const bool used = merge_id() != 0 && header.merge_id == merge_id();
      const uint64_t size = sizeof header + header.count * sizeof(format::RedoUpdate);
      // Even of a merge under way: a damaged record is taken for a torn one, and the one before
      // it, or none, is made again. docs/internals/formats.md says so.
      if (used && size <= chunk_bytes_) Mark(begin, size, ByteUse::kSpareRedo);
      break;
    }
    case ChunkKind::kExtentHead:
      Mark(begin, sizeof(format::ExtentHeader), ByteUse::kNeeded);
      break;
    case ChunkKind::kLog:
    case ChunkKind::kCollected:
    case ChunkKind::kWriteAhead:
    case ChunkKind::kCopied:
      Mark(begin, sizeof(format::LogChunkHeader), ByteUse::kNeeded);
      if (IsRetiredLog(chunk, state)) {  // its entries have copies, and the next open frees it
        Mark(begin + sizeof(format::LogChunkHeader), chunk_bytes_ - sizeof(format::LogChunkHeader),
             ByteUse::kFree);
        break;
      }
      MapEntries(chunk, state.generation(),
                 state.kind() == ChunkKind::kCollected || state.kind() == ChunkKind::kCopied);
      break;
    case ChunkKind::kMeta:
    case ChunkKind::kManifest:
    case ChunkKind::kExtentBody:
    case ChunkKind::kLeaf:  // the pools of these tests have no leaves
    case ChunkKind::kLeafIndex:
      break;
  }
}

bool PoolMap::IsRetiredLog(uint64_t chunk, ChunkState state) const {
  return state.kind() == ChunkKind::kWriteAhead &&
         Read<format::LogChunkHeader>(chunk * chunk_bytes_).table_id <= manifest_.flushed_table_id;
}

const EntryHeader* PoolMap::EntryOfLife(uint64_t chunk, uint64_t at, uint32_t generation) const {
  const uint64_t end = (chunk + 1) * chunk_bytes_;
  if (at + sizeof(EntryHeader) > end) return nullptr;
  const auto* header = reinterpret_cast<const EntryHeader*>(bytes_.data() + at);
  const bool fits =
      header->height() != 0 && header->height() <= format::kMaxHeight && at + header->size() <= end;
  return fits && format::KeyCheck(*header, base::Hash64(header->key()), at, generation) ==
                     header->key_check
             ? header
             : nullptr;
}

/// Of a node that refers to another entry's value.
std::string_view PoolMap::ValueElsewhere(const EntryHeader& node) const {
  format::EntryRef to;
  std::memcpy(&to, node.value().data(), sizeof to);
  const auto* holder = reinterpret_cast<const EntryHeader*>(bytes_.data() + to.offset);
  if (!holder->has(format::kValueInExtent)) return holder->value();
  format::ExtentRef ref;
  std::memcpy(&ref, holder->value().data(), sizeof ref);
  return {bytes_.data() + ref.offset + sizeof(format::ExtentHeader), ref.bytes};
}

void PoolMap::MapEntries(uint64_t chunk, uint32_t generation, bool collected) {
  const uint64_t begin = chunk * chunk_bytes_;
  const auto chunk_header = Read<format::LogChunkHeader>(begin);
  const bool flushed = collected || chunk_header.table_id <= manifest_.flushed_table_id;
  uint64_t at = begin + sizeof chunk_header;
  // A sound pool has no entry behind the last one.
  while (const EntryHeader* header = EntryOfLife(chunk, at, generation)) {
    MappedEntry entry;
    entry.key = header->key();
    entry.value = header->value();
    entry.sequence = header->sequence();
    entry.offset = at;
    entry.size = header->size();
    entry.links = 8ull * header->height();
    entry.put = header->op() == format::EntryOp::kPut;
    entry.live = header->is_kept();
    entry.carrier = header->state() == format::kStateCarrier;
    entry.flushed = flushed;
    entry.merged = collected || chunk_header.table_id <= manifest_.merged_table_id;
    entry.copy = collected && copies_id() != 0 && chunk_header.table_id == copies_id();
    entry.first = header->has(format::kFirstOfUnit);
    entry.more = header->has(format::kMoreOfUnit);
    if (header->has(format::kValueInExtent)) {
      format::ExtentRef ref;
      std::memcpy(&ref, header->value().data(), sizeof ref);
      entry.extent = ref.offset;
      entry.value = {bytes_.data() + ref.offset + sizeof(format::ExtentHeader), ref.bytes};
    }
    if (header->has(format::kValueElsewhere)) entry.value = ValueElsewhere(*header);
    if (!flushed) {
      logs_[{chunk_header.table_id, chunk_header.shard}][chunk_header.ordinal].push_back(
          entries_.size());
    }
    entries_.push_back(entry);
    at += entry.size;
  }
}

void PoolMap::MarkEntry(const MappedEntry& entry) {
  // In a log that is read again an obsolete mark means nothing yet. An older version may be merged
  // away before anybody reads it.
  const bool newest = newest_.at(entry.key) == entry.sequence;
  // A copy may have taken its original's place already, and only the original's mark is missing.
  const bool replaced = !entry.copy && copied_.contains(entry.sequence);
  const bool counts = newest && !replaced && (entry.live || !entry.flushed);
  // An open merge may have dropped a delete already, and only its mark is missing.
  const bool needed = counts && (entry.put || !entry.flushed || merge_id() == 0);
  const auto* header = reinterpret_cast<const EntryHeader*>(bytes_.data() + entry.offset);
  const uint64_t used =
      sizeof(EntryHeader) + entry.links + header->key_bytes() + header->value_bytes;
  Mark(entry.offset, used, needed ? ByteUse::kNeeded : ByteUse::kObsolete);
  // Nothing follows them.
  if (entry.carrier) Mark(entry.offset + sizeof(EntryHeader), entry.links, ByteUse::kObsolete);
  // Recovery makes the newest batch of an interrupted merge again, and then the merge goes on.
  if (!entry.flushed || merge_id() != 0) {
    Mark(entry.offset + EntryHeader::kStateByteOffset, 1, ByteUse::kLogOnly);
    Mark(entry.offset + sizeof(EntryHeader), entry.links, ByteUse::kLogOnly);
  }
  // A merge at open reads the bottom layer of L0 and sets all links of its entries.
  if (!entry.merged && entry.links > 8) {
    Mark(entry.offset + sizeof(EntryHeader) + 8, entry.links - 8, ByteUse::kLogOnly);
  }
  if (entry.extent != 0 && needed) {
    Mark(entry.extent + sizeof(format::ExtentHeader), entry.value.size(), ByteUse::kNeeded);
  }
}

const char* PoolMap::BytesIn(const PoolImage& image, uint64_t offset, uint64_t size) const {
  for (size_t i = names_.size(); i-- > 0;) {
    if (bases_[i] == ~0ull || offset < bases_[i]) continue;
    const PoolFile* file = FileOf(image, names_[i]);
    const uint64_t in_file = offset - bases_[i];
    if (file == nullptr || in_file + size > file->bytes.size()) return nullptr;
    return file->bytes.data() + in_file;
  }
  return nullptr;
}

bool PoolMap::Same(const PoolImage& harmed, uint64_t offset, uint64_t size) const {
  const char* bytes = BytesIn(harmed, offset, size);
  return bytes != nullptr && std::memcmp(bytes, bytes_.data() + offset, size) == 0;
}

void PoolMap::CopyState(uint64_t chunk, const PoolImage& from, PoolImage* to) const {
  const char* bytes = BytesIn(from, state_words_[chunk], 8);
  char* place = const_cast<char*>(BytesIn(*to, state_words_[chunk], 8));
  if (bytes != nullptr && place != nullptr) std::memcpy(place, bytes, 8);
}

ChunkState PoolMap::StateIn(const PoolImage& image, uint64_t chunk) const {
  ChunkState state;
  if (chunk >= chunks()) return state;
  const char* bytes = BytesIn(image, state_words_[chunk], 8);
  if (bytes != nullptr) std::memcpy(&state.raw, bytes, 8);
  return state;
}

/// Of the chunk's bytes, with the states of `harmed`.
bool PoolMap::HoldsNothingThatCounts(const PoolImage& harmed, uint64_t chunk) const {
  const uint64_t begin = chunk * chunk_bytes_;
  const ChunkState state = StateIn(harmed, chunk);
  switch (state.kind()) {
    case ChunkKind::kExtentHead: {  // whole, it is freed by the next open: no live entry names it
      const auto header = Read<format::ExtentHeader>(begin);
      for (uint64_t i = 1; i < header.chunks; ++i) {
        if (StateIn(harmed, chunk + i).kind() != ChunkKind::kExtentBody) return false;
      }
      return true;
    }
    case ChunkKind::kExtentBody:
      return true;
    case ChunkKind::kWriteAhead:
      return IsRetiredLog(chunk, state);
    case ChunkKind::kLog:
    case ChunkKind::kCollected:
    case ChunkKind::kCopied:
      break;
    default:
      return false;
  }
  // What a full merge has left is not marked: the manifest tells.
  if (manifest_.left_behind.Has(state.kind(), Read<format::LogChunkHeader>(begin).table_id)) {
    return true;
  }
  bool live = false;
  uint64_t end = begin + sizeof(format::LogChunkHeader);
  while (const EntryHeader* header = EntryOfLife(chunk, end, state.generation())) {
    live = live || header->is_kept();
    end += header->size();
  }
  return !live;
}

bool PoolMap::IsStateBeforeFree(const PoolImage& harmed, uint64_t chunk) const {
  const ChunkState state = StateIn(harmed, chunk);
  return states_[chunk].kind() == ChunkKind::kFree && state.IsValid(chunk) &&
         state.kind() != ChunkKind::kFree && state.generation() == states_[chunk].generation() &&
         HoldsNothingThatCounts(harmed, chunk);
}

std::vector<uint64_t> PoolMap::Changed(const PoolImage& harmed) const {
  std::vector<uint64_t> changed(kByteUses, 0);
  for (size_t i = 0; i < names_.size(); ++i) {
    if (bases_[i] == ~0ull) continue;
    const PoolFile* file = FileOf(harmed, names_[i]);
    uint64_t end = bytes_.size();
    for (const uint64_t base : bases_) {
      if (base != ~0ull && base > bases_[i]) end = std::min(end, base);
    }
    for (uint64_t at = bases_[i]; at < end; ++at) {
      const uint64_t in_file = at - bases_[i];
      const bool same =
          file != nullptr && in_file < file->bytes.size() && file->bytes[in_file] == bytes_[at];
      if (!same) ++changed[uses_[at]];
    }
  }
  for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    if (!IsStateBeforeFree(harmed, chunk)) continue;
    for (uint64_t at = state_words_[chunk]; at < state_words_[chunk] + 8; ++at) {
      if (Same(harmed, at, 1)) continue;
      --changed[static_cast<size_t>(ByteUse::kNeeded)];
      ++changed[static_cast<size_t>(ByteUse::kFree)];
    }
  }
  return changed;
}

bool PoolMap::SameIn(const PoolImage& harmed, const MappedEntry& entry, bool state_too) const {
  constexpr uint64_t kState = EntryHeader::kStateByteOffset;
  const auto* header = reinterpret_cast<const EntryHeader*>(bytes_.data() + entry.offset);
  const uint64_t payload = entry.offset + sizeof(EntryHeader) + entry.links;
  if (!Same(harmed, entry.offset, kState) ||
      !Same(harmed, payload, header->key_bytes() + header->value_bytes)) {
    return false;
  }
  if (state_too && !Same(harmed, entry.offset + kState, 1)) return false;
  return entry.extent == 0 ||
         Same(harmed, entry.extent + sizeof(format::ExtentHeader), entry.value.size());
}

bool PoolMap::LifeUnknownIn(const PoolImage& harmed, const MappedEntry& entry) const {
  const uint64_t chunk = entry.offset / chunk_bytes_;
  return !Same(harmed, state_words_[chunk], 8) &&
         !Same(harmed, chunk * chunk_bytes_, sizeof(format::LogChunkHeader));
}

/// Entries of each log that was not flushed, as they were written.
std::vector<std::vector<size_t>> PoolMap::LogsInOrder() const {
  std::vector<std::vector<size_t>> logs;
  for (const auto& [place, chunks] : logs_) {
    logs.emplace_back();
    for (const auto& [ordinal, indexes] : chunks) {
      logs.back().insert(logs.back().end(), indexes.begin(), indexes.end());
    }
  }
  return logs;
}

Model PoolMap::Without(const std::vector<bool>& dropped, Model model) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!dropped[i]) continue;
    const MappedEntry* newest = nullptr;
    for (size_t j = 0; j < entries_.size(); ++j) {
      const MappedEntry& other = entries_[j];
      if (dropped[j] || other.key != entries_[i].key || (other.flushed && !other.live)) continue;
      if (newest == nullptr || other.sequence > newest->sequence) newest = &other;
    }
    const std::string key(entries_[i].key);
    model.erase(key);
    if (newest != nullptr && newest->put) model[key] = std::string(newest->value);
  }
  return model;
}

Model PoolMap::WithoutTornEnds(const PoolImage& harmed, const Model& content, bool* torn) const {
  std::vector<bool> dropped(entries_.size(), false);
  bool any = false;
  for (const std::vector<size_t>& order : LogsInOrder()) {
    size_t first = 0;
    while (first < order.size() && SameIn(harmed, entries_[order[first]], false)) ++first;
    bool begins_again = false;
    for (size_t i = first + 1; i < order.size(); ++i) {
      const MappedEntry& entry = entries_[order[i]];
      begins_again = begins_again || (entry.first && SameIn(harmed, entry, false));
    }
    if (first == order.size() || begins_again) continue;
    any = true;
    while (first > 0 && !entries_[order[first]].first) --first;
    for (size_t i = first; i < order.size(); ++i) dropped[order[i]] = true;
  }
  if (torn != nullptr) *torn = any;
  return Without(dropped, content);
}

std::set<uint64_t> PoolMap::OfBrokenWrites(const PoolImage& harmed) const {
  std::set<uint64_t> broken;
  for (const std::vector<size_t>& order : LogsInOrder()) {
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      bool whole = true;
      for (end = begin; end == begin || (end < order.size() && !entries_[order[end]].first);
           ++end) {
        whole = whole && SameIn(harmed, entries_[order[end]], true);
      }
      for (size_t i = begin; !whole && i < end; ++i) broken.insert(entries_[order[i]].offset);
    }
  }
  return broken;
}

Model PoolMap::WithoutLastWrites(const PoolImage& harmed, const Model& content) const {
  std::vector<bool> dropped(entries_.size(), false);
  for (const std::vector<size_t>& order : LogsInOrder()) {
    const auto same = [&](size_t i) { return SameIn(harmed, entries_[order[i]], false); };
    size_t begin = order.size();  // of the last write whose first entry is left
    while (begin > 0 && !(entries_[order[begin - 1]].first && same(begin - 1))) --begin;
    if (begin > 0) --begin;
    size_t end = begin + 1;
    bool whole = begin < order.size() && same(begin) && entries_[order[begin]].first;
    for (; end < order.size() && !entries_[order[end]].first; ++end) whole = whole && same(end);
    for (size_t i = whole ? end : begin; i < order.size(); ++i) dropped[order[i]] = true;
  }
  return Without(dropped, content);
}

}  // namespace braid::test
