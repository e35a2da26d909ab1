// Purpose: copies of entries, written in the order of a list and linked while they are written: of
// a memtable's log, of a table that is copied before it is merged, of what a collection or a
// reclustering moves. In a pool of one region they go through DRAM, and to the pool in whole lines,
// past the caches.
// Thread safety: one thread an object; nobody sees the list yet.
// Invariants:
//   1. A copy stands alone: its write was whole long ago.
//   2. Copies stay in the region of their originals.
//   3. An entry that stays where it is has readers: its links are stored by Close, and not before.
// Persistence: nothing is committed here. Copies lie in chunks that an open frees unless the
// manifest knows of their table; they, links and heads are durable when Close
// returns, except for links of entries that stay, which the caller's next fence makes so.
// Source: ListDB 6.5.4 (copying collection, as future work); 6.8.2 (copies of a write-ahead log).
#pragma once

#include <optional>
#include <vector>

#include "base/check.h"
#include "level/copied_list.h"
#include "log/index_unified_log.h"
#include "pool/chunk_usage.h"

namespace braid::level {

class CopiedEntries {
 public:
  /// `allocation`: what new chunks may take.
  CopiedEntries(pool::PmemPool* pool, pool::ChunkUsage* usage, uint64_t table_id,
                format::ChunkKind kind,
                pool::AllocationClass allocation = pool::AllocationClass::kBackground)
      : pool_(pool),
        usage_(usage),
        kind_(kind),
        allocation_(allocation),
        log_(pool, table_id, pool->regions(), kind),
        staged_(pool),
        is_staged_(pool->regions() == 1),
        charge_(&pool->memory_users()),
        random_(table_id) {
    list_.emplace(pool_, is_staged_ ? &staged_ : nullptr);
  }

  /// What Add takes, of an entry that is copied; the caller has seen, or sees, that it is intact.
  static log::PendingEntry CopyOf(const format::EntryHeader& entry) noexcept {
    log::PendingEntry pending;
    pending.op = entry.op();
    pending.key = entry.key();
    pending.value = entry.value();
    pending.key_hash = base::Hash64(pending.key);
    pending.value_check = entry.value_check;
    return pending;
  }

  /// Copies `pending`, of which key, value, hash and the value's check are set, behind what came
  /// before, into `region`. OutOfSpace: nothing of it is held. Returns the place of the copy.
  Result<uint64_t> Add(log::PendingEntry* pending, uint64_t sequence, uint32_t region) {
    random_ = base::Mix(random_, sequence);
    if (Status s = log_.Reserve(region, pending, 1, random_, allocation_); !s.ok()) return s;
    log_.Commit(region);
    // Until the commit an open frees what it finds in such chunks, and in no others.
    BRAID_DCHECK(pool_->StateOf(pool_->ChunkOf(pending->offset)).kind() == kind_);
    if (is_staged_) {
      if (pending->extent != 0) log_.WriteExtent(pending);
      Stage(*pending, sequence);
    } else {
      log_.WritePayload(pending);
      log_.Publish(*pending, sequence, format::kFirstOfUnit, 0);
    }
    list_->Append(pending->offset, pending->height);
    usage_->Add(pool_->ChunkOf(pending->offset),
                format::EntryHeader::EntryBytes(pending->key.size(), pending->stored_value().size(),
                                                pending->height));
    return pending->offset;
  }
  /// Links an entry that stays where it is behind what came before.
  void AddInPlace(uint64_t offset) {
    const auto* entry = pool_->As<format::EntryHeader>(offset);
    const uint32_t height = std::min(entry->height(), format::kMaxHeight);
    BRAID_DCHECK(height != 0 || pool_->failed());
    list_->AppendForeign(offset, height);
    charge_.Set(list_->memory_bytes());
    usage_->Add(pool_->ChunkOf(offset), entry->size());
  }
  size_t chunks() const { return log_.chunks().size(); }
  /// Ends the list and writes its heads.
  void Close(uint64_t head_offset) { list_->Close(head_offset); }
  /// The same, and what is added from here on is of another list, in the same chunks.
  void CloseList(uint64_t head_offset) {
    list_->Close(head_offset);
    list_.emplace(pool_, is_staged_ ? &staged_ : nullptr);
  }
  /// Frees the chunks of all copies. Nothing may be added afterwards.
  void GiveBack() {
    for (const uint64_t chunk : log_.chunks()) {
      BRAID_DCHECK(pool_->StateOf(chunk).kind() == kind_);  // never the originals'
      usage_->Set(chunk, 0);
      pool_->FreeChunk(chunk);
    }
  }

 private:
  void Stage(const log::PendingEntry& pending, uint64_t sequence) {
    log::IndexUnifiedLog::HeaderImage header;
    const size_t bytes = log_.MakeHeader(pending, sequence, format::kFirstOfUnit, 0, &header);
    staged_.Begin(pending.offset);
    staged_.Append(&header, bytes);
    staged_.Append(pending.key.data(), pending.key.size());
    const std::string_view value = pending.stored_value();
    staged_.Append(value.data(), value.size());
    constexpr char kPadding[8] = {};
    staged_.Append(kPadding, -(bytes + pending.key.size() + value.size()) % 8);
  }

  pool::PmemPool* pool_;
  pool::ChunkUsage* usage_;
  format::ChunkKind kind_;
  pool::AllocationClass allocation_;
  log::IndexUnifiedLog log_;
  StagedEntries staged_;
  bool is_staged_;
  std::optional<CopiedList> list_;  // always one
  base::MemoryCharge charge_;       // for links that are stored later
  uint64_t random_;
};

}  // namespace braid::level
