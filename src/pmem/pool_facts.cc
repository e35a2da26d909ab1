// Purpose: facts of a pool from its files. Thread safety, persistence: see pool_facts.h.
#include "pmem/pool_facts.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

namespace braid::pmem {

using format::PoolHeader;

namespace {

/// A name that a header holds must end within its field.
template <size_t kSize>
bool IsTerminated(const char (&name)[kSize]) {
  return std::memchr(name, 0, kSize) != nullptr;
}

}  // namespace

Result<PoolHeader> ChooseHeader(const PoolHeader (&copies)[2], const std::string& where) {
  const PoolHeader* newest = nullptr;
  for (int i = 0; i < 2; ++i) {
    const bool intact =
        copies[i].magic == format::kPoolMagic &&
        copies[i].check == format::StructCheck(copies[i], format::kPoolHeaderOffset[i]);
    if (intact && (newest == nullptr || copies[i].update_count > newest->update_count)) {
      newest = &copies[i];
    }
  }
  if (newest == nullptr) {
    return Status::Corruption(where +
                              ": pool header: neither of its two copies is intact; salvage the "
                              "pool with `braid repair`, or restore it from a backup");
  }
  if (newest->endian != format::kEndianMark) {
    return Status::NotSupported("the pool was written on a machine of the other byte order");
  }
  if (newest->version != format::kFormatVersionNumber) {
    return Status::NotSupported("the pool has format version " + std::to_string(newest->version) +
                                ", this library reads version " +
                                std::to_string(format::kFormatVersionNumber) +
                                "; use the braid release that wrote it");
  }
  if (const uint64_t unknown = newest->incompat & ~format::kKnownIncompat; unknown != 0) {
    return Status::NotSupported(
        "the pool uses an incompatible feature this library does not know (bit " +
        std::to_string(std::countr_zero(unknown)) + "); use a newer braid release");
  }
  if (!std::has_single_bit(newest->chunk_bytes) || newest->chunk_bytes < format::kPageBytes ||
      newest->chunk_bytes > format::kMaxChunkBytes) {
    return Status::Corruption(where + ": pool header: it has an impossible chunk size");
  }
  if (!IsTerminated(newest->design) || !IsTerminated(newest->comparator) ||
      !IsTerminated(newest->boot_id)) {
    return Status::Corruption(where + ": pool header: it has a name without an end");
  }
  return *newest;
}

namespace {

template <class T>
bool ReadAt(std::ifstream* file, uint64_t offset, T* out) {
  file->seekg(static_cast<std::streamoff>(offset));
  file->read(reinterpret_cast<char*>(out), sizeof *out);
  return file->good();
}

std::string SegmentPath(const std::string& path, uint64_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "/segment-%06llu", static_cast<unsigned long long>(index));
  return path + name;
}

uint64_t CountFree(std::ifstream* file, uint64_t table, uint64_t count) {
  // In pieces: a sparse file may claim any size.
  std::vector<uint64_t> words(std::min<uint64_t>(count, 8192));
  file->seekg(static_cast<std::streamoff>(table));
  uint64_t free = 0;
  for (uint64_t done = 0; done < count && file->good(); done += words.size()) {
    words.resize(std::min<uint64_t>(count - done, words.size()));
    file->read(reinterpret_cast<char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(uint64_t)));
    const auto got = static_cast<size_t>(file->gcount()) / sizeof(uint64_t);
    free += static_cast<uint64_t>(std::count_if(
        words.begin(), words.begin() + static_cast<ptrdiff_t>(got),
        [](uint64_t word) { return format::ChunkState{word}.kind() == format::ChunkKind::kFree; }));
  }
  return free;
}

}  // namespace

Result<PoolFacts> ReadPoolFacts(const std::string& path) {
  const std::string first = SegmentPath(path, 0);
  std::ifstream file(first, std::ios::binary);
  if (!file) return Status::IOError("cannot read " + first + "; is it yours to read?");
  PoolHeader copies[2] = {};
  for (int i = 0; i < 2; ++i) {
    if (!ReadAt(&file, format::kPoolHeaderOffset[i], &copies[i])) {
      return Status::Corruption(first +
                                "+0x0: segment: it is too short for a pool header; truncated?");
    }
  }
  Result<PoolHeader> header = ChooseHeader(copies, first + "+0x1000");
  if (!header.ok()) return header.status();
  PoolFacts facts;
  facts.header = *header;
  const format::ManifestRecord* newest = nullptr;
  format::ManifestRecord records[2];
  for (int i = 0; i < 2; ++i) {
    if (!ReadAt(&file, format::kManifestOffset[i], &records[i])) continue;
    if (records[i].check != format::StructCheck(records[i], format::kManifestOffset[i])) continue;
    if (newest == nullptr || records[i].commit_count > newest->commit_count) newest = &records[i];
  }
  for (uint32_t i = 0; newest != nullptr && i < newest->table_count && i < format::kMaxTables;
       ++i) {
    facts.entries += newest->tables[i].entries;
  }
  for (uint64_t index = 0; index < header->segments; ++index) {
    std::ifstream segment(SegmentPath(path, index), std::ios::binary);
    struct stat info {};
    if (!segment || ::stat(SegmentPath(path, index).c_str(), &info) != 0) {
      return Status::Corruption(SegmentPath(path, index) + "+0x0: segment: the file is missing");
    }
    const auto bytes = static_cast<uint64_t>(info.st_size);
    facts.pool_bytes += bytes;
    facts.free_chunks += CountFree(
        &segment, index == 0 ? format::kFirstStateTableOffset : format::kOtherStateTableOffset,
        bytes / header->chunk_bytes);
  }
  return facts;
}

}  // namespace braid::pmem
