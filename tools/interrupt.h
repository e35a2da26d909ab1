// Ctrl-C as a request to stop in good order, for verbs that write for long.
#pragma once

namespace braid::tools {

/// From now on SIGINT and SIGTERM ask to stop instead of ending the process. The second signal
/// ends it as usual.
void StopOnSignal();

/// Whether a signal asked to stop.
bool StopRequested();

/// Can be read once a signal asked to stop, for a poll of one's own; -1 when there is no such pipe.
int StopDescriptor();

/// Waits until `fd` can be read or a signal asks to stop.
void WaitForInput(int fd);
/// The same, at most so long; true when `fd` can be read. No `fd` is -1.
bool WaitForInput(int fd, int timeout_millis);

}  // namespace braid::tools
