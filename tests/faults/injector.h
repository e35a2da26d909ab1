// Makes the k-th call of a kind fail: allocations and the system calls that braid and the libraries
// below it make. The program defines these functions itself (injector.cc), so that nothing in the
// product knows of it. Nothing fails, and nothing is counted, outside of an Armed scope.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>

namespace braid::test {

enum class Call : uint8_t {
  kNew,       ///< operator new, and calloc as our code uses it
  kMap,       ///< mmap
  kOpen,      ///< open, openat, opendir
  kAllocate,  ///< posix_fallocate
  kSync,      ///< fsync, fdatasync, msync
  kRename,    ///< renameat, renameat2
  kWrite,     ///< pwrite, ftruncate, mkdir
  kLock,      ///< fcntl
  kStat,      ///< stat, fstat
  kThread,    ///< pthread_create
  kCount
};
const char* CallName(Call call);

struct Injection {
  Call call = Call::kNew;
  uint64_t at = 0;       ///< the first call that fails, from 1 on; 0: none, calls are counted only
  bool lasting = false;  ///< every later one fails too
  int error = ENOMEM;
  /// Nothing fails: the process ends, with kKilledExit, right before the call with number `at` of
  /// all that change or sync files, of whatever kind.
  bool kills = false;

  std::string ToString() const;
};

inline constexpr int kKilledExit = 77;

/// Chooses what fails from now on; counts begin anew. Not while a scope is armed.
void Inject(const Injection& injection);
/// Calls of the kind that were made in armed scopes since Inject.
uint64_t CallsMade();
bool HasFailed();
/// Whether a sync has told of an error since Inject, and not of a signal only.
bool SyncHasFailed();
/// Unless null, called once, by the call that fails next, before it does: what others do meanwhile
/// comes to wait behind it. Null again when it is called.
extern std::atomic<const std::function<void()>*> before_failure;

/// While one of these is alive, calls of all threads are counted and fail.
class Armed {
 public:
  Armed();
  ~Armed();
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};

}  // namespace braid::test
