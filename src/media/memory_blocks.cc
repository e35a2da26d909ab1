// Purpose: blocks for nodes.
// Thread safety, invariants, persistence: see memory_blocks.h.
#include "media/memory_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace braid::media {

namespace {

struct Kept {
  base::Mutex mutex;
  std::array<void*, MemoryBlocks::kKept> blocks;
  size_t count = 0;
  size_t most = 0;
  size_t taken = 1;  // since the last Prepare; at first as if a tree were made
};

/// Never destroyed: trees of static duration may outlive it. In room of its own: the first call may
/// come when memory is out.
Kept& TheKept() noexcept {
  alignas(Kept) static std::byte room[sizeof(Kept)];
  static Kept* kept = ::new (room) Kept;
  return *kept;
}

constexpr size_t kSmallestPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
static_assert(kHugePage % MemoryBlocks::kBytes == 0);

/// Null where there is no memory.
void* Map(size_t bytes) noexcept {
  void* room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? nullptr : room;
}

/// The room of a huge page, each of its pages touched; null where there is no memory.
char* MapHugePage() noexcept {
  void* room = Map(2 * kHugePage);
  if (room == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(room);
  const uintptr_t page = (begin + kHugePage - 1) & ~(kHugePage - 1);
  if (page > begin) ::munmap(room, page - begin);
  if (page < begin + kHugePage) {
    ::munmap(reinterpret_cast<void*>(page + kHugePage), begin + kHugePage - page);
  }
  auto* memory = reinterpret_cast<char*>(page);
  ::madvise(memory, kHugePage, MADV_HUGEPAGE);  // where there are none small ones do
#if defined(MADV_POPULATE_WRITE)
  ::madvise(memory, kHugePage, MADV_POPULATE_WRITE);  // else the first touch does it
#endif
  return memory;
}

}  // namespace

void* MemoryBlocks::Take() {
  Kept& kept = TheKept();
  {
    const base::MutexLock lock(kept.mutex);
    ++kept.taken;
    BRAID_DCHECK(kept.count <= kKept);
    if (kept.count > 0) return kept.blocks[--kept.count];
  }
  void* block = Map(kBytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void MemoryBlocks::Give(void* block) noexcept {
  BRAID_DCHECK(block != nullptr && reinterpret_cast<uintptr_t>(block) % kSmallestPage == 0);
  Kept& kept = TheKept();
  {
    const base::MutexLock lock(kept.mutex);
    // Invariants 1 and 2.
    BRAID_DCHECK(std::find(kept.blocks.begin(), kept.blocks.begin() + kept.count, block) ==
                 kept.blocks.begin() + kept.count);
    BRAID_DCHECK(kept.count <= kKept && kept.most <= kKept);
    if (kept.count < kept.most) {
      kept.blocks[kept.count++] = block;
      return;
    }
  }
  ::munmap(block, kBytes);
}

// Held over a fork, by fork_guard.cc.
void MemoryBlocks::LockForFork() noexcept BRAID_NO_THREAD_CHECK { TheKept().mutex.lock(); }
void MemoryBlocks::UnlockAfterFork() noexcept BRAID_NO_THREAD_CHECK { TheKept().mutex.unlock(); }

void MemoryBlocks::Prepare(size_t most) noexcept {
  Kept& kept = TheKept();
  size_t missing = 0;
  {
    const base::MutexLock lock(kept.mutex);
    // Enough for as long as this thread may be busy with other work.
    const size_t taken = std::exchange(kept.taken, 0);
    kept.most = std::min(most, kKept);
    const size_t wanted = taken == 0 ? 0 : std::clamp(taken, kept.most / 2, kept.most);
    missing = wanted > kept.count ? wanted - kept.count : 0;
    BRAID_DCHECK(missing <= kKept);  // nobody waits for long
  }
  for (size_t made = 0; made < missing; made += kHugePage / kBytes) {
    char* memory = MapHugePage();
    if (memory == nullptr) return;
    for (size_t at = 0; at < kHugePage; at += kBytes) Give(memory + at);
  }
}

}  // namespace braid::media
