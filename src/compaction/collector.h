// Purpose: copying collection: the live entries of chunks that are mostly garbage are copied, and a
// merge replaces the originals by the copies, so that the chunks can be freed.
// Thread safety: the compaction thread.
// Invariants:
//   1. A chunk whose collection has gained nothing is not collected again until something in it, or
//      in the room there is, has changed.
// Persistence: compaction/garbage_collection.h, merger.h.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compaction/merger.h"
#include "compaction/pass_over_l1.h"

namespace braid::compaction {

class Collector {
 public:
  /// What is collected, and outlives the collector.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    SpaceAccounts* accounts;
    space::Reclaimer* reclaimer;
    Merger* merger;
    const engine::WriteErrors* errors;
  };

  explicit Collector(const Store& store) noexcept : store_(store), pool_(*store.pool) {}

  /// Copies the live entries of some sparse chunks together. False when there is nothing worth
  /// doing. Errors end writes. Throws std::bad_alloc.
  Result<bool> Step(const Occasion& occasion);
  /// Entries of other lists have come into the last level: what could not be collected since they
  /// were not there may be now.
  void ForgetPinned() noexcept { pinned_.clear(); }
  /// Whether collecting is worth it now, and which chunks. Throws std::bad_alloc.
  bool Plan(const Occasion& occasion, std::vector<uint64_t>* sparse) const;
  /// Keeps chunks from being collected again until their live bytes change, or more than
  /// `free_chunks` are free.
  void Pin(const std::vector<uint64_t>& chunks, uint64_t free_chunks);

 private:
  /// A chunk that can't be collected while it has so many live bytes and no more chunks are free.
  struct Pinned {
    pool::ChunkId id{};
    int64_t live = 0;
    uint64_t free_chunks = 0;
  };

  bool IsPinned(uint64_t chunk) const;
  pool::ChunkId IdOf(uint64_t chunk) const { return {chunk, pool_.StateOf(chunk).generation()}; }

  const Store store_;
  pool::PmemPool& pool_;
  std::unordered_map<uint64_t, Pinned> pinned_;  // by chunk
};

}  // namespace braid::compaction
