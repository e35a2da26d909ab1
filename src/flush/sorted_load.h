// Purpose: makes an L0 table of records that come in the order of their keys, without log and
// memtable: entries are put together in DRAM, links included, and go to the pool in whole lines,
// once.
// Thread safety: one thread an object; nobody sees the table yet.
// Invariants:
//   1. Each key has one entry, a put; all have one sequence number, since they are one write.
//   2. Chunks are filled one after the other, in turn from all regions, so that entries that follow
//      each other lie side by side.
// Persistence: nothing is committed here. Entries go to chunks of the kind kCopied with the table's
// id; they, their extents, links and heads are durable when Close returns. The manifest's commit
// raises the flushed id to the table's: until then recovery frees the chunks, and the extents that
// they own.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "braid/status.h"
#include "level/copied_list.h"
#include "log/index_unified_log.h"
#include "pool/chunk_usage.h"

namespace braid::flush {

class SortedLoad {
 public:
  SortedLoad(pool::PmemPool* pool, pool::ChunkUsage* usage, uint64_t table_id, uint64_t sequence)
      : pool_(pool),
        usage_(usage),
        sequence_(sequence),
        log_(pool, table_id, pool->regions(), format::ChunkKind::kCopied),
        staged_(pool),
        list_(pool, &staged_),
        charge_(&pool->memory_users()),
        random_(table_id) {
    BRAID_CHECK(sequence != 0 && sequence <= format::kMaxSequence);
  }

  /// The next record; its key is behind that of the one before. After OutOfSpace nothing of it is
  /// held, and it may be added again.
  Status Add(std::string_view key, std::string_view value);
  /// Ends the list and writes its heads at `head_offset`.
  void Close(uint64_t head_offset) {
    BRAID_DCHECK(records_ != 0 && pool_->IsHead(head_offset));
    list_.Close(head_offset);
  }
  /// Frees all that was taken. Nothing may be added afterwards.
  void GiveBack();

  uint64_t table_id() const noexcept { return log_.table_id(); }
  uint64_t sequence() const noexcept { return sequence_; }
  uint64_t records() const noexcept { return records_; }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  pool::PmemPool* pool_;
  pool::ChunkUsage* usage_;
  uint64_t sequence_;
  log::IndexUnifiedLog log_;
  level::StagedEntries staged_;
  level::CopiedList list_;
  base::MemoryCharge charge_;  // for what follows
  std::vector<uint64_t> extents_;
  uint64_t random_;
  uint32_t shard_ = 0;  // a region's
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace braid::flush
