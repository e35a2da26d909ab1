// Purpose: system calls on the files of a pool: descriptors that close themselves, retries after
// signals, errors that say what to do, names of segments.
// Thread safety: any thread.
// Persistence: none of its own.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/forks.h"
#include "braid/status.h"

namespace braid::media {

inline constexpr const char* kLockName = "lock";
inline constexpr const char* kReadersName = "readers";
inline constexpr const char* kTemporarySuffix = ".new";

/// "segment-000001"
std::string SegmentName(uint32_t index);
/// The same with a suffix behind it, where no memory may be taken.
using SegmentFile = std::array<char, 32>;
SegmentFile SegmentFileOf(uint32_t index, const char* suffix) noexcept;

/// What `error` means for `action` on `path`, and what to do about it.
Status FileError(const std::string& action, const std::string& path, int error);

/// A file descriptor that closes itself; in a child only what the child has opened.
class Fd {
 public:
  Fd() = default;
  /// As openat(); errno says why it is not ok(). Children don't inherit it: for files that are
  /// locked, whose locks would last as long as a child has them open.
  static Fd OpenKept(int folder, const char* name, int flags, mode_t mode = 0);
  /// Not 0, 1 or 2: where the caller has closed these, what it writes to its output must not be
  /// written to a pool.
  explicit Fd(int fd) : fd_(fd) {
    if (fd < 0 || fd > STDERR_FILENO) return;
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(fd);
    errno = error;
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), origin_(other.origin_) {}
  Fd& operator=(Fd&& other) noexcept {
    BRAID_DCHECK(this != &other);  // it would be closed
    Close();
    fd_ = std::exchange(other.fd_, -1);
    origin_ = other.origin_;
    return *this;
  }
  ~Fd() { Close(); }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  void Close() noexcept;

  int fd_ = -1;
  base::Origin origin_;
};

/// The error of OpenPoolFile at a name that is no regular file.
inline constexpr int kNotRegularError = EMEDIUMTYPE;

/// Opens a file of a pool by its name in `directory` (AT_FDCWD: a path), following no link. Waits
/// for nobody, as the open of a pipe without another end would. Errors: in errno, as of openat.
Fd OpenPoolFile(int directory, const std::string& name, int flags, mode_t mode = 0600);

enum class Access : uint8_t { kRead, kWrite };

/// InvalidArgument when other users may write to what lies at `path`, or, where this process is to
/// write, have a say in it: it is theirs, or (a file) has another name elsewhere. Root is trusted.
Status CheckNotOthers(const struct stat& info, const std::string& path, Access access);
/// The part of it that no option lifts: a write to the file changes no file of another name.
Status CheckOneName(const struct stat& info, const std::string& path);

/// Calls again what a signal interrupted. `call` returns -1 and sets errno, as system calls do.
template <class Call>
auto Again(Call&& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

/// Calls `visit(name)` for every entry of the directory until it returns false.
template <class Visit>
Status List(const std::string& path, Visit&& visit) {
  struct Closer {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, Closer> stream(::opendir(path.c_str()));
  if (stream == nullptr) return FileError("cannot list", path, errno);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    if (!visit(std::string_view(entry->d_name))) return Status::OK();
  }
  return errno == 0 ? Status::OK() : FileError("cannot list", path, errno);
}

/// Names of all segments, finished or not.
Result<std::vector<std::string>> SegmentFiles(const std::string& path);

}  // namespace braid::media
