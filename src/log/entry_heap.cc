// Purpose: placing entries.
// Thread safety, invariants, persistence: see entry_heap.h.
#include "log/entry_heap.h"

#include "base/check.h"
namespace braid::log {

using format::ChunkKind;

EntryHeap::EntryHeap(pool::PmemPool* pool, pool::ChunkUsage* usage, uint32_t shards)
    : pool_(pool), usage_(usage), writer_(pool, 0, 1), shards_(shards) {
  BRAID_CHECK(shards > 0);
}

uint64_t EntryHeap::SizeOf(const PendingEntry& pending) noexcept {
  BRAID_DCHECK(pending.offset != 0 && pending.height == 1);
  return format::EntryHeader::EntryBytes(pending.key.size(), pending.stored_value().size(),
                                         pending.height);
}

Status EntryHeap::Reserve(uint32_t shard_index, PendingEntry* pending,
                          pool::AllocationClass allocation) {
  pending->height = 1;  // nothing is linked; the format knows no entry without a link
  pending->extent = 0;
  const bool large = pending->value.size() > LargestInlineValue(*pool_);
  const uint64_t size = format::EntryHeader::EntryBytes(
      pending->key.size(), large ? sizeof(format::ExtentRef) : pending->value.size(), 1);
  if (size > pool_->chunk_bytes() - sizeof(format::LogChunkHeader)) {
    return Status::InvalidArgument("a key of " + std::to_string(pending->key.size()) +
                                   " bytes does not fit a chunk of " +
                                   std::to_string(pool_->chunk_bytes()) +
                                   " bytes; make the pool with a larger pool.chunk_bytes");
  }
  Shard& shard = shards_[shard_index % shards_.size()];
  const base::MutexLock lock(shard.mutex);
  if (shard.chunk == 0 ||
      shard.tail + size > pool_->ChunkOffset(shard.chunk) + pool_->chunk_bytes()) {
    format::LogChunkHeader header{};
    header.shard = shard_index;
    {
      const base::MutexLock id_lock(id_mutex_);
      header.table_id = next_id_++;
    }
    Result<uint64_t> chunk = pool_->AllocateLogChunk(header, ChunkKind::kLog, allocation);
    if (!chunk.ok()) return chunk.status();
    shard.chunk = *chunk;
    shard.tail = pool_->ChunkOffset(*chunk) + sizeof(format::LogChunkHeader);
    usage_->Set(*chunk, 0);
  }
  pending->offset = shard.tail;
  if (large && pending->reserved != 0) {
    BRAID_DCHECK(pending->extent_ref.offset == pending->reserved);
    pool_->BindExtent(pending->reserved, pending->value.size(), pending->offset);
    pending->extent = pending->reserved;
  } else if (large) {
    Result<uint64_t> extent =
        pool_->AllocateExtent(pending->value.size(), pending->offset, allocation);
    if (!extent.ok()) return extent.status();
    pending->extent = *extent;
    pending->extent_ref = {*extent, pending->value.size(), base::Hash64(pending->value)};
  }
  shard.tail += size;
  // Invariant 1.
  BRAID_DCHECK(shard.tail % 8 == 0);
  BRAID_DCHECK(shard.tail <= pool_->ChunkOffset(shard.chunk) + pool_->chunk_bytes());
  usage_->Add(shard.chunk, size);
  return Status::OK();
}

void EntryHeap::Write(PendingEntry* pending, uint64_t sequence) {
  BRAID_DCHECK(pending->offset != 0 && pending->height == 1);  // Reserve has placed it
  writer_.WritePayload(pending);
  writer_.Publish(*pending, sequence, format::kFirstOfUnit, 0);
}

/// All of them, in order.
std::vector<base::MutexHold> EntryHeap::LockShards() {
  std::vector<base::MutexHold> locks;
  locks.reserve(shards_.size());
  for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
  return locks;
}

/// Under all shard locks.
bool EntryHeap::IsOpen(uint64_t chunk) const noexcept {
  for (const Shard& shard : shards_) {
    shard.mutex.AssertHeld();
    if (shard.chunk == chunk) return true;
  }
  return false;
}

std::vector<uint64_t> EntryHeap::EmptyChunks(bool open_too) {
  const std::vector<base::MutexHold> locks = LockShards();
  std::vector<uint64_t> empty;
  for (Shard& shard : shards_) {
    shard.mutex.AssertHeld();
    // Nobody has freed it: neither EmptyChunks nor SparseChunks names a chunk that is being filled.
    BRAID_DCHECK(shard.chunk == 0 || pool_->StateOf(shard.chunk).kind() == ChunkKind::kLog);
    if (open_too && shard.chunk != 0 && usage_->Live(shard.chunk) == 0) shard.chunk = 0;
  }
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    if (pool_->StateOf(chunk).kind() != ChunkKind::kLog || usage_->Live(chunk) != 0) continue;
    if (!IsOpen(chunk)) empty.push_back(chunk);
  }
  return empty;
}

std::vector<uint64_t> EntryHeap::SparseChunks(double ratio) {
  const std::vector<base::MutexHold> locks = LockShards();
  std::vector<uint64_t> sparse;
  const auto limit = static_cast<int64_t>(ratio * static_cast<double>(pool_->chunk_bytes()));
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    if (pool_->StateOf(chunk).kind() != ChunkKind::kLog) continue;
    const int64_t live = usage_->Live(chunk);
    if (live > 0 && live < limit && !IsOpen(chunk)) sparse.push_back(chunk);
  }
  return sparse;
}

uint64_t EntryHeap::next_id() const {
  const base::MutexLock lock(id_mutex_);
  return next_id_;
}

void EntryHeap::set_next_id(uint64_t id) {
  const base::MutexLock lock(id_mutex_);
  next_id_ = id;
}

}  // namespace braid::log
