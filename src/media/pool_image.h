// Purpose: the files of a pool in any state, read-only, for a repair. Nothing in the files, their
// names included, is trusted; the caller says where each belongs.
// Thread safety: reads from any thread once Map has returned.
// Invariants:
//   1. No byte, name or time of the pool is changed; the lock is taken for reading and never
//      created.
//   2. Every byte below bytes() can be read: what no file holds, or the medium refuses, reads as
//      zero.
// Persistence: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "braid/status.h"
#include "media/file_calls.h"

namespace braid::media {

class PoolImage {
 public:
  struct Range {
    uint64_t offset = 0;  // in the pool, or in a file
    uint64_t bytes = 0;
  };
  struct File {
    std::string name;    // "segment-000002"
    uint32_t index = 0;  // as the name says
    uint64_t bytes = 0;  // of the file
    uint64_t base = 0;   // pool offset, once mapped
    bool mapped = false;
    Fd fd;
    const char* memory = nullptr;  // of an image without files
    std::vector<Range> data;       // in the file, ascending: what is no hole, and so may hold bytes
  };
  struct Place {
    size_t file = 0;    // in files()
    uint64_t base = 0;  // pool offset of its first byte; a multiple of the page size
  };

  ~PoolImage();
  PoolImage(const PoolImage&) = delete;
  PoolImage& operator=(const PoolImage&) = delete;

  /// Opens the segment files of directory `path`. Errors: NotFound, InvalidArgument (no pool),
  /// Busy (open elsewhere; names the process), IOError.
  static Result<std::unique_ptr<PoolImage>> Open(const std::string& path);
  /// A pool whose segments lie one behind the other in memory, which outlives the image.
  static std::unique_ptr<PoolImage> OfMemory(const char* base,
                                             const std::vector<uint64_t>& segments);

  const std::vector<File>& files() const noexcept { return files_; }
  /// Reads from a file; false when not all bytes can be read.
  bool ReadFile(size_t file, uint64_t offset, void* out, uint64_t bytes) const noexcept;

  /// Maps the files at their places, in a range of `bytes`. Reads every page once, so that what the
  /// medium refuses is known. Places must not overlap.
  Status Map(const std::vector<Place>& places, uint64_t bytes);
  const char* base() const noexcept { return base_; }
  uint64_t bytes() const noexcept { return bytes_; }
  /// Folders of regions that could not be opened, and why.
  const std::vector<std::string>& lost_folders() const noexcept { return lost_folders_; }
  /// What the medium refused to read.
  const std::vector<Range>& unreadable() const noexcept { return unreadable_; }
  /// True when a mapped file has these bytes.
  bool Holds(uint64_t offset, uint64_t bytes) const noexcept;
  /// The file a pool offset lies in, or null.
  const File* FileAt(uint64_t offset) const noexcept;

 private:
  PoolImage() = default;
  Status OpenFiles(const std::string& path, int directory);
  Status OpenRegions(const std::string& path);
  Status TakeLock(const std::string& path, int directory);
  static void FindData(File* file);
  Status MapFile(File* file);
  Status ProbePages(const File& file);
  Status CoverPages(const File& file, uint64_t begin, uint64_t bytes);

  std::vector<File> files_;
  std::vector<size_t> by_place_;  // those that are mapped, by base
  std::vector<std::string> lost_folders_;
  std::vector<Range> unreadable_;
  char* base_ = nullptr;
  uint64_t bytes_ = 0;
  Fd lock_;
};

}  // namespace braid::media
