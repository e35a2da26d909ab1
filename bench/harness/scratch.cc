#include "bench/harness/scratch.h"

#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace braid::bench {
namespace {

volatile std::sig_atomic_t g_stop_requested = 0;

void RequestStop(int) { g_stop_requested = 1; }

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// Turns stop signals into a flag while it lives; without SA_RESTART, so that waiting ends.
class StopSignalGuard {
 public:
  StopSignalGuard() {
    struct sigaction action {};
    action.sa_handler = RequestStop;
    for (size_t i = 0; i < std::size(kStopSignals); ++i) {
      ::sigaction(kStopSignals[i], &action, &saved_[i]);
    }
  }
  ~StopSignalGuard() { Restore(); }
  void Restore() {
    for (size_t i = 0; i < std::size(kStopSignals); ++i) {
      ::sigaction(kStopSignals[i], &saved_[i], nullptr);
    }
  }

 private:
  struct sigaction saved_[std::size(kStopSignals)];
};

/// Reads until the end of the pipe or until a stop is requested.
void ReadAll(int descriptor, std::string* output) {
  char buffer[4096];
  while (g_stop_requested == 0) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got > 0) output->append(buffer, static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

uint64_t FreeBytes(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return 0;
  return static_cast<uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace

ScratchBase ChooseScratchBase(uint64_t bytes) {
  if (const char* wanted = std::getenv("BRAID_TMP"); wanted != nullptr && *wanted != '\0') {
    return {wanted, "$BRAID_TMP"};
  }
  const std::string memory = "/dev/shm";
  if (::access(memory.c_str(), W_OK) == 0 && FreeBytes(memory) > bytes) {
    return {memory, "memory; set BRAID_TMP to measure elsewhere"};
  }
  std::error_code error;
  const std::string system = std::filesystem::temp_directory_path(error).string();
  return {error ? "/tmp" : system, "no room in " + memory + "; set BRAID_TMP to measure elsewhere"};
}

Result<ScratchDirectory> ScratchDirectory::Create(const std::string& base) {
  std::string path = base + "/braid-bench-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Status::IOError("can't make a folder below " + base + " (" + std::strerror(errno) +
                           "): set BRAID_TMP to a folder you may write to");
  }
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<ChildOutcome> RunInChild(const std::function<int(int descriptor)>& body) {
  int ends[2];
  if (::pipe(ends) != 0)
    return Status::IOError("can't make a pipe: " + std::string(std::strerror(errno)));
  std::fflush(nullptr);
  g_stop_requested = 0;
  StopSignalGuard guard;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return Status::IOError("can't start a process: " + std::string(std::strerror(errno)));
  }
  if (child == 0) {
    guard.Restore();
    // A child must not outlive a parent that was killed without a chance to clean up.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    const int code = body(ends[1]);
    std::fflush(nullptr);
    // Not exit(): objects of the parent, such as its ScratchDirectory, are not the child's.
    ::_exit(code);
  }
  ::close(ends[1]);
  ChildOutcome outcome;
  ReadAll(ends[0], &outcome.output);
  ::close(ends[0]);
  int status = 0;
  for (;;) {
    if (g_stop_requested != 0) ::kill(child, SIGKILL);
    if (::waitpid(child, &status, 0) == child) break;
    if (errno != EINTR)
      return Status::IOError("lost a process: " + std::string(std::strerror(errno)));
  }
  outcome.interrupted = g_stop_requested != 0;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace braid::bench
