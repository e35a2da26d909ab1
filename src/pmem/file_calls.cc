// Purpose, thread safety, persistence: see file_calls.h.
#include "pmem/file_calls.h"

#include <cstdio>
#include <cstring>

namespace braid::pmem {

namespace {

std::string ErrnoText(int error) { return std::strerror(error); }

}  // namespace

std::string SegmentName(uint32_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "segment-%06u", index);
  return name;
}

Status FileError(const std::string& action, const std::string& path, int error) {
  const std::string text = action + " " + path + ": " + ErrnoText(error);
  switch (error) {
    case ENOSPC:
      return Status::OutOfSpace(text + "; free space on the filesystem, writes go on after that");
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
                             "readable alone with read_only");
    case ENOMEM:
      return Status::IOError(text + "; free some memory and try again");
    default:
      return Status::IOError(text);
  }
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

}  // namespace braid::pmem
