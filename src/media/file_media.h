// Purpose: a pool's segments as files of a directory, mapped through libpmem2.
// Thread safety: see media.h.
// Invariants:
//   1. Files are 0600, the directory 0700, nothing is followed through a symbolic link.
//   2. One process has the pool open for writing, or some for reading (pool_lock.h).
//   3. Opened for reading, nothing of the directory changes: what recovery stores goes to private
//      copies of pages, and after Seal() a store faults.
// Persistence: a segment is written under a temporary name; its rename is the commit point.
#pragma once

#include <memory>
#include <string>

#include "media/media.h"
#include "media/pool_lock.h"

namespace braid::media {

/// What lies at a path.
enum class PathKind : uint8_t {
  kMissing,  ///< nothing, or an empty directory, or one with an unfinished creation
  kPool,
  kForeign,  ///< something that is not a pool
};

/// The identifier of this run of the operating system.
std::string CurrentBootId();
/// Looks without changing anything.
Result<PathKind> ProbePath(const std::string& path);
/// Removes the files of the pool and its directory. The caller has checked that it is a pool.
Status RemovePool(const std::string& path);

/// Opens the directory, locks it and maps all segments. With `create` the directory is made when it
/// is missing and may hold no segment yet. Errors: Busy, IOError, InvalidArgument (world-writable).
Result<std::unique_ptr<Media>> OpenFileMedia(const std::string& path, const PoolOptions& options,
                                             bool create);

/// Opens the directory for reading, as others may at the same time, and maps all segments: what is
/// stored to the mapping is seen by this process alone, until Seal() ends that. Nothing can be
/// added. Errors: Busy (open for writing), IOError, InvalidArgument (world-writable).
Result<std::unique_ptr<Media>> OpenFileMediaToRead(const std::string& path,
                                                   const PoolOptions& options);

/// The same while another process writes, which has granted `cut`.
Result<std::unique_ptr<Media>> OpenFileMediaOfConcurrentReader(const std::string& path,
                                                               const PoolOptions& options,
                                                               Media::Cut cut);

/// NUMA node of the device that the folder lies on; -1 when it is not known.
int NodeOfFolder(const std::string& path);

/// Why pages can't be given back to the file system that `path` lies on, of the media class
/// `found`, in words; null: they can, as far as is known before it is tried.
const char* WhyNoHolesAt(const std::string& path, MediaClass found);

/// The media class of the medium that `path` lies on, found by mapping a temporary file there.
Result<MediaClass> ProbeMediaClass(const std::string& path);

}  // namespace braid::media
