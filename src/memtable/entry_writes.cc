// Purpose: the first steps of a write, whatever the memtable.
// Thread safety, persistence: see entry_writes.h.
#include "memtable/entry_writes.h"

#include "base/check.h"
#include "base/no_throw.h"
#include "base/thread_random.h"

namespace braid::memtable {

using format::EntryHeader;

Status ReserveEntry(log::IndexUnifiedLog* log, base::Stalls* stalls, uint32_t shard,
                    log::PendingEntry* pending) {
  const pool::AllocationClass allocation = pool::ClassOf(pending->op);
  const uint64_t most =
      EntryHeader::EntryBytes(pending->key.size(), pending->value.size(), format::kMaxHeight);
  BRAID_DCHECK(pending->offset == 0 || pending->offset % 8 == 0);
  if (most <= log->room(shard)) [[likely]] {
    return log->Reserve(shard, pending, 1, base::ThreadRandom(), allocation);
  }
  const base::Stalls::Watch watch(stalls, StallReason::kRoom);
  return log->Reserve(shard, pending, 1, base::ThreadRandom(), allocation);
}

/// Where the entry is the first one in a page, the system may have to find it.
void WriteEntryPayload(log::IndexUnifiedLog* log, base::Stalls* stalls,
                       log::PendingEntry* pending) {
  constexpr uint64_t kPage = 4096;
  BRAID_DCHECK(pending->offset != 0);
  const uint64_t end =
      pending->offset + EntryHeader::EntryBytes(pending->key.size(), pending->value.size(), 1);
  if ((pending->offset - 1) / kPage == (end - 1) / kPage) [[likely]] {
    return log->WritePayload(pending);
  }
  const base::Stalls::Watch watch(stalls, StallReason::kPages);
  log->WritePayload(pending);
}

Result<uint64_t> WriteBatchEntries(pool::PmemPool* pool, log::IndexUnifiedLog* log,
                                   base::Stalls* stalls, uint32_t shard,
                                   std::span<log::PendingEntry> entries, uint64_t base_sequence,
                                   pool::AllocationClass allocation) {
  const size_t count = entries.size();
  BRAID_DCHECK(count > 0);
  {
    const base::Stalls::Watch watch(stalls, StallReason::kRoom);
    Status s = log->Reserve(shard, entries.data(), count, base::ThreadRandom(), allocation);
    if (!s.ok()) return s;
  }
  if (base_sequence + count > format::kMaxSequence) {
    log->Rollback(shard, entries.data(), count);
    return NumbersUsedUp();
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    log->WritePayload(&entries[i]);
    const bool first = i == 0;
    const bool more = i + 1 < count;
    const uint8_t flags =
        static_cast<uint8_t>((first ? format::kFirstOfUnit : 0) | (more ? format::kMoreOfUnit : 0));
    log->Publish(entries[i], base_sequence + 1 + i, flags, 0);
    bytes += EntryBytes(entries[i]);
  }
  pool->ops().Fence(media::Site::kBatchFence);
  if (pool->failed()) return pool->FaultStatus();
  return bytes;
}

Status NumbersUsedUp() noexcept {
  return base::CatchToStatus([] {
    return Status::IOError(
        "the sequence numbers of this pool are used up; copy its content to a new one");
  });
}

uint64_t EntryBytes(const log::PendingEntry& pending) noexcept {
  BRAID_DCHECK(pending.height >= 1 && pending.height <= format::kMaxHeight);
  return EntryHeader::EntryBytes(pending.key.size(), pending.stored_value().size(), pending.height);
}

}  // namespace braid::memtable
