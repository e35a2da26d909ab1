// Purpose: allocates entries of a store that has no log: in chunks of shards, in order of arrival.
// Something else leads to them and decides which of them count.
// Thread safety: any thread.
// Invariants:
//   1. An entry has its room to itself from Reserve on.
//   2. A chunk's live bytes grow in Reserve, under the shard's lock, before any other thread could
//      take the chunk for empty.
//   3. No two chunks of the pool have the same table id, so that each is, to a salvage, a log of
//      its own.
// Persistence: an entry is durable with the fence that follows Write, a torn one fails its checks;
// it counts when something durable leads to it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "log/index_unified_log.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::log {

class EntryHeap {
 public:
  EntryHeap(pool::PmemPool* pool, pool::ChunkUsage* usage, uint32_t shards);

  /// Finds room for the entry, and for its value where that needs an extent. The pending entry's
  /// offset is set. Errors: OutOfSpace, InvalidArgument (the key does not fit a chunk); then
  /// nothing is held.
  Status Reserve(uint32_t shard, PendingEntry* pending, pool::AllocationClass allocation);
  /// Writes and flushes the whole entry; durable by the caller's next fence.
  void Write(PendingEntry* pending, uint64_t sequence);
  /// Bytes the entry takes in its chunk.
  static uint64_t SizeOf(const PendingEntry& pending) noexcept;

  /// Chunks of entries without live bytes that nobody writes to any more. `open_too`: chunks that
  /// are being filled and hold nothing are given up first.
  std::vector<uint64_t> EmptyChunks(bool open_too);
  /// Chunks that are not being filled and whose share of live bytes is below `ratio`.
  std::vector<uint64_t> SparseChunks(double ratio);

  /// The table id of the next chunk; of a new session, above all that are in use.
  uint64_t next_id() const;
  void set_next_id(uint64_t id);

 private:
  struct alignas(64) Shard {
    base::Mutex mutex;
    uint64_t chunk BRAID_GUARDED_BY(mutex) = 0;  // 0: none
    uint64_t tail BRAID_GUARDED_BY(mutex) = 0;
  };
  std::vector<base::MutexHold> LockShards();
  bool IsOpen(uint64_t chunk) const noexcept;

  pool::PmemPool* pool_;
  pool::ChunkUsage* usage_;
  IndexUnifiedLog writer_;  // of entries; it places none
  std::vector<Shard> shards_;
  mutable base::Mutex id_mutex_;
  uint64_t next_id_ BRAID_GUARDED_BY(id_mutex_) = 2;
};

}  // namespace braid::log
