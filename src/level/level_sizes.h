// Purpose: how many levels a store has, and how large the list of each may get.
// Thread safety: pure.
// Persistence: the number of levels is in the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "braid/options.h"

namespace braid::level {

/// Levels of a new pool of a design with several lists: L0 for moments, and four lists.
inline constexpr uint32_t kUsualLevels = 5;

/// A design that keeps several lists says how large the first one may get.
inline bool HasSeveralLists(const LevelOptions& options) noexcept { return options.l1_bytes != 0; }

inline uint32_t LevelsOfNewPool(const LevelOptions& options) noexcept {
  if (!HasSeveralLists(options)) return 2;
  return options.count != 0 ? options.count : kUsualLevels;
}

/// How many a pool is to have; 0: as many as it has.
inline uint32_t LevelsOfPool(const LevelOptions& options) noexcept {
  return HasSeveralLists(options) ? options.count : 2;
}

/// Size from which a persistent memtable is full.
inline uint64_t PersistentBytes(const Options& options) noexcept {
  return options.levels.persistent_bytes != 0 ? options.levels.persistent_bytes
                                              : options.memtable.bytes;
}

/// Size from which the list of `level` is merged into the next one. Not of L0, nor of the last.
inline uint64_t MostBytesOfLevel(const LevelOptions& options, size_t level) noexcept {
  BRAID_DCHECK(HasSeveralLists(options) && level > 0);
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  uint64_t bytes = options.l1_bytes;
  for (size_t i = 1; i < level; ++i) {
    bytes = bytes > kMost / options.growth ? kMost : bytes * options.growth;
  }
  return bytes;
}

}  // namespace braid::level
