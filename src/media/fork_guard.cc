// Purpose: the handlers of fork(), and the list of files that a child closes.
// Thread safety, invariants, persistence: see fork_guard.h.
#include "media/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/epoch.h"
#include "base/forks.h"
#include "media/address_room.h"
#include "media/memory_blocks.h"
#include "media/sigbus_guard.h"

namespace braid::media {

namespace {

constinit base::Mutex files_mutex;
constexpr int kMostFiles = 1 << 16;
constexpr int kWordBits = 64;
/// files_mutex: a bit for each descriptor that children close.
constinit std::array<uint64_t, kMostFiles / kWordBits> kept_files{};
static_assert(kMostFiles % kWordBits == 0);

void CloseKeptFiles() noexcept {
  for (size_t word = 0; word < kept_files.size(); ++word) {
    for (uint64_t bits = kept_files[word]; bits != 0; bits &= bits - 1) {
      ::close(static_cast<int>(word) * kWordBits + std::countr_zero(bits));
    }
    kept_files[word] = 0;
  }
}

// Held from BeforeFork to InParent or InChild.

/// Epochs first: a grace period may wait for a reader that waits for one of the others.
void BeforeFork() noexcept BRAID_NO_THREAD_CHECK {
  base::LockEpochsForFork();
  LockAddressRoomsForFork();
  MemoryBlocks::LockForFork();
  SigbusGuard::LockForFork();
  files_mutex.lock();
}

void InParent() noexcept BRAID_NO_THREAD_CHECK {
  files_mutex.unlock();
  SigbusGuard::UnlockAfterFork();
  MemoryBlocks::UnlockAfterFork();
  UnlockAddressRoomsAfterFork();
  base::UnlockEpochsInParent();
}

void InChild() noexcept BRAID_NO_THREAD_CHECK {
  base::fork_generation.fetch_add(1, std::memory_order_relaxed);
  CloseKeptFiles();
  files_mutex.unlock();
  SigbusGuard::UnlockAfterFork();
  MemoryBlocks::UnlockAfterFork();
  UnlockAddressRoomsAfterFork();
  base::UnlockEpochsInChild();
}

}  // namespace

Status WatchForks() noexcept {
  static base::Mutex mutex;
  static bool watches = false;
  const base::MutexLock lock(mutex);
  if (!watches) watches = ::pthread_atfork(BeforeFork, InParent, InChild) == 0;
  return watches ? Status::OK() : Status::OutOfMemory();
}

NoFork::NoFork() : lock_(files_mutex) {}

void CloseInChildren(int fd) noexcept {
  files_mutex.AssertHeld();  // invariant 1
  if (fd < 0 || fd >= kMostFiles) return;
  kept_files[static_cast<size_t>(fd / kWordBits)] |= uint64_t{1} << (fd % kWordBits);
}

void ForgetForChildren(int fd) noexcept {
  files_mutex.AssertHeld();  // invariant 1
  if (fd < 0 || fd >= kMostFiles) return;
  kept_files[static_cast<size_t>(fd / kWordBits)] &= ~(uint64_t{1} << (fd % kWordBits));
}

}  // namespace braid::media
