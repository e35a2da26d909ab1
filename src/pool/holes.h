// Purpose: gives the pages of free chunks back to the file system, by holes in the pool's files,
// and asks for them again before the chunks are used.
// Thread safety: any thread.
// Invariants:
//   1. Only what is free is a hole, and is so durably before its pages go: no crash makes a chunk
//      in use of it.
//   2. A chunk is taken only with its pages, so that no store to it can find the device full.
//   3. The header says durably that there may be holes before the first one is made. An open takes
//      all free chunks of such a pool for holes: to ask for pages that are there changes nothing.
// Persistence: the hole itself is the file system's: after a crash the pages are there or not.
#pragma once

#include <atomic>
#include <cstdint>

#include "braid/status.h"
#include "media/persist.h"
#include "pool/chunk_space.h"
#include "pool/free_chunks.h"
#include "pool/header_copies.h"
#include "pool/segments.h"

namespace braid::pool {

class Holes {
 public:
  Holes(ChunkSpace* space, HeaderCopies* header, Segments* segments, FreeChunks* free) noexcept
      : space_(*space), header_(*header), segments_(*segments), free_(*free) {}

  /// Before anybody allocates: whether free chunks of a pool that was opened may be holes. The
  /// header says so, or its files take less than their sizes, as copies of files may.
  bool MayBeThere() const;
  /// Of such a pool: whether the chunk may hold bytes. To look at pages of a hole may take room.
  bool MayHoldBytes(uint64_t chunk) const noexcept {
    return !found_.load(std::memory_order_relaxed) ||
           space_.media().HasData(space_.ChunkOffset(chunk), format::kPageBytes);
  }
  void NoteFound() noexcept { found_.store(true, std::memory_order_relaxed); }
  bool found() const noexcept { return found_.load(std::memory_order_relaxed); }

  /// Null where pages are given back, else why not, in words.
  const char* WhyNot() const noexcept;
  /// Gives back the pages of up to `most` chunks of a region, those that were free for longest, as
  /// long as more than `keep` stay. How many. Errors: IOError, NotSupported; std::bad_alloc.
  Result<uint64_t> GiveBack(uint32_t region, uint64_t most, uint64_t keep);
  /// Asks for what FreeChunks::Take lacks. False: holes do not help. Errors: OutOfSpace, IOError;
  /// std::bad_alloc.
  Result<bool> FillFor(uint64_t count, uint32_t region, AllocationClass allocation);
  /// Asks for up to `most` holes of a region, ahead of their use, and touches their pages. The same
  /// errors.
  Result<bool> FillAhead(uint32_t region, uint64_t most);
  /// Those of a run. The same errors.
  Status FillRun(uint64_t first, uint64_t count, uint32_t region);

  /// Since the open.
  uint64_t chunks_given_back() const noexcept {
    return given_back_.load(std::memory_order_relaxed);
  }
  uint64_t chunks_filled() const noexcept { return filled_.load(std::memory_order_relaxed); }

 private:
  Status Fill(const FreeChunks::Aside& chunks, uint32_t region, bool touch);
  Status MakeDurable(uint64_t first, uint64_t count);

  ChunkSpace& space_;
  HeaderCopies& header_;
  Segments& segments_;
  FreeChunks& free_;
  std::atomic<bool> found_{false};
  std::atomic<uint64_t> given_back_{0};
  std::atomic<uint64_t> filled_{0};
};

}  // namespace braid::pool
