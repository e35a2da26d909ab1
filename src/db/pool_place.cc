// Purpose: places of new pools.
// Thread safety, persistence: see pool_place.h.
#include "db/pool_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "braid/db.h"
#include "media/file_calls.h"
#include "media/file_media.h"
#include "media/region_folders.h"

namespace braid {

namespace fs = std::filesystem;

namespace {

Status SyncPath(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  return synced ? Status::OK() : media::FileError("cannot sync", path, error);
}

Status SyncParent(const std::string& path) {
  fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) parent = ".";
  return SyncPath(parent, O_RDONLY | O_DIRECTORY);
}

Status SyncFiles(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    if (Status s = SyncPath(it->path(), O_RDONLY); !s.ok()) return s;
  }
  if (error) return Status::IOError("cannot list " + folder + ": " + error.message());
  return SyncPath(folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool IsMissingOrEmpty(const std::string& path) {
  std::error_code error;
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found) return true;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

Status CheckPlace(const std::string& target) {
  if (IsMissingOrEmpty(target)) return Status::OK();
  return Status::InvalidArgument("there is something at " + target +
                                 " already; name a path that does not exist yet for the new pool");
}

Status CheckApart(const std::string& source, const std::string& target) {
  std::vector<std::string> folders{source};
  if (Result<std::vector<std::string>> regions = media::ReadRegionFolders(source); regions.ok()) {
    folders.insert(folders.end(), regions->begin(), regions->end());
  }
  std::error_code error;
  fs::path at = fs::weakly_canonical(fs::absolute(target, error), error);
  while (!error && at.has_relative_path()) {
    at = at.parent_path();
    for (const std::string& folder : folders) {
      std::error_code missing;
      if (!fs::equivalent(at, folder, missing)) continue;
      return Status::InvalidArgument(target + " lies inside the pool " + source +
                                     "; name a path for the new pool outside of it");
    }
  }
  return Status::OK();
}

Status Rename(const std::string& from, const std::string& to, unsigned flags) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) != 0) {
    return Status::IOError("cannot rename " + from + " to " + to + ": " + std::strerror(errno));
  }
  return SyncParent(to);
}

Status TakePlace(const std::string& from, const std::string& to) {
  // Closing it has synced what its own medium asks for; a copy that is kept must be there whatever
  // medium it lies on.
  if (Status s = SyncFiles(from); !s.ok()) return RemoveUnfinished(from, s);
  // An empty directory at `to` is replaced; anything else that has come there makes this fail.
  Status s = Rename(from, to, 0);
  if (s.ok()) return s;
  // It may have got its name, and only the sync after that failed.
  std::error_code error;
  const bool renamed = fs::symlink_status(from, error).type() == fs::file_type::not_found;
  return RemoveUnfinished(renamed ? to : from, s);
}

Status RemoveInterrupted(const std::string& path) {
  if (Status s = DB::Destroy(path); !s.ok()) return s;
  std::error_code error;
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found) return Status::OK();
  return media::RemovePool(path);
}

Status RemoveUnfinished(const std::string& path, Status reason) {
  const Status removed = RemoveInterrupted(path);
  (void)removed;  // the first error is the one to tell
  return reason;
}

}  // namespace braid
