// Purpose: copying a closed pool.
// Thread safety, persistence: see pool_copy.h.
#include "media/pool_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "base/check.h"
#include "media/file_calls.h"

namespace braid::media {

namespace {

constexpr uint64_t kBlock = 1 << 20;

/// Calls `told` with the bytes copied.
Status CopyFile(const PoolImage& image, size_t file, const std::string& from, int to,
                const std::string& name, const std::function<void(uint64_t)>& told) {
  const uint64_t bytes = image.files()[file].bytes;
  if (bytes != 0) {
    const int error = ::posix_fallocate(to, 0, static_cast<off_t>(bytes));
    if (error != 0) return FileError("cannot allocate", name, error);
  }
  std::vector<char> block(std::min(bytes, kBlock));
  for (uint64_t at = 0; at < bytes;) {
    const uint64_t part = std::min(kBlock, bytes - at);
    if (!image.ReadFile(file, at, block.data(), part)) {
      char place[32];
      std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(at));
      return Status::Corruption(from + place + ": segment: its medium can't read " +
                                std::to_string(part) + " bytes from here on");
    }
    for (uint64_t done = 0; done < part;) {
      const ssize_t n =
          ::pwrite(to, block.data() + done, part - done, static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return FileError("cannot write", name, n == 0 ? ENOSPC : errno);
      done += static_cast<uint64_t>(n);
    }
    at += part;
    told(part);
  }
  return ::fsync(to) == 0 ? Status::OK() : FileError("cannot sync", name, errno);
}

}  // namespace

Status CopySegments(const PoolImage& image, const std::string& path, const std::string& target,
                    const std::function<void(double share)>& progress) {
  if (!image.lost_folders().empty()) {
    return Status::Corruption(
        path + "/regions: regions: a folder is lost: " + image.lost_folders().front());
  }
  uint64_t total = 0;
  for (size_t i = 0; i < image.files().size(); ++i) {
    if (image.files()[i].index != i) {
      char name[32];
      std::snprintf(name, sizeof name, "/segment-%06zu", i);
      return Status::Corruption(path + name + "+0x0: segment: the file is missing");
    }
    total += image.files()[i].bytes;
  }
  if (::mkdir(target.c_str(), 0700) != 0) return FileError("cannot create", target, errno);
  uint64_t copied = 0;
  const auto told = [&](uint64_t part) {
    copied += part;
    BRAID_DCHECK(copied <= total);
    if (progress) progress(static_cast<double>(copied) / static_cast<double>(total));
  };
  for (size_t i = 0; i < image.files().size(); ++i) {
    const std::string& file = image.files()[i].name;
    const std::string name = target + "/" + file;
    const int to = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0) return FileError("cannot create", name, errno);
    Status s = CopyFile(image, i, path + "/" + file, to, name, told);
    ::close(to);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

}  // namespace braid::media
