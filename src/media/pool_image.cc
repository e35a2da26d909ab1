// Purpose: opening and mapping the files of a pool for reading only.
// Thread safety, invariants, persistence: see pool_image.h.
#include "media/pool_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "format/layout.h"
#include "media/file_media.h"
#include "media/region_folders.h"

namespace braid::media {

namespace {

constexpr uint64_t kProbeBytes = 1ull << 20;
static_assert(kProbeBytes % format::kPageBytes == 0);
/// No file of a pool is longer.
constexpr uint64_t kLongestFile = 1ull << 46;

Status Failed(const std::string& action, const std::string& path) {
  return Status::IOError(action + " " + path + ": " + std::strerror(errno));
}

/// The number in "segment-000012"; false for every other name.
bool ParseSegmentName(std::string_view name, uint32_t* index) {
  constexpr std::string_view kPrefix = "segment-";
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (name.size() != 6) return false;
  *index = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return false;
    *index = *index * 10 + static_cast<uint32_t>(c - '0');
  }
  return true;
}

/// pread until all is there; false at the end of the file or an error.
bool ReadAll(int fd, uint64_t offset, char* out, uint64_t bytes) noexcept {
  while (bytes > 0) {
    const ssize_t n = ::pread(fd, out, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

PoolImage::~PoolImage() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<std::unique_ptr<PoolImage>> PoolImage::Open(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    if (errno == ENOENT) return Status::NotFound("there is no pool at " + path);
    if (errno == ENOTDIR) {
      return Status::InvalidArgument(path + " is not a directory; name the directory of a pool");
    }
    return Failed("cannot open", path);
  }
  std::unique_ptr<PoolImage> image(new PoolImage());
  Status s = image->TakeLock(path, directory);
  if (s.ok()) s = image->OpenFiles(path, directory);
  ::close(directory);
  if (s.ok()) s = image->OpenRegions(path);
  if (!s.ok()) return s;
  if (image->files_.empty()) {
    return Status::InvalidArgument(path + " has no segment of a pool; there is nothing to read");
  }
  std::sort(image->files_.begin(), image->files_.end(),
            [](const File& a, const File& b) { return a.index < b.index; });
  return image;
}

std::unique_ptr<PoolImage> PoolImage::OfMemory(const char* base,
                                               const std::vector<uint64_t>& segments) {
  std::unique_ptr<PoolImage> image(new PoolImage());
  for (const uint64_t bytes : segments) {
    char name[32];
    std::snprintf(name, sizeof name, "segment-%06zu", image->files_.size());
    File file;
    file.name = name;
    file.index = static_cast<uint32_t>(image->files_.size());
    file.bytes = bytes;
    file.memory = base;
    file.data.push_back({0, bytes});
    image->files_.push_back(std::move(file));
    base += bytes;
  }
  return image;
}

/// Segments in the folders of regions. One that can't be opened is as lost as a missing file.
Status PoolImage::OpenRegions(const std::string& path) {
  Result<std::vector<std::string>> folders = ReadRegionFolders(path);
  if (!folders.ok()) {
    lost_folders_.emplace_back(folders.status().message());
    return Status::OK();
  }
  for (const std::string& folder : *folders) {
    const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
      lost_folders_.push_back(folder + ": " + std::strerror(errno));
      continue;
    }
    Status s = OpenFiles(folder, directory);
    ::close(directory);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

/// A pool that somebody writes to would change while it is read.
Status PoolImage::TakeLock(const std::string& path, int directory) {
  lock_ = OpenPoolFile(directory, kLockName, O_RDONLY);
  if (!lock_.ok())
    return Status::OK();  // lost with the rest: the process that has the pool open made it
  struct flock request {};
  request.l_type = F_RDLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(lock_.get(), F_OFD_SETLK, &request) == 0) return Status::OK();
  if (errno != EAGAIN && errno != EACCES) return Failed("cannot lock", path);
  const LockHolder holder = ProbeLock(path);
  return Status::Busy("the pool " + path + " is open" +
                      (holder.pid > 0 ? " in process " + std::to_string(holder.pid) : "") +
                      "; close it there first");
}

Status PoolImage::OpenFiles(const std::string& path, int directory) {
  DIR* stream = ::opendir(path.c_str());
  if (stream == nullptr) return Failed("cannot list", path);
  Status outcome;
  while (const dirent* entry = ::readdir(stream)) {
    File file;
    if (!ParseSegmentName(entry->d_name, &file.index)) continue;
    file.name = entry->d_name;
    file.fd = OpenPoolFile(directory, file.name, O_RDONLY);
    if (!file.fd.ok() && errno == kNotRegularError) continue;
    struct stat info {};
    if (!file.fd.ok() || ::fstat(file.fd.get(), &info) != 0) {
      outcome = Failed("cannot open", path + "/" + file.name);
      break;
    }
    file.bytes = std::min(static_cast<uint64_t>(info.st_size), kLongestFile);
    // A pool's files have holes where chunks are free. And a file may be one hole of any size.
    if (static_cast<uint64_t>(info.st_blocks) * 512 < file.bytes) {
      FindData(&file);
    } else if (file.bytes != 0) {
      file.data.push_back({0, file.bytes});
    }
    files_.push_back(std::move(file));
  }
  ::closedir(stream);
  return outcome;
}

void PoolImage::FindData(File* file) {
  for (uint64_t at = 0; at < file->bytes;) {
    const off_t begin = ::lseek(file->fd.get(), static_cast<off_t>(at), SEEK_DATA);
    if (begin < 0 && errno == ENXIO) return;  // a hole up to the end
    const off_t hole = begin < 0 ? -1 : ::lseek(file->fd.get(), begin, SEEK_HOLE);
    if (hole <= begin || static_cast<uint64_t>(begin) < at) {  // the filesystem does not tell
      file->data.push_back({at, file->bytes - at});
      return;
    }
    const uint64_t end = std::min(static_cast<uint64_t>(hole), file->bytes);
    if (static_cast<uint64_t>(begin) >= end) return;
    file->data.push_back({static_cast<uint64_t>(begin), end - static_cast<uint64_t>(begin)});
    at = end;
  }
}

bool PoolImage::ReadFile(size_t file, uint64_t offset, void* out, uint64_t bytes) const noexcept {
  BRAID_DCHECK(file < files_.size());
  if (const char* memory = files_[file].memory; memory != nullptr) {
    if (offset > files_[file].bytes || bytes > files_[file].bytes - offset) return false;
    std::memcpy(out, memory + offset, bytes);
    return true;
  }
  return ReadAll(files_[file].fd.get(), offset, static_cast<char*>(out), bytes);
}

Status PoolImage::Map(const std::vector<Place>& places, uint64_t bytes) {
  BRAID_CHECK(base_ == nullptr && by_place_.empty());  // once
  if (bytes == 0) bytes = format::kPageBytes;
  void* range =
      ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return Failed("cannot reserve address space for", "the damaged pool");
  base_ = static_cast<char*>(range);
  bytes_ = bytes;
  for (const Place& place : places) {
    BRAID_CHECK(place.file < files_.size());
    File& file = files_[place.file];
    file.base = place.base;
    if (Status s = MapFile(&file); !s.ok()) return s;
    if (file.mapped) by_place_.push_back(place.file);
    if (file.memory != nullptr) continue;  // nothing can refuse to be read
    if (Status s = ProbePages(file); !s.ok()) return s;
  }
  std::sort(by_place_.begin(), by_place_.end(),
            [&](size_t a, size_t b) { return files_[a].base < files_[b].base; });
  return Status::OK();
}

Status PoolImage::MapFile(File* file) {
  if (file->bytes == 0) return Status::OK();
  if (file->memory != nullptr) {
    if (::mprotect(base_ + file->base, file->bytes, PROT_READ | PROT_WRITE) != 0) {
      return Failed("cannot map", file->name);
    }
    std::memcpy(base_ + file->base, file->memory, file->bytes);
    file->mapped = true;
    return Status::OK();
  }
  void* at = ::mmap(base_ + file->base, file->bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                    file->fd.get(), 0);
  if (at == MAP_FAILED) return Failed("cannot map", file->name);
  file->mapped = true;
  return Status::OK();
}

/// A page that the medium can't read would end the process when it is touched: it is covered by
/// zeros instead.
Status PoolImage::ProbePages(const File& file) {
  std::vector<char> buffer(kProbeBytes);
  for (const Range& data : file.data) {
    // From the beginning of a page.
    uint64_t at = data.offset / format::kPageBytes * format::kPageBytes;
    for (const uint64_t end = data.offset + data.bytes; at < end; at += kProbeBytes) {
      const uint64_t size = std::min(kProbeBytes, end - at);
      if (ReadAll(file.fd.get(), at, buffer.data(), size)) continue;
      if (Status s = CoverPages(file, at, size); !s.ok()) return s;
    }
  }
  return Status::OK();
}

/// Finds the pages that can't be read among these bytes of a file.
Status PoolImage::CoverPages(const File& file, uint64_t begin, uint64_t bytes) {
  BRAID_DCHECK(file.mapped && begin % format::kPageBytes == 0);  // pages are replaced whole
  std::vector<char> buffer(format::kPageBytes);
  for (uint64_t page = begin; page < begin + bytes; page += format::kPageBytes) {
    const uint64_t part = std::min(format::kPageBytes, begin + bytes - page);
    if (ReadAll(file.fd.get(), page, buffer.data(), part)) continue;
    const uint64_t offset = file.base + page;
    if (::mmap(base_ + offset, format::kPageBytes, PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
      return Failed("cannot cover a page of", file.name);
    }
    if (!unreadable_.empty() && unreadable_.back().offset + unreadable_.back().bytes == offset) {
      unreadable_.back().bytes += part;
    } else {
      unreadable_.push_back({offset, part});
    }
  }
  return Status::OK();
}

const PoolImage::File* PoolImage::FileAt(uint64_t offset) const noexcept {
  const auto behind =
      std::upper_bound(by_place_.begin(), by_place_.end(), offset,
                       [&](uint64_t at, size_t file) { return at < files_[file].base; });
  if (behind == by_place_.begin()) return nullptr;
  const File& file = files_[*std::prev(behind)];
  return offset - file.base < file.bytes ? &file : nullptr;
}

bool PoolImage::Holds(uint64_t offset, uint64_t bytes) const noexcept {
  const File* file = FileAt(offset);
  return file != nullptr && bytes <= file->bytes - (offset - file->base);
}

}  // namespace braid::media
