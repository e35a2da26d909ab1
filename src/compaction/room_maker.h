// Purpose: makes room for a large value where enough chunks are free, but not contiguous: the
// content of a run of chunks is copied elsewhere. Only while a write needs such a run, which is
// reserved for it from then on.
// Thread safety: the compaction thread.
// Persistence: the copies are those of a collection (compaction/garbage_collection.h), large values
// included, and their merge replaces the originals; or lists with copies replace others
// (compaction/list_rewriter.h). So a crash leaves each value in one place or in both, and the next
// open frees what is not needed.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "compaction/list_rewriter.h"
#include "compaction/merger.h"
#include "compaction/room.h"
#include "space/large_values.h"

namespace braid::compaction {

class RoomMaker {
 public:
  /// Where room is made, and outlives the maker.
  struct Store {
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    SpaceAccounts* accounts;
    space::LargeValues* large_values;
    Merger* merger;
    ListRewriter* rewriter;  // where levels are of several lists, else null
  };

  explicit RoomMaker(const Store& store) noexcept : store_(store) {}

  /// Empties the run of chunks that costs least; it is free when its readers have left. False when
  /// there is nothing to do, or nothing that would help. `stuck`: chunks of runs that could not be
  /// emptied; added to. Errors end writes. Throws std::bad_alloc.
  Result<bool> Step(std::unordered_set<uint64_t>* stuck);

 private:
  Result<bool> MoveAway(const std::vector<uint64_t>& entries, const std::vector<ChunkUse>& uses,
                        const Room& room);

  const Store store_;
};

}  // namespace braid::compaction
