// Purpose: the lock of a pool: one process that writes, or any number that only read. Two files are
// locked: "lock", which a writer creates and writes its process id to, and the first segment, which
// every pool has, even on a read-only filesystem.
// Thread safety: any thread.
// Invariants:
//   1. The locks belong to the open file (OFD), so that handles of one process keep each other out
//      as well, and that they end with the process, however it ends.
//   2. Locking never blocks.
// Persistence: none; the content of "lock" is for people, and for processes that want to read while
// a writer holds it.
#pragma once

#include <cstdint>
#include <string>

#include "braid/status.h"

namespace braid::media {

enum class LockKind : uint8_t {
  kShared,     ///< of those who read
  kExclusive,  ///< of the one who writes
  kNone,       ///< of those who read by leave of the one who writes (reader_slots.h)
};

/// Whether a handle that writes answers concurrent readers (reader_slots.h).
enum class AnswersReaders : uint8_t { kNotYet, kYes, kNo };

struct LockHolder {
  bool held = false;
  bool reads = false;  ///< the pool is open for reading only
  AnswersReaders answers = AnswersReaders::kNotYet;
  int64_t pid = 0;  ///< 0: not known
};

/// The text of "lock" of a process that writes.
std::string LockText(int64_t pid, AnswersReaders answers);

/// Whether another handle has the pool open, and whose.
LockHolder ProbeLock(const std::string& path);

/// Takes the lock of an open file: 0, or the error; EAGAIN when another handle is in the way.
int TakeFileLock(int fd, LockKind kind);
void DropFileLock(int fd);

/// Why the pool could not be locked: who is in the way and what to do. `own_fd`: of the caller's,
/// on the first segment, which is not to be taken for another's; -1: none.
Status BusyStatus(const std::string& path, LockKind wanted, int own_fd = -1);

}  // namespace braid::media
