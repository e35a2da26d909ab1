// Purpose: facts of a pool from its files.
// Thread safety, persistence: see pool_facts.h.
#include "pool/pool_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "braid/options.h"
#include "format/manifest.h"
#include "media/file_calls.h"
#include "media/region_folders.h"

namespace braid::pool {

using format::PoolHeader;

namespace {

static_assert(format::kOldestFormatVersion <= format::kFormatVersionNumber);
// A list kind that this library makes is one that it may find.
static_assert(static_cast<int>(ListKind::kOblivious) >= 1 &&
              static_cast<int>(ListKind::kBraided) <= 4);

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
    return Status::NotSupported("the pool was written on a machine with the other byte order");
  }
  if (newest->version < format::kOldestFormatVersion ||
      newest->version > format::kFormatVersionNumber) {
    return Status::NotSupported(
        "the pool has format version " + std::to_string(newest->version) +
        ", this library reads versions " + std::to_string(format::kOldestFormatVersion) + " to " +
        std::to_string(format::kFormatVersionNumber) + "; use the braid release that wrote it");
  }
  if (const uint64_t unknown = newest->incompat & ~format::kKnownIncompat; unknown != 0) {
    return Status::NotSupported(
        "the pool uses an incompatible feature this library does not know (bit " +
        std::to_string(std::countr_zero(unknown)) + "); use a newer braid release");
  }
  const bool several = (newest->incompat & format::kIncompatRegions) != 0;
  const bool possible = several ? newest->regions >= 2 && newest->regions <= format::kMaxRegions &&
                                      newest->list_kind >= 1 && newest->list_kind <= 4
                                : newest->regions == 0 && newest->list_kind == 0;
  if (!possible) {
    return Status::Corruption(where + ": pool header: its regions are impossible");
  }
  if (newest->generation_floor >= format::kMaxGeneration) {
    return Status::Corruption(where + ": pool header: its floor of generations is impossible");
  }
  if (!std::has_single_bit(newest->chunk_bytes) || newest->chunk_bytes < format::kPageBytes ||
      newest->chunk_bytes > format::kMaxChunkBytes) {
    return Status::Corruption(where + ": pool header: it has an impossible chunk size");
  }
  if (!IsTerminated(newest->design) || !IsTerminated(newest->comparator) ||
      !IsTerminated(newest->boot_id)) {
    return Status::Corruption(where + ": pool header: a name in it is not terminated");
  }
  return *newest;
}

std::optional<uint64_t> DirtyShutdownsIn(const PoolHeader& header,
                                         const format::DeviceRecord& record, int copy) {
  BRAID_DCHECK(copy == 0 || copy == 1);
  const uint64_t place = format::kPoolHeaderOffset[copy];
  const bool intact =
      header.magic == format::kPoolMagic && header.check == format::StructCheck(header, place) &&
      (header.compat & format::kCompatDeviceRecord) != 0 &&
      record.magic == format::kDeviceRecordMagic && record.update_count == header.update_count &&
      record.check == format::StructCheck(record, place + format::kDeviceRecordOffset);
  return intact ? std::optional(record.dirty_shutdowns) : std::nullopt;
}

bool IsTierRecordOf(const PoolHeader& header, const format::TierRecord& record, int copy) {
  BRAID_DCHECK(copy == 0 || copy == 1);
  const uint64_t place = format::kPoolHeaderOffset[copy];
  return header.magic == format::kPoolMagic && header.check == format::StructCheck(header, place) &&
         record.magic == format::kTierRecordMagic && record.update_count == header.update_count &&
         record.check == format::StructCheck(record, place + format::kTierRecordOffset);
}

std::string PathIn(const format::TierRecord& record) {
  return {record.path, strnlen(record.path, sizeof record.path)};
}

namespace {

/// A segment's file, read without a mapping, so that a media error is an error code and no signal.
class OneSegment {
 public:
  /// The first of `folders` that has it.
  OneSegment(const std::vector<std::string>& folders, uint64_t index) {
    BRAID_DCHECK(!folders.empty());  // the pool's own is the first
    char name[32];
    std::snprintf(name, sizeof name, "/segment-%06llu", static_cast<unsigned long long>(index));
    for (const std::string& folder : folders) {
      path_ = folder + name;
      fd_ = media::OpenPoolFile(AT_FDCWD, path_, O_RDONLY);
      if (fd_.ok() || errno != ENOENT) return;
    }
    path_ = folders[0] + name;
  }

  bool ok() const { return fd_.ok(); }
  const std::string& path() const { return path_; }
  uint64_t bytes() const {
    struct stat info {};
    return ::fstat(fd_.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
  }

  uint64_t allocated_bytes() const {
    struct stat info {};
    return ::fstat(fd_.get(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
  }

  /// Of one that is ok().
  Status Read(uint64_t offset, void* out, size_t bytes) const {
    BRAID_DCHECK(ok());
    ssize_t got = -1;
    do {
      got = ::pread(fd_.get(), out, bytes, static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      char place[32];
      std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(offset));
      return Status::IOError("cannot read " + path_ + place + ": " + std::strerror(errno));
    }
    if (static_cast<size_t>(got) < bytes) {
      char place[32];
      std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(offset));
      return Status::Corruption(path_ + place +
                                ": segment: too short for what a pool holds there; truncated?");
    }
    return Status::OK();
  }
  template <class T>
  Status Read(uint64_t offset, T* out) const {
    return Read(offset, out, sizeof *out);
  }

 private:
  std::string path_;
  media::Fd fd_;
};

/// The newer intact copy of the pool header. One copy is enough; what hindered reading the other
/// matters when neither is.
Result<PoolHeader> ReadHeader(const OneSegment& file, PoolFacts* facts) {
  PoolHeader copies[2] = {};
  Status unreadable;
  for (int i = 0; i < 2; ++i) {
    const Status s = file.Read(format::kPoolHeaderOffset[i], &copies[i]);
    if (s.ok()) continue;
    copies[i] = PoolHeader{};
    if (unreadable.ok()) unreadable = s;
  }
  Result<PoolHeader> header = ChooseHeader(copies, file.path());
  if (header.status().IsCorruption() && !unreadable.ok()) return unreadable;
  // The newer one that counts.
  for (uint64_t count = 0, i = 0; header.ok() && i < 2; ++i) {
    format::DeviceRecord record{};
    const uint64_t place = format::kPoolHeaderOffset[i] + format::kDeviceRecordOffset;
    if (!file.Read(place, &record).ok()) continue;
    const auto found = DirtyShutdownsIn(copies[i], record, static_cast<int>(i));
    if (found && record.update_count > count) facts->dirty_shutdowns = found;
    if (found) count = std::max(count, record.update_count);
  }
  uint64_t newest_tier = 0;
  for (int i = 0; header.ok() && (header->incompat & format::kIncompatTier) != 0 && i < 2; ++i) {
    format::TierRecord record{};
    const uint64_t place = format::kPoolHeaderOffset[i] + format::kTierRecordOffset;
    if (!file.Read(place, &record).ok() || !IsTierRecordOf(copies[i], record, i)) continue;
    if (record.update_count > newest_tier) facts->tier = PathIn(record);
    newest_tier = std::max(newest_tier, record.update_count);
  }
  return header;
}

/// Chunks of a segment, by what is in them.
struct ChunkCounts {
  uint64_t free = 0;
  uint64_t entries = 0;
  uint64_t values = 0;
};

Status CountChunks(const OneSegment& file, uint64_t table, uint64_t count, ChunkCounts* counts) {
  // In pieces, and only as far as there are states: a sparse file may claim any size.
  std::vector<uint64_t> words(std::min<uint64_t>(count, 8192));
  BRAID_DCHECK(count == 0 || !words.empty());  // each round reads something
  for (uint64_t done = 0; done < count; done += words.size()) {
    words.resize(std::min<uint64_t>(count - done, words.size()));
    const Status s =
        file.Read(table + done * sizeof(uint64_t), words.data(), words.size() * sizeof(uint64_t));
    if (!s.ok()) return s;
    for (const uint64_t word : words) {
      if (word == 0) return Status::OK();
      const format::ChunkKind kind = format::ChunkState{word}.kind();
      if (kind == format::ChunkKind::kFree) ++counts->free;
      if (format::HoldsEntries(kind)) ++counts->entries;
      if (format::IsOfExtent(kind)) {
        ++counts->values;
      }
    }
  }
  return Status::OK();
}

/// Tables and their entries, by the newer intact copy of the manifest.
void CountEntries(const OneSegment& file, uint64_t chunk_bytes, PoolFacts* facts) {
  format::ManifestState newest;
  for (int i = 0; i < 2; ++i) {
    std::array<char, format::kManifestBytes> copy;
    if (!file.Read(format::kManifestOffset[i], &copy).ok()) continue;
    std::vector<char> tables;
    const auto extension = [&](uint64_t chunk, uint64_t offset, uint64_t bytes) -> const char* {
      tables.resize(bytes);
      const Status s = file.Read(chunk * chunk_bytes + offset, tables.data(), bytes);
      return s.ok() ? tables.data() : nullptr;
    };
    format::ManifestState state;
    uint32_t version = 0;
    const bool intact =
        format::DecodeManifest(copy.data(), i, chunk_bytes, extension, &state, &version);
    if (intact && state.commit_count > newest.commit_count) newest = std::move(state);
  }
  for (const format::TableRecord& table : newest.tables) {
    facts->entries += table.entries;
    // Copies are on their way into the last level, and read nowhere else.
    if (table.level != 0 || (table.flags & format::kTableOfCopies) != 0) continue;
    ++facts->l0_tables;
    facts->l0_entries += table.entries;
  }
}

}  // namespace

Result<PoolFacts> ReadPoolFacts(const std::string& path) {
  Result<std::vector<std::string>> region_folders = media::ReadRegionFolders(path);
  if (!region_folders.ok()) return region_folders.status();
  std::vector<std::string> folders = *region_folders;
  folders.insert(folders.begin(), path);
  const OneSegment first(folders, 0);
  if (!first.ok())
    return Status::IOError("cannot read " + first.path() + ": " + std::strerror(errno) +
                           "; is it yours to read?");
  PoolFacts facts;
  Result<PoolHeader> header = ReadHeader(first, &facts);
  if (!header.ok()) return header.status();
  facts.header = *header;
  const uint32_t regions = std::max<uint32_t>(header->regions, 1);
  facts.regions.resize(regions);
  for (uint32_t i = 0; i < regions; ++i)
    facts.regions[i].folder = folders[i < folders.size() ? i : 0];
  CountEntries(first, header->chunk_bytes, &facts);
  for (uint64_t index = 0; index < header->segments; ++index) {
    const OneSegment segment(folders, index);
    if (!segment.ok() && errno == ENOENT) {
      return Status::Corruption(segment.path() + "+0x0: segment: the file is missing");
    }
    if (!segment.ok()) {
      return Status::IOError("cannot look at " + segment.path() + ": " + std::strerror(errno));
    }
    format::SegmentHeader place{};
    if (Status s = segment.Read(0, &place); regions > 1 && !s.ok()) return s;
    const uint64_t bytes = segment.bytes();
    RegionFacts& region = facts.regions[regions > 1 && place.region < regions ? place.region : 0];
    const uint64_t table = format::StateTableOffset(static_cast<uint32_t>(index), regions);
    ChunkCounts counts;
    const Status s = CountChunks(segment, table, bytes / header->chunk_bytes, &counts);
    if (!s.ok()) return s;
    facts.pool_bytes += bytes;
    facts.allocated_bytes += segment.allocated_bytes();
    facts.free_chunks += counts.free;
    facts.entry_chunks += counts.entries;
    facts.value_chunks += counts.values;
    region.bytes += bytes;
    region.free_chunks += counts.free;
  }
  return facts;
}

}  // namespace braid::pool
