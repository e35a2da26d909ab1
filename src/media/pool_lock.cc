// Purpose: takes and inspects the locks of a pool.
// Thread safety, invariants, persistence: see pool_lock.h.
#include "media/pool_lock.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/check.h"
#include "media/file_calls.h"

namespace braid::media {

namespace {

constexpr const char* kAnswers = "answers readers";
constexpr const char* kDoesNotAnswer = "does not answer readers";
/// Of the file "lock" that are looked at, with a zero behind.
constexpr size_t kLockTextBytes = 64;

/// Whether a lock of that kind would meet another one.
bool IsInTheWay(int fd, short type) {
  struct flock request {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_GETLK, &request) == 0 && request.l_type != F_UNLCK;
}

Fd OpenToProbe(const std::string& path) { return OpenPoolFile(AT_FDCWD, path, O_RDONLY); }

bool IsNumber(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// A process that has the file open other than as `own_fd`, among those that this one may look at;
/// 0: none. The system does not tell whose a lock of an open file is.
int64_t FindProcessWith(const std::string& file, int own_fd) {
  struct stat wanted {};
  if (::stat(file.c_str(), &wanted) != 0) return 0;
  int64_t found = 0;
  const Status all = List("/proc", [&](std::string_view process) {
    if (!IsNumber(process)) return true;
    const std::string number(process);
    const int64_t pid = std::strtoll(number.c_str(), nullptr, 10);
    const std::string folder = "/proc/" + number + "/fd";
    const Status one = List(folder, [&](std::string_view fd) {
      struct stat info {};
      const bool own = pid == ::getpid() && fd == std::to_string(own_fd);
      if (own || !IsNumber(fd) || ::stat((folder + "/" + std::string(fd)).c_str(), &info) != 0 ||
          info.st_dev != wanted.st_dev || info.st_ino != wanted.st_ino) {
        return true;
      }
      found = pid;
      return false;
    });
    (void)one;  // another user's, or gone
    return found == 0;
  });
  (void)all;
  return found;
}

/// What a writer says of itself.
void ReadLockText(int fd, LockHolder* holder) {
  char text[kLockTextBytes] = {};
  if (::pread(fd, text, sizeof text - 1, 0) <= 0) return;
  char* end = nullptr;
  holder->pid = std::strtoll(text, &end, 10);
  const std::string_view rest(end);
  if (rest.find(kAnswers) != std::string_view::npos) holder->answers = AnswersReaders::kYes;
  if (rest.find(kDoesNotAnswer) != std::string_view::npos) holder->answers = AnswersReaders::kNo;
}

LockHolder Probe(const std::string& path, int own_fd) {
  LockHolder holder;
  const std::string segment = path + "/" + SegmentName(0);
  // Who has a descriptor of the segment has locked "lock" itself.
  const Fd lock = own_fd >= 0 ? Fd() : OpenToProbe(path + "/" + kLockName);
  if (lock.ok() && IsInTheWay(lock.get(), F_RDLCK)) {
    holder.held = true;
    ReadLockText(lock.get(), &holder);
    return holder;
  }
  holder.held = lock.ok() && IsInTheWay(lock.get(), F_WRLCK);
  holder.reads = holder.held;
  if (const Fd first = OpenToProbe(segment); !holder.held && first.ok()) {
    // Somebody who found no "lock", or whose "lock" was removed.
    holder.held = IsInTheWay(own_fd >= 0 ? own_fd : first.get(), F_WRLCK);
    holder.reads = holder.held && !IsInTheWay(own_fd >= 0 ? own_fd : first.get(), F_RDLCK);
  }
  if (holder.held) holder.pid = FindProcessWith(segment, own_fd);
  return holder;
}

}  // namespace

std::string LockText(int64_t pid, AnswersReaders answers) {
  std::string text = std::to_string(pid) + "\n";
  if (answers == AnswersReaders::kYes) text += std::string(kAnswers) + "\n";
  if (answers == AnswersReaders::kNo) text += std::string(kDoesNotAnswer) + "\n";
  BRAID_DCHECK(text.size() < kLockTextBytes);  // or who reads it would miss the end
  return text;
}

LockHolder ProbeLock(const std::string& path) { return Probe(path, -1); }

int TakeFileLock(int fd, LockKind kind) {
  BRAID_DCHECK(fd >= 0);
  if (kind == LockKind::kNone) return 0;
  struct flock request {};
  request.l_type = kind == LockKind::kShared ? F_RDLCK : F_WRLCK;
  request.l_whence = SEEK_SET;
  if (Again([&] { return ::fcntl(fd, F_OFD_SETLK, &request); }) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

void DropFileLock(int fd) {
  BRAID_DCHECK(fd >= 0);
  struct flock request {};
  request.l_type = F_UNLCK;
  request.l_whence = SEEK_SET;
  // Can't fail on a descriptor that is open; its close gives the lock back in any case.
  (void)::fcntl(fd, F_OFD_SETLK, &request);
}

Status BusyStatus(const std::string& path, LockKind wanted, int own_fd) {
  const LockHolder holder = Probe(path, own_fd);
  const std::string who =
      holder.pid > 0 ? "process " + std::to_string(holder.pid) : std::string("another process");
  if (holder.reads) {
    return Status::Busy("the pool " + path + " is open for reading in " + who +
                        "; close it there first, or set read_only to read concurrently");
  }
  if (wanted == LockKind::kShared) {
    return Status::Busy("the pool " + path + " is open for writing in " + who +
                        "; close it there first, read through that process, or read a checkpoint "
                        "that it makes");
  }
  return Status::Busy("the pool " + path + " is open already" +
                      (holder.pid > 0 ? ", by process " + std::to_string(holder.pid) : "") +
                      "; close it there first");
}

}  // namespace braid::media
