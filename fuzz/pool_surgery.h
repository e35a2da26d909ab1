// Changes the structures of a pool's bytes and mends the checks behind each change, so that what is
// done next is believed. For the mutator of fuzz_pool and for tests of hostile pools.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "format/layout.h"
#include "format/leaf.h"

namespace braid::fuzz {

class PoolSurgery {
 public:
  /// `bytes`: all segments one after the other, at least segment 0 with its headers.
  PoolSurgery(std::vector<char>* bytes, std::vector<uint64_t> segments)
      : bytes_(bytes), segments_(std::move(segments)) {
    const uint64_t chunk = Header(0)->chunk_bytes;
    if (std::has_single_bit(chunk) && chunk >= format::kPageBytes && chunk <= bytes->size()) {
      chunk_bytes_ = chunk;
    }
  }

  static constexpr uint64_t kLeastBytes = format::kFirstStateTableOffset + format::kPageBytes;

  template <class T>
  T* As(uint64_t offset) {
    return reinterpret_cast<T*>(bytes_->data() + offset);
  }
  uint64_t size() const { return bytes_->size(); }
  uint64_t chunk_bytes() const { return chunk_bytes_; }
  uint64_t chunks() const { return bytes_->size() / chunk_bytes_; }
  uint64_t ChunkOffset(uint64_t chunk) const { return chunk * chunk_bytes_; }
  uint64_t ChunkOf(uint64_t offset) const { return offset / chunk_bytes_; }

  // ---- headers, manifest, states --------------------------------------------------------------

  format::PoolHeader* Header(int copy) {
    return As<format::PoolHeader>(format::kPoolHeaderOffset[copy]);
  }
  void SealHeader(int copy) {
    Header(copy)->check = format::StructCheck(*Header(copy), format::kPoolHeaderOffset[copy]);
  }
  /// The place of a segment's header; nothing checks that `index` is one.
  uint64_t SegmentBase(size_t index) const {
    uint64_t base = 0;
    for (size_t i = 0; i < index; ++i) base += segments_[i];
    return base;
  }
  size_t segments() const { return segments_.size(); }
  void SealSegment(size_t index) {
    const uint64_t base = SegmentBase(index);
    auto* header = As<format::SegmentHeader>(base);
    header->check = format::StructCheck(*header, base);
  }
  format::ManifestRecord* Manifest(int copy) {
    return As<format::ManifestRecord>(format::kManifestOffset[copy]);
  }
  /// The copy that counts at the next open.
  format::ManifestRecord* Manifest() {
    return Manifest(Manifest(1)->commit_count > Manifest(0)->commit_count ? 1 : 0);
  }
  void SealManifest(int copy) {
    Manifest(copy)->check = format::ManifestCheck(*Manifest(copy), format::kManifestOffset[copy]);
  }
  /// Makes both copies the one that counts, sealed.
  void SpreadManifest() {
    const format::ManifestRecord record = *Manifest();
    for (int copy = 0; copy < 2; ++copy) {
      std::memcpy(Manifest(copy), &record, sizeof record);
      SealManifest(copy);
    }
  }
  uint64_t* StateWord(uint64_t chunk) {
    for (size_t i = segments_.size(); i-- > 0;) {
      const uint64_t base = SegmentBase(i);
      if (chunk < base / chunk_bytes_) continue;
      const uint32_t regions = As<format::PoolHeader>(format::kPoolHeaderOffset[0])->regions;
      const uint64_t table = base + format::StateTableOffset(static_cast<uint32_t>(i), regions);
      const uint64_t word = table + (chunk - base / chunk_bytes_) * 8;
      return word + 8 <= size() ? As<uint64_t>(word) : nullptr;
    }
    return nullptr;
  }
  format::ChunkState State(uint64_t chunk) {
    const uint64_t* word = StateWord(chunk);
    return {word == nullptr ? 0 : *word};
  }
  void SetState(uint64_t chunk, format::ChunkKind kind, uint32_t generation) {
    uint64_t* word = StateWord(chunk);
    if (word != nullptr) *word = format::ChunkState::Make(kind, generation, chunk).raw;
  }
  std::vector<uint64_t> ChunksOf(format::ChunkKind kind) {
    std::vector<uint64_t> found;
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      if (State(chunk).kind() == kind) found.push_back(chunk);
    }
    return found;
  }

  // ---- chunks ---------------------------------------------------------------------------------

  format::LogChunkHeader* LogHeader(uint64_t chunk) {
    return As<format::LogChunkHeader>(ChunkOffset(chunk));
  }
  void SealLogChunk(uint64_t chunk) {
    LogHeader(chunk)->check = format::StructCheck(*LogHeader(chunk), ChunkOffset(chunk));
  }
  format::ExtentHeader* Extent(uint64_t chunk) {
    return As<format::ExtentHeader>(ChunkOffset(chunk));
  }
  void SealExtent(uint64_t chunk) {
    Extent(chunk)->check = format::StructCheck(*Extent(chunk), ChunkOffset(chunk));
  }
  format::RedoHeader* Redo(uint64_t chunk) { return As<format::RedoHeader>(ChunkOffset(chunk)); }
  format::RedoUpdate* RedoUpdates(uint64_t chunk) {
    return As<format::RedoUpdate>(ChunkOffset(chunk) + sizeof(format::RedoHeader));
  }
  uint32_t redo_capacity() const {
    return static_cast<uint32_t>((chunk_bytes_ - sizeof(format::RedoHeader)) /
                                 sizeof(format::RedoUpdate));
  }
  void SealRedo(uint64_t chunk) {
    format::RedoHeader* header = Redo(chunk);
    const uint32_t count = std::min(header->count, redo_capacity());
    header->check = base::Mix(format::StructCheck(*header, ChunkOffset(chunk)),
                              base::Hash64(RedoUpdates(chunk), count * sizeof(format::RedoUpdate)));
  }

  // ---- leaves ---------------------------------------------------------------------------------

  std::vector<uint64_t> Leaves() {
    std::vector<uint64_t> found;
    for (const uint64_t chunk : ChunksOf(format::ChunkKind::kLeaf)) {
      const uint64_t end = std::min(ChunkOffset(chunk + 1), size());
      for (uint64_t at = ChunkOffset(chunk) + sizeof(format::LogChunkHeader);
           at + sizeof(format::Leaf) <= end; at += sizeof(format::Leaf)) {
        if (As<format::Leaf>(at)->magic == format::kLeafMagic) found.push_back(at);
      }
    }
    return found;
  }
  /// Mends the checks of a leaf's header, its commit word and its tags.
  void SealLeaf(uint64_t offset) {
    auto* leaf = As<format::Leaf>(offset);
    leaf->check = format::LeafHeaderCheck(*leaf, offset);
    leaf->commit =
        format::LeafCommit::Make(leaf->commit & format::kLeafBitmapMask, offset, leaf->generation)
            .raw;
    for (uint64_t i = 0; i < format::kLeafSlots; ++i) {
      format::LeafSlot* slot = &leaf->slots[i];
      const uint64_t place = offset + format::Leaf::kHeaderBytes + i * sizeof *slot;
      slot->tag = format::LeafTag::Make(uint64_t{format::LeafTag{slot->tag}.fingerprint()} << 32,
                                        place, leaf->generation)
                      .raw;
    }
  }
  /// The image of the index begins with numbers: last sequence number, next chunk, entries. Null
  /// where there is none.
  uint64_t* LeafImage() {
    for (const uint64_t chunk : ChunksOf(format::ChunkKind::kLeafIndex)) {
      if (LeafImagePart(chunk)->ordinal != 0) continue;
      return As<uint64_t>(LeafImagePlace(chunk) + sizeof(format::LeafIndexHeader));
    }
    return nullptr;
  }
  void SealLeafImage() {
    for (const uint64_t chunk : ChunksOf(format::ChunkKind::kLeafIndex)) {
      format::LeafIndexHeader* part = LeafImagePart(chunk);
      part->content = base::Hash64(As<char>(LeafImagePlace(chunk) + sizeof *part), part->bytes);
      part->check = format::StructCheck(*part, LeafImagePlace(chunk));
    }
  }

  // ---- entries and links ----------------------------------------------------------------------

  format::EntryHeader* Entry(uint64_t offset) { return As<format::EntryHeader>(offset); }
  /// Whether header, links, key and value lie in the entry's chunk.
  bool FitsChunk(uint64_t offset) {
    const uint64_t in_chunk = offset % chunk_bytes_;
    const uint64_t room = chunk_bytes_ - in_chunk;
    if (offset >= size() || room > size() - offset || offset % 8 != 0 ||
        room < sizeof(format::EntryHeader)) {
      return false;
    }
    const uint32_t height = Entry(offset)->height();
    return height > 0 && height <= format::kMaxHeight && Entry(offset)->size() <= room;
  }
  /// Entries as a log holds them: one behind the other.
  std::vector<uint64_t> EntriesOf(uint64_t chunk) {
    std::vector<uint64_t> found;
    uint64_t at = ChunkOffset(chunk) + sizeof(format::LogChunkHeader);
    while (at + sizeof(format::EntryHeader) <= ChunkOffset(chunk + 1) &&
           ChunkOffset(chunk + 1) <= size() && FitsChunk(at) && Entry(at)->sequence_and_op != 0) {
      found.push_back(at);
      at += Entry(at)->size();
    }
    return found;
  }
  std::vector<uint64_t> AllEntries() {
    std::vector<uint64_t> all;
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      if (!format::HoldsEntries(State(chunk).kind())) continue;
      const std::vector<uint64_t> some = EntriesOf(chunk);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  /// Mends both checks of an entry, if it fits its chunk.
  void SealEntry(uint64_t offset) {
    if (!FitsChunk(offset)) return;
    format::EntryHeader* entry = Entry(offset);
    entry->value_check = format::ValueCheck(entry->value());
    entry->key_check = format::KeyCheck(*entry, base::Hash64(entry->key()), offset,
                                        State(ChunkOf(offset)).generation());
  }
  /// Of the list that everything is merged into.
  const format::TableRecord& Bottom() {
    const format::ManifestRecord& record = *Manifest();
    const format::TableRecord* bottom = record.tables;
    while (bottom->level + 1u != record.level_count) ++bottom;
    return *bottom;
  }
  format::TableHead* Head(uint32_t index) {
    return As<format::TableHead>(format::kTableHeadsOffset + index * sizeof(format::TableHead));
  }
  static uint64_t LinkTo(uint64_t offset) { return format::EntryPtr::To(offset).raw; }
  /// Entries of a list by one layer, at most `most`; stops at what is no entry.
  std::vector<uint64_t> Walk(uint32_t head, uint32_t layer, size_t most = 1000) {
    std::vector<uint64_t> found;
    uint64_t link = Head(head)->links[layer];
    while (found.size() < most) {
      const uint64_t offset = format::EntryPtr{link}.offset();
      if (offset == 0 || !FitsChunk(offset) || Entry(offset)->height() <= layer) break;
      found.push_back(offset);
      link = Entry(offset)->links()[layer];
    }
    return found;
  }

 private:
  uint64_t LeafImagePlace(uint64_t chunk) const {
    return ChunkOffset(chunk) + sizeof(format::LogChunkHeader);
  }
  format::LeafIndexHeader* LeafImagePart(uint64_t chunk) {
    return As<format::LeafIndexHeader>(LeafImagePlace(chunk));
  }

  std::vector<char>* bytes_;
  std::vector<uint64_t> segments_;
  uint64_t chunk_bytes_ = format::kPageBytes;
};

}  // namespace braid::fuzz
