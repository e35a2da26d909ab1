// Purpose: facts of a pool from its files. Thread safety, persistence: see pool_facts.h.
#include "pmem/pool_facts.h"

#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

namespace braid::pmem {

using format::PoolHeader;

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
                              ": neither copy of the pool header is intact; if the file is "
                              "from a pool at all, restore it from a backup");
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
  if (!std::has_single_bit(newest->chunk_bytes) || newest->chunk_bytes < format::kPageBytes) {
    return Status::Corruption(where + ": the pool header has an impossible chunk size");
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
  std::vector<uint64_t> words(count);
  file->seekg(static_cast<std::streamoff>(table));
  file->read(reinterpret_cast<char*>(words.data()),
             static_cast<std::streamsize>(count * sizeof(uint64_t)));
  uint64_t free = 0;
  for (const uint64_t word : words) {
    if (format::ChunkState{word}.kind() == format::ChunkKind::kFree) ++free;
  }
  return free;
}

}  // namespace

Result<PoolFacts> ReadPoolFacts(const std::string& path) {
  const std::string first = SegmentPath(path, 0);
  std::ifstream file(first, std::ios::binary);
  if (!file) {
    return Status::IOError("cannot read " + first + ": " + std::strerror(errno) +
                           "; is it yours to read?");
  }
  PoolHeader copies[2] = {};
  for (int i = 0; i < 2; ++i) {
    if (!ReadAt(&file, format::kPoolHeaderOffset[i], &copies[i])) {
      return Status::Corruption(first + ": too short for a pool header; truncated?");
    }
  }
  Result<PoolHeader> header = ChooseHeader(copies, first);
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
    const std::string name = SegmentPath(path, index);
    struct stat info {};
    if (::stat(name.c_str(), &info) != 0) {
      if (errno == ENOENT) return Status::Corruption(name + " is missing");
      return Status::IOError("cannot look at " + name + ": " + std::strerror(errno));
    }
    std::ifstream segment(name, std::ios::binary);
    if (!segment) return Status::IOError("cannot read " + name + ": " + std::strerror(errno));
    const auto bytes = static_cast<uint64_t>(info.st_size);
    facts.pool_bytes += bytes;
    facts.free_chunks += CountFree(
        &segment, index == 0 ? format::kFirstStateTableOffset : format::kOtherStateTableOffset,
        bytes / header->chunk_bytes);
  }
  return facts;
}

}  // namespace braid::pmem
