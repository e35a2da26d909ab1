// Purpose: a pool's segments as files of a directory, mapped through libpmem2.
// Thread safety: see media.h. Invariant 1: files are 0600, the directory 0700, nothing is followed
// through a symbolic link. Invariant 2: one process has the pool open, by a lock on the file
// "lock". Persistence: a segment is written under a temporary name; its rename is the commit point.
#pragma once

#include <memory>
#include <string>

#include "pmem/media.h"

namespace braid::pmem {

/// What lies at a path.
enum class PathKind : uint8_t {
  kMissing,  ///< nothing, or an empty directory, or one with an unfinished creation
  kPool,
  kForeign,  ///< something that is not a pool
};

struct LockHolder {
  bool held = false;
  int64_t pid = 0;
};

/// The identifier of this run of the operating system.
std::string CurrentBootId();
/// Looks without changing anything.
Result<PathKind> ProbePath(const std::string& path);
/// Whether another handle has the pool open, and whose.
LockHolder ProbeLock(const std::string& path);
/// Removes the files of the pool and its directory. The caller has checked that it is a pool.
Status RemovePool(const std::string& path);

/// Opens the directory, locks it and maps all segments. With `create` the directory is made when it
/// is missing and may hold no segment yet. Errors: Busy, IOError, InvalidArgument (world-writable).
Result<std::unique_ptr<Media>> OpenFileMedia(const std::string& path, const PoolOptions& options,
                                             bool create);

/// NUMA node of the device that the folder lies on; -1 when it is not known.
int NodeOfFolder(const std::string& path);

/// The media class of the medium that `path` lies on, found by mapping a temporary file there.
Result<MediaClass> ProbeMediaClass(const std::string& path);

}  // namespace braid::pmem
