// Purpose: the folders of regions.
// Thread safety, invariants, persistence: region_folders.h.
#include "media/region_folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/check.h"
#include "format/layout.h"
#include "media/file_calls.h"

namespace braid::media {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLine = "region ";

Status Failed(const std::string& action, const std::string& path, int error) {
  return Status::IOError(action + " " + path + ": " + std::strerror(error));
}

/// The whole content of a small file; empty when there is none.
Result<std::string> ReadText(const std::string& path) {
  constexpr size_t kMost = 64 << 10;
  const Fd file = OpenPoolFile(AT_FDCWD, path, O_RDONLY);
  if (!file.ok() && (errno == ENOENT || errno == ENOTDIR)) return std::string();
  if (!file.ok()) return FileError("cannot read", path, errno);
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t n = Again([&] { return ::read(file.get(), part, sizeof part); });
    if (n < 0) return FileError("cannot read", path, errno);
    if (n == 0) return text;
    text.append(part, static_cast<size_t>(n));
    if (text.size() > kMost) {
      return Status::Corruption(path + ": it is too long for a file of this name in a pool");
    }
  }
}

Status SyncFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed("cannot open", path, errno);
  const int failed = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return failed == 0 ? Status::OK() : Failed("cannot sync", path, error);
}

/// Writes a file whole: it is there with all its text, or as it was before.
Status WriteText(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path = folder + "/" + name;
  const std::string temporary = path + ".new";
  ::unlink(temporary.c_str());
  const int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Failed("cannot create", temporary, errno);
  errno = ENOSPC;  // what a write that is too short means
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!written) {
    ::unlink(temporary.c_str());
    return Failed("cannot write", temporary, error);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return Failed("cannot rename", temporary, errno);
  }
  return SyncFolder(folder);
}

bool IsSegmentName(const std::string& name) { return name.starts_with("segment-"); }

/// Removes what a pool has in one of its region folders; with `all` the mark and the folder too.
Status ClearFolder(const std::string& folder, bool all) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!IsSegmentName(name) && !name.starts_with(std::string(kRegionMarkName) + ".")) continue;
    if (::unlink(it->path().c_str()) != 0 && errno != ENOENT) {
      return Failed("cannot remove", it->path(), errno);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return Status::IOError("cannot list " + folder + ": " + error.message());
  }
  if (!all || error) return Status::OK();
  const std::string mark = folder + "/" + kRegionMarkName;
  if (::unlink(mark.c_str()) != 0 && errno != ENOENT) return Failed("cannot remove", mark, errno);
  // A mount point stays, and so does what is not the pool's.
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT && errno != EBUSY && errno != ENOTEMPTY &&
      errno != EEXIST && errno != EACCES && errno != EPERM) {
    return Failed("cannot remove", folder, errno);
  }
  return Status::OK();
}

/// A copy of a pool's own folder must not take the regions of the original with it. A pool that was
/// moved may: nothing is left where its mark points to.
Status CheckOwner(const std::string& pool, const std::string& folder) {
  Result<std::string> mark = ReadText(folder + "/" + kRegionMarkName);
  if (!mark.ok()) return mark.status();
  const std::string owner = mark->substr(0, mark->find('\n'));
  if (owner.empty() || owner == AbsolutePath(pool)) return Status::OK();
  Result<std::vector<std::string>> folders = ReadRegionFolders(owner);
  const bool claimed =
      folders.ok() && std::find(folders->begin(), folders->end(), folder) != folders->end();
  return claimed ? Status::InvalidArgument("the folder " + folder + " belongs to the pool " +
                                           owner + "; nothing was removed")
                 : Status::OK();
}

/// Makes the folder the pool's own.
Status TakeFolder(const std::string& pool, const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed("cannot create the folder of a region", folder, errno);
  }
  Result<std::string> mark = ReadText(folder + "/" + kRegionMarkName);
  if (!mark.ok()) return mark.status();
  if (*mark == pool + "\n") return ClearFolder(folder, false);
  if (!mark->empty()) {
    return Status::InvalidArgument("the folder " + folder + " holds a region of the pool " +
                                   mark->substr(0, mark->find('\n')) +
                                   "; name another one in pool.region_paths");
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename() == "lost+found") continue;  // a filesystem of its own
    return Status::InvalidArgument("the folder " + folder + " holds " +
                                   entry.path().filename().string() +
                                   "; pool.region_paths takes new or empty folders");
  }
  if (error) return Status::IOError("cannot list " + folder + ": " + error.message());
  return WriteText(folder, kRegionMarkName, pool + "\n");
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  std::string text = error ? path : found.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<std::vector<std::string>> ReadRegionFolders(const std::string& pool) {
  const std::string path = pool + "/" + kRegionsFileName;
  Result<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  std::vector<std::string> folders;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::string begin = kLine + std::to_string(folders.size() + 1) + " /";
    if (!line.starts_with(begin) || folders.size() + 1 >= format::kMaxRegions) {
      return Status::Corruption(
          path + ": regions: line " + std::to_string(folders.size() + 1) + " must be \"" + begin +
          "...\", the folder of that region; correct the line if you know the folder");
    }
    folders.push_back(line.substr(begin.size() - 1));
  }
  return folders;
}

Status MakeRegionFolders(const std::string& pool, const std::vector<std::string>& folders) {
  BRAID_CHECK(folders.size() < format::kMaxRegions);  // or the file could not be read back
  const std::string owner = AbsolutePath(pool);
  std::string text;
  std::vector<std::string> absolute;
  for (const std::string& folder : folders) {
    const std::string path = AbsolutePath(folder);
    if (path.find('\n') != std::string::npos || path == owner ||
        std::find(absolute.begin(), absolute.end(), path) != absolute.end()) {
      return Status::InvalidArgument("pool.region_paths: " + path +
                                     " can't be the folder of a region; each region needs one of "
                                     "its own, other than the pool's");
    }
    absolute.push_back(path);
    text += kLine + std::to_string(absolute.size()) + " " + path + "\n";
  }
  for (const std::string& path : absolute) {
    if (Status s = TakeFolder(owner, path); !s.ok()) return s;
  }
  return WriteText(pool, kRegionsFileName, text);
}

Status RemoveRegionFolders(const std::string& pool) {
  Result<std::vector<std::string>> folders = ReadRegionFolders(pool);
  if (!folders.ok()) return folders.status();
  for (const std::string& folder : *folders) {
    if (Status s = CheckOwner(pool, folder); !s.ok()) return s;
  }
  for (const std::string& folder : *folders) {
    if (Status s = ClearFolder(folder, true); !s.ok()) return s;
  }
  return Status::OK();
}

}  // namespace braid::media
