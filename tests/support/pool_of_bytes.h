// A pool of one segment, made by hand in memory, with valid checks and no store behind it: for
// tests of what reads damaged pools.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "braid/options.h"
#include "format/layout.h"
#include "format/manifest.h"
#include "repair/damaged_pool.h"

namespace braid::test {

class PoolOfBytes {
 public:
  static constexpr uint64_t kChunkBytes = 16u << 10;
  static constexpr uint64_t kChunks = 16;
  static constexpr uint64_t kFirstChunk = 3;  // behind headers and states
  static constexpr const char* kBoot = "boot of the writer";

  /// Closed in order, and all chunks are free; it has no manifest yet.
  PoolOfBytes() : bytes_(kChunks * kChunkBytes / sizeof(uint64_t)) {
    auto* segment = As<format::SegmentHeader>(0);
    segment->magic = format::kSegmentMagic;
    segment->version = format::kFormatVersionNumber;
    segment->endian = format::kEndianMark;
    segment->segment_bytes = kChunks * kChunkBytes;
    segment->chunk_bytes = kChunkBytes;
    segment->meta_chunks = kFirstChunk;
    segment->check = format::StructCheck(*segment, 0);
    format::PoolHeader header{};
    header.magic = format::kPoolMagic;
    header.version = format::kFormatVersionNumber;
    header.endian = format::kEndianMark;
    header.chunk_bytes = kChunkBytes;
    header.media_class = static_cast<uint32_t>(MediaClass::kPage);
    header.clean = 1;
    header.segments = 1;
    std::strncpy(header.boot_id, kBoot, sizeof header.boot_id - 1);
    SetHeader(header);
    for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
      SetState(chunk, chunk < kFirstChunk ? format::ChunkKind::kMeta : format::ChunkKind::kFree);
    }
  }

  template <class T>
  T* As(uint64_t offset) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(bytes_.data()) + offset);
  }
  static uint64_t OffsetOf(uint64_t chunk) { return chunk * kChunkBytes; }

  format::PoolHeader Header() { return *As<format::PoolHeader>(format::kPoolHeaderOffset[0]); }
  /// Both copies.
  void SetHeader(format::PoolHeader header) {
    for (const uint64_t place : format::kPoolHeaderOffset) {
      header.check = format::StructCheck(header, place);
      *As<format::PoolHeader>(place) = header;
    }
  }
  /// The last writer did not close it; on page-cache media another boot has lost the page cache.
  void LeaveOpen() {
    format::PoolHeader header = Header();
    header.clean = 0;
    SetHeader(header);
  }
  void SetManifest(const format::ManifestState& state, int copy = 0) {
    auto record = std::make_unique<format::ManifestRecord>();
    const uint64_t place = format::kManifestOffset[copy];
    const uint64_t bytes = format::EncodeManifest(state, copy, record.get());
    std::memcpy(As<char>(place), record.get(), bytes);
  }

  static uint64_t StateWord(uint64_t chunk) {
    return format::kFirstStateTableOffset + chunk * sizeof(uint64_t);
  }
  void SetState(uint64_t chunk, format::ChunkKind kind, uint32_t generation = 1) {
    *As<uint64_t>(StateWord(chunk)) = format::ChunkState::Make(kind, generation, chunk).raw;
  }
  /// `kind`: none in a header of a version that did not store it.
  void SetLogHeader(uint64_t chunk, uint64_t table_id, uint32_t generation = 1,
                    format::ChunkKind kind = {}) {
    auto* header = As<format::LogChunkHeader>(OffsetOf(chunk));
    *header = {};
    header->magic = format::kLogChunkMagic;
    header->generation = generation;
    header->table_id = table_id;
    header->kind = static_cast<uint64_t>(kind);
    header->check = format::StructCheck(*header, OffsetOf(chunk));
  }
  /// An entry at `offset`, a write of its own; live, with a link that is not set.
  format::EntryHeader* SetEntry(uint64_t offset, std::string_view key, std::string_view value,
                                uint64_t sequence = 1, uint32_t generation = 1, uint8_t flags = 0) {
    auto* entry = As<format::EntryHeader>(offset);
    entry->value_check = format::ValueCheck(value);
    entry->sequence_and_op =
        sequence << 8 | format::kFirstOfUnit | flags | static_cast<uint8_t>(format::EntryOp::kPut);
    entry->value_bytes = static_cast<uint32_t>(value.size());
    entry->key_and_height =
        format::EntryHeader::PackKeyAndHeight(static_cast<uint32_t>(key.size()), 1);
    entry->key_check = format::KeyCheck(*entry, base::Hash64(key), offset, generation);
    entry->links()[0] = 0;
    std::memcpy(entry->links() + 1, key.data(), key.size());
    if (!value.empty()) {
      std::memcpy(As<char>(offset) + sizeof *entry + 8 + key.size(), value.data(), value.size());
    }
    return entry;
  }

  /// As it is now, mapped; later changes are not in it. This object outlives it.
  std::unique_ptr<repair::DamagedPool> Open(const std::string& boot_id = kBoot) {
    auto pool = repair::DamagedPool::Open(
        media::PoolImage::OfMemory(As<char>(0), {kChunks * kChunkBytes}), 0, boot_id);
    EXPECT_TRUE(pool.ok()) << pool.status().ToString();
    return pool.ok() ? std::move(pool).value() : nullptr;
  }

 private:
  std::vector<uint64_t> bytes_;  // words, as structures are aligned like them
};

/// "object: problem" of each finding, an asterisk behind it where something is lost.
inline std::vector<std::string> Describe(const std::vector<RepairFinding>& findings) {
  std::vector<std::string> texts;
  for (const RepairFinding& finding : findings) {
    texts.push_back(finding.object + ": " + finding.problem + (finding.lost ? "*" : ""));
  }
  return texts;
}

}  // namespace braid::test
