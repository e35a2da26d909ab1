// Purpose: blocks for nodes. Thread safety, invariants, persistence: see memory_blocks.h.
#include "pmem/memory_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace braid::pmem {

namespace {

struct Kept {
  std::mutex mutex;
  std::array<void*, MemoryBlocks::kKept> blocks;
  size_t count = 0;
  size_t taken = 1;  // since the last Prepare; at first as if a tree were made
};

/// Never destroyed: trees of static duration may outlive it.
Kept& TheKept() noexcept {
  static Kept* kept = new Kept;
  return *kept;
}

/// Null where there is no memory.
void* Map() noexcept {
  constexpr size_t kBytes = MemoryBlocks::kBytes;
  void* room =
      ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(room);
  const uintptr_t block = (begin + kBytes - 1) & ~(kBytes - 1);
  if (block > begin) ::munmap(room, block - begin);
  if (block < begin + kBytes) {
    ::munmap(reinterpret_cast<void*>(block + kBytes), begin + kBytes - block);
  }
  auto* memory = reinterpret_cast<void*>(block);
  ::madvise(memory, kBytes, MADV_HUGEPAGE);  // where there are none small ones do
  return memory;
}

}  // namespace

void* MemoryBlocks::Take() {
  Kept& kept = TheKept();
  {
    const std::lock_guard lock(kept.mutex);
    ++kept.taken;
    if (kept.count > 0) return kept.blocks[--kept.count];
  }
  void* block = Map();
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void MemoryBlocks::Give(void* block) noexcept {
  Kept& kept = TheKept();
  {
    const std::lock_guard lock(kept.mutex);
    if (kept.count < kKept) {
      kept.blocks[kept.count++] = block;
      return;
    }
  }
  ::munmap(block, kBytes);
}

void MemoryBlocks::Prepare() noexcept {
  Kept& kept = TheKept();
  size_t missing = 0;
  {
    const std::lock_guard lock(kept.mutex);
    // Enough for as long as this thread may be busy with other work.
    const size_t taken = std::exchange(kept.taken, 0);
    const size_t wanted = taken == 0 ? 0 : std::clamp(taken, kKept / 2, kKept);
    missing = wanted > kept.count ? wanted - kept.count : 0;
  }
  for (; missing > 0; --missing) {
    void* block = Map();
    if (block == nullptr) return;
#if defined(MADV_POPULATE_WRITE)
    ::madvise(block, kBytes, MADV_POPULATE_WRITE);  // else the first touch does it
#endif
    Give(block);
  }
}

}  // namespace braid::pmem
