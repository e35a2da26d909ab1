// Purpose: keeps fork() from leaving things half done. While a process forks, none of its threads
// is inside one of the short sections that keep things for all pools (kept memory, address ranges,
// the handler of SIGBUS, registered readers, open files), so that a child finds these whole, and
// may open pools of its own. A child closes the files that it has inherited: with one of them open
// it would keep the pool locked when its parent is gone.
// Thread safety: any thread.
// Invariants:
//   1. A file that is kept from children is opened, locked and closed under a NoFork, and so is in
//      a child's table or in none.
//   2. A NoFork waits for nothing but its mutex.
// Persistence: none. Not noticed: processes made by the bare system calls, without the handlers of
// pthread_atfork. vfork() and posix_spawn() need nothing.
#pragma once

#include <mutex>

#include "base/mutex.h"
#include "braid/status.h"

namespace braid::media {

/// Called before the first pool of a process is opened; later calls do nothing. OutOfMemory.
Status WatchForks() noexcept;

/// While it lives no thread forks. For moments.
class NoFork {
 public:
  NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;

 private:
  base::MutexHold lock_;
};

/// Children close `fd` before their fork() returns. Under a NoFork. Descriptors above 65,535 stay.
void CloseInChildren(int fd) noexcept;
/// Of one that is about to be closed. Under the same NoFork as its close.
void ForgetForChildren(int fd) noexcept;

}  // namespace braid::media
