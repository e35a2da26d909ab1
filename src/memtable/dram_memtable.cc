// Purpose: writes and reads of a memtable in DRAM.
// Thread safety, invariants, persistence: see dram_memtable.h.
#include "memtable/dram_memtable.h"

#include <array>
#include <optional>

#include "base/check.h"
#include "base/no_throw.h"
#include "index/version_links.h"
#include "memtable/entry_writes.h"

namespace braid::memtable {

using format::ChunkKind;
using format::EntryHeader;

namespace {

/// Of an entry with 256 bytes of key and value: up to here a flush that copies costs less than the
/// order that it brings saves (docs/internals/decisions/0032).
constexpr uint64_t kLargestCopied = EntryHeader::EntryBytes(0, 256, 1);

/// Whether a flush will copy what is written; none: nothing tells how large that will be.
std::optional<bool> WillBeCopied(LogKind kind, const MemTable* before) {
  if (kind != LogKind::kBySize) return kind == LogKind::kWriteAhead;
  if (before == nullptr || before->entries() == 0) return std::nullopt;
  return before->bytes() / before->entries() <= kLargestCopied;
}

log::IndexUnifiedLog MakeLog(pool::PmemPool* pool, uint64_t id, uint32_t shards,
                             std::optional<bool> is_copied) {
  if (!is_copied) return {pool, id, shards, log::IndexUnifiedLog::ByFirstEntry{kLargestCopied}};
  return {pool, id, shards, *is_copied ? ChunkKind::kWriteAhead : ChunkKind::kLog};
}

}  // namespace

DramMemTable::DramMemTable(const Store& store, uint64_t id, uint32_t shards, const Options& options,
                           const MemTable* before)
    : MemTable(id),
      store_(store),
      pool_(*store.pool),
      is_recovered_(false),
      log_(MakeLog(store.pool, id, shards, WillBeCopied(*options.log.kind, before))),
      tree_(index::NewEntryIndex(store.pool, *options.memtable.kind)) {
  BRAID_CHECK(shards > 0);  // it takes writes
}

DramMemTable::DramMemTable(const Store& store, uint64_t id, const RecoveredEntries& recovered,
                           bool is_copied)
    : MemTable(id),
      store_(store),
      pool_(*store.pool),
      is_recovered_(true),
      log_(store.pool, id, 0, is_copied ? ChunkKind::kWriteAhead : ChunkKind::kLog),
      tree_(recovered.tree()) {
  BRAID_DCHECK(tree_ != nullptr && log_.chunks().empty());
  BRAID_DCHECK(tree_->size() <= recovered.entries());  // a key at most for each entry
  Account(recovered.bytes(), recovered.entries());
  Freeze();
}

std::shared_ptr<DramMemTable> DramMemTable::Recover(const Store& store, uint64_t id,
                                                    const RecoveredEntries& recovered,
                                                    bool is_copied) {
  return std::shared_ptr<DramMemTable>(new DramMemTable(store, id, recovered, is_copied));
}

Status DramMemTable::Write(uint32_t shard, log::PendingEntry* pending, const Condition* condition) {
  BRAID_DCHECK(pending->key_hash == base::Hash64(pending->key));
  BRAID_DCHECK(pending->op == format::EntryOp::kPut || pending->op == format::EntryOp::kDelete);
  if (Status s = ReserveEntry(&log_, store_.stalls, shard, pending); !s.ok()) return s;
  WriteEntryPayload(&log_, store_.stalls, pending);
  Status refused = Status::OK();
  bool inserted = false;
  const auto commit = [&](uint64_t older) -> uint64_t {
    if (condition != nullptr && older != 0 &&
        pool_.As<EntryHeader>(older)->sequence() != condition->sequence) {
      return 0;
    }
    // Sequentially consistent, and in this order: see is_frozen.
    const uint64_t sequence = store_.sequence->fetch_add(1) + 1;
    if (is_frozen()) return 0;
    BRAID_DCHECK(older == 0 || pool_.As<EntryHeader>(older)->sequence() < sequence);
    // Here as below: what a medium has lost reads as zeros, and the caller learns of it afterwards.
    BRAID_DCHECK(older == 0 || pool_.As<EntryHeader>(older)->key() == pending->key ||
                 pool_.failed());
    if (sequence > format::kMaxSequence) {
      refused = NumbersUsedUp();
      return 0;
    }
    log_.Publish(*pending, sequence, format::kFirstOfUnit, older);
    pool_.ops().Fence(media::Site::kEntryFence);
    // Stored where nothing is kept: nobody may see it.
    inserted = !pool_.failed();
    return inserted ? pending->offset : 0;
  };
  // Memory runs out before commit is called, or not at all: then nothing is there but room taken.
  const Status s = base::CatchToStatus([&] {
    tree_->Upsert(pending->key, commit);
    return Status::OK();
  });
  BRAID_DCHECK(!inserted || (s.ok() && refused.ok()));
  if (!inserted) {
    if (pool_.failed()) return pool_.FaultStatus();  // and what was taken stays as it is
    log_.Rollback(shard, pending, 1);
    if (!s.ok()) return s;
    return refused.ok() ? Status::TryAgain("") : refused;
  }
  log_.Commit(shard);
  Account(EntryBytes(*pending), 1);
  return Status::OK();
}

Status DramMemTable::WriteBatch(uint32_t shard, std::span<log::PendingEntry> entries,
                                pool::AllocationClass allocation, bool* is_torn) {
  const size_t count = entries.size();
  BRAID_DCHECK(!is_frozen() && !*is_torn);
  // Nobody else draws numbers, so these can be used before they are published.
  const uint64_t base_sequence = store_.sequence->load();
  const Result<uint64_t> bytes =
      WriteBatchEntries(&pool_, &log_, store_.stalls, shard, entries, base_sequence, allocation);
  if (!bytes.ok()) return bytes.status();
  Status inserted = base::CatchToStatus([&] {
    InsertBatch(entries);
    return Status::OK();
  });
  if (!inserted.ok()) {
    *is_torn = true;
    return inserted;
  }
  BRAID_DCHECK(store_.sequence->load() == base_sequence);
  // Release pairs with ReadView::Sees: a reader that sees the number sees all entries.
  // Invariant 2 of mem_table.h: nobody could freeze it, so nothing newer has drawn a number.
  BRAID_DCHECK(!is_frozen());
  store_.sequence->store(base_sequence + count);
  log_.Commit(shard);
  Account(*bytes, count);
  return Status::OK();
}

void DramMemTable::InsertBatch(std::span<const log::PendingEntry> entries) {
  for (const log::PendingEntry& pending : entries) {
    tree_->Upsert(pending.key, [&](uint64_t older) {
      BRAID_DCHECK(pending.offset != 0 && older != pending.offset);
      if (older != 0) {
        BRAID_DCHECK(pool_.As<EntryHeader>(older)->sequence() <
                         pool_.As<EntryHeader>(pending.offset)->sequence() ||
                     pool_.failed());
        // Version links are not covered by the checks and need no flush: replay sets the bottom
        // ones again, and upper ones are hints.
        std::array<uint64_t, format::kMaxHeight> links;
        links[0] = pool_.LinkTo(older).raw;
        index::LinkOlderVersions(pool_, older, pending.height, links.data());
        auto* entry = pool_.As<EntryHeader>(pending.offset);
        for (uint32_t layer = 0; layer < pending.height; ++layer) {
          if (links[layer] != 0) pool_.ops().StoreU64(entry->links() + layer, links[layer]);
        }
      }
      return pending.offset;
    });
  }
}

index::LookupResult DramMemTable::Get(const index::LookupKey& key,
                                      const index::ReadView& view) const noexcept {
  for (;;) {
    const index::LookupResult result = index::LookupInTree(pool_, *tree_, key, view);
    if (!result.has_version() || view.sequence != index::kLatest) return result;
    const uint8_t unit = pool_.As<EntryHeader>(result.value.offset())->flags() &
                         (format::kFirstOfUnit | format::kMoreOfUnit);
    if (unit == format::kFirstOfUnit) return result;
    // Of a batch, which may have been published after the tree was asked: then a later update of
    // the same key in the same batch was not there yet. It is now.
    const uint64_t newest = tree_->Find(key.key);
    if (newest == result.value.offset() || !view.Sees(*pool_.As<EntryHeader>(newest)))
      return result;
  }
}

}  // namespace braid::memtable
