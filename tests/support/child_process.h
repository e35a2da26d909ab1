// Runs a function in a child process, so that a crash or a hang is a result and not the end.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

namespace braid::test {

/// How a child ended and what it said.
struct ChildOutcome {
  int exit_code = -1;  ///< -1 when a signal ended it
  int signal = 0;
  bool hung = false;  ///< the alarm ended it
  std::string message;

  bool Crashed() const { return exit_code < 0 && !hung; }
  std::string ToString() const {
    std::string text;
    if (hung) {
      text = "hung (ended by its alarm)";
    } else if (signal != 0) {
      text = std::string("crashed: ") + ::strsignal(signal);
    } else {
      text = "exit code " + std::to_string(exit_code);
    }
    return message.empty() ? text : text + ": " + message;
  }
};

/// Writes `text` to `fd` whole, for a child's message.
inline void SayTo(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

inline std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

/// Calls `body` in a forked child; its return value is the exit code and what it writes to the
/// descriptor is the message. Call it while this process has no other threads.
/// `alarm_seconds` ends a child that hangs.
inline ChildOutcome RunInChild(unsigned alarm_seconds, const std::function<int(int fd)>& body) {
  ChildOutcome outcome;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    outcome.message = std::string("pipe: ") + std::strerror(errno);
    return outcome;
  }
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = ::fork();
  if (pid < 0) {
    outcome.message = std::string("fork: ") + std::strerror(errno);
    ::close(ends[0]);
    ::close(ends[1]);
    return outcome;
  }
  if (pid == 0) {
    ::close(ends[0]);
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(alarm_seconds);
    const int code = body(ends[1]);
    ::_exit(code);
  }
  ::close(ends[1]);
  outcome.message = ReadToEnd(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) {
    outcome.exit_code = WEXITSTATUS(status);
  } else if (WIFSIGNALED(status)) {
    outcome.signal = WTERMSIG(status);
    outcome.hung = outcome.signal == SIGALRM;
  }
  return outcome;
}

}  // namespace braid::test
