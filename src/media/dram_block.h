// Purpose: blocks of DRAM for arenas. Large ones are separate mappings, so that freed blocks leave
// the process, which malloc does not promise; a few are kept (memory_blocks.h).
// Thread safety: all calls from any thread.
// Persistence: none; nothing here is in a pool.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/check.h"
#include "media/memory_blocks.h"

namespace braid::media {

inline constexpr size_t kMappedDramBlock = size_t{128} << 10;
inline constexpr std::align_val_t kDramBlockAlignment{64};
// Or blocks of that size would be taken from the one place and given back to the other.
static_assert(MemoryBlocks::kBytes >= kMappedDramBlock);

/// A block of `bytes`, at the start of a cache line. Throws std::bad_alloc.
inline void* TakeDramBlock(size_t bytes) {
  if (bytes < kMappedDramBlock) return ::operator new(bytes, kDramBlockAlignment);
  if (bytes == MemoryBlocks::kBytes) return MemoryBlocks::Take();
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  return block;
}

/// `bytes` as it was taken.
inline void GiveDramBlock(void* block, size_t bytes) noexcept {
  BRAID_DCHECK(reinterpret_cast<uintptr_t>(block) % static_cast<size_t>(kDramBlockAlignment) == 0);
  if (bytes < kMappedDramBlock) {
    ::operator delete(block, kDramBlockAlignment);
  } else if (bytes == MemoryBlocks::kBytes) {
    MemoryBlocks::Give(block);
  } else {
    ::munmap(block, bytes);
  }
}

}  // namespace braid::media
