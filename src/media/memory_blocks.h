// Purpose: DRAM for the nodes of all trees of the process, in blocks of the size that large trees
// grow by. A put that splits a leaf should find memory that is mapped already: a first touch costs
// microseconds, and a system call waits for other threads that change the mappings of the process.
// So a few blocks that trees free are kept for the next one, and the background prepares as many as
// were taken recently, in huge pages where the system has them.
// Thread safety: any thread.
// Invariants:
//   1. A block has one owner at a time.
//   2. At most kKept blocks are kept that no tree owns, and none before Prepare was called.
// Persistence: none.
#pragma once

#include <cstddef>

namespace braid::media {

class MemoryBlocks {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kKept = 8;

  /// A block of kBytes, at the start of a page, with any content. Throws std::bad_alloc.
  static void* Take();
  static void Give(void* block) noexcept;
  /// Makes ready as many blocks as were taken since the last call, and a few where any was, at most
  /// `most` (within kKept). From then on so many are kept. For a thread that may wait for the
  /// system. Does nothing where there is no memory.
  static void Prepare(size_t most) noexcept;

  /// Around a fork (fork_guard.h).
  static void LockForFork() noexcept;
  static void UnlockAfterFork() noexcept;
};

}  // namespace braid::media
