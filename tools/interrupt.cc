// The handler writes to a pipe, so that a wait for input sees a signal that arrives at any moment
// and in any thread: a flag alone could be set just before a read that then waits forever.
#include "tools/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace braid::tools {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
int stop_pipe[2] = {-1, -1};

extern "C" void RequestStop(int) {
  const int saved_errno = errno;
  stop_requested = 1;
  // The flag is set; a pipe that can't be written costs no more than a late stop.
  [[maybe_unused]] const ssize_t count = ::write(stop_pipe[1], "", 1);
  errno = saved_errno;
}

}  // namespace

void StopOnSignal() {
  if (::pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) stop_pipe[0] = stop_pipe[1] = -1;
  struct sigaction action {};
  action.sa_handler = RequestStop;
  // SA_RESETHAND lets the second signal through.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool StopRequested() { return stop_requested != 0; }

int StopDescriptor() { return stop_pipe[0]; }

void WaitForInput(int fd) {
  pollfd waits[2] = {{fd, POLLIN, 0}, {stop_pipe[0], POLLIN, 0}};
  while (!StopRequested() && ::poll(waits, 2, -1) < 0 && errno == EINTR) {
  }
}

bool WaitForInput(int fd, int timeout_millis) {
  pollfd waits[2] = {{fd, POLLIN, 0}, {stop_pipe[0], POLLIN, 0}};
  // A signal of another kind ends the wait early; callers look at the clock themselves.
  if (StopRequested() || ::poll(waits, 2, timeout_millis) <= 0) return false;
  return (waits[0].revents & (POLLIN | POLLHUP)) != 0;
}

}  // namespace braid::tools
