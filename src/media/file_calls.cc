// Purpose: system calls on the files of a pool.
// Thread safety, persistence: see file_calls.h.
#include "media/file_calls.h"

#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "media/fork_guard.h"

namespace braid::media {

namespace {

std::string ErrnoText(int error) {
  if (error == kNotRegularError) return "it is not a regular file; remove it";
  return std::strerror(error);
}

}  // namespace

Fd Fd::OpenKept(int folder, const char* name, int flags, mode_t mode) {
  const NoFork no_fork;
  Fd fd(Again([&] { return ::openat(folder, name, flags, mode); }));
  CloseInChildren(fd.get());
  return fd;
}

void Fd::Close() noexcept {
  if (fd_ < 0 || !origin_.IsThisProcess()) return;
  BRAID_DCHECK(fd_ > STDERR_FILENO);
  const NoFork no_fork;
  ForgetForChildren(fd_);
  ::close(fd_);
}

std::string SegmentName(uint32_t index) { return SegmentFileOf(index, "").data(); }

SegmentFile SegmentFileOf(uint32_t index, const char* suffix) noexcept {
  // Behind "segment-" an index has ten digits at most.
  BRAID_DCHECK(std::strlen("segment-") + 10 + std::strlen(suffix) < sizeof(SegmentFile));
  SegmentFile name;
  std::snprintf(name.data(), name.size(), "segment-%06u%s", index, suffix);
  return name;
}

Status FileError(const std::string& action, const std::string& path, int error) {
  const std::string text = action + " " + path + ": " + ErrnoText(error);
  switch (error) {
    case ENOSPC:
      return Status::OutOfSpace(text + "; free space on the filesystem, then writes work again");
    case EDQUOT:
      return Status::OutOfSpace(text + "; raise the quota or remove files of the same owner");
    case EFBIG:
      return Status::OutOfSpace(text + "; raise the limit on the size of files (ulimit -f)");
    case EMFILE:
    case ENFILE:
      return Status::IOError(text + "; raise the limit on open files (ulimit -n)");
    case EROFS:
      return Status::IOError(
          text +
          "; an open pool is written to: mount the filesystem for writing, or set "
          "read_only. The kernel refuses to write on an NVDIMM that is not armed");
    case EACCES:
    case EPERM:
      return Status::IOError(text +
                             "; the pool must be readable and writable for this user, or "
                             "only readable with read_only");
    case ENOMEM:
      return Status::IOError(text + "; free some memory and try again");
    default:
      return Status::IOError(text);
  }
}

Fd OpenPoolFile(int directory, const std::string& name, int flags, mode_t mode) {
  constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Fd fd = Fd::OpenKept(directory, name.c_str(), flags | kAlways, mode);
  // The open itself fails for a socket, and for a pipe that nobody reads.
  if (!fd.ok() && errno == ENXIO) errno = kNotRegularError;
  if (!fd.ok()) return fd;
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || S_ISREG(info.st_mode)) return fd;
  fd = Fd();
  errno = kNotRegularError;
  return fd;
}

Status CheckNotOthers(const struct stat& info, const std::string& path, Access access) {
  const auto refuse = [&](const std::string& why) {
    return Status::InvalidArgument(path + " " + why + ", or set pool.allow_world_writable");
  };
  if ((info.st_mode & S_IWOTH) != 0) {
    return refuse("may be written to by everybody: run chmod go-w on it");
  }
  if ((info.st_mode & S_IWGRP) != 0) {
    return refuse("may be written to by its group: run chmod g-w on it");
  }
  if (access == Access::kRead) return Status::OK();
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return refuse("belongs to another user (" + std::to_string(info.st_uid) +
                  "), who may write to it: open the pool as that user, or run chown on it");
  }
  return CheckOneName(info, path);
}

Status CheckOneName(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode) || info.st_nlink < 2) return Status::OK();
  return Status::InvalidArgument(path +
                                 " has another name (a hard link), so that a write to it "
                                 "would change another file: put a copy in its place");
}

Result<std::vector<std::string>> SegmentFiles(const std::string& path) {
  std::vector<std::string> names;
  Status s = List(path, [&](std::string_view name) {
    if (name.starts_with("segment-")) names.emplace_back(name);
    return true;
  });
  if (!s.ok()) return s;
  return names;
}

}  // namespace braid::media
