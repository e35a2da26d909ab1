// Purpose: a memtable whose index lies in DRAM, a B+-tree or a skip list from keys to entries of
// its log. Older versions of a key hang behind the newest by the entries' bottom links, which is
// the order the L0 table will have.
// Thread safety: see mem_table.h. A write holds its place (a leaf; a node of the list) from before
// its sequence number is drawn until the entry is in it; a reader that comes to the place waits.
// Invariants:
//   1. A read that finds the place unlocked sees every write to its keys whose sequence number was
//      drawn before. So sequence numbers are the linearization order, and a snapshot is just a
//      number.
//   2. An entry is durable before it is in the index.
//   3. The numbers of a batch are published when all its entries are in the index.
// Persistence: none of its own; log/index_unified_log.h. The log is replayed into a new index.
// Source: ListDB 6.2 and 6.3; the B+-tree in the skip list's place is braid's
// (docs/internals/decisions/0003).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "index/tree_cursor.h"
#include "memtable/mem_table.h"
#include "memtable/recovered_entries.h"

namespace braid::memtable {

class DramMemTable final : public MemTable {
 public:
  /// Of the parts that `options` name. `before`: the memtable that comes before it, whose entries
  /// tell how large those to come may be; null, or an empty one: the first entry tells. Throws
  /// std::bad_alloc, as Recover does.
  DramMemTable(const Store& store, uint64_t id, uint32_t shards, const Options& options,
               const MemTable* before = nullptr);
  /// What logs held: immutable. `is_copied`: some of it lies in a write-ahead log.
  static std::shared_ptr<DramMemTable> Recover(const Store& store, uint64_t id,
                                               const RecoveredEntries& recovered, bool is_copied);

  Status Write(uint32_t shard, log::PendingEntry* pending, const Condition* condition) override;
  Status WriteBatch(uint32_t shard, std::span<log::PendingEntry> entries,
                    pool::AllocationClass allocation, bool* is_torn) override;
  index::LookupResult Get(const index::LookupKey& key,
                          const index::ReadView& view) const noexcept override;
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               index::LookupResult* out) const noexcept override {
    index::LookupManyInTree(pool_, *tree_, keys, n, view, out);
  }
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView& view) const override {
    return index::NewTreeCursor(&pool_, {{tree_, passed_count()}}, view);
  }
  std::optional<index::TreeSource> AsTree() const override {
    if (!tree_->knows_keys()) return std::nullopt;
    return index::TreeSource{tree_, passed_count(), entries()};
  }
  FlushSource flush_source() const override {
    const bool is_copied = log_.kind() == format::ChunkKind::kWriteAhead;
    return {tree_, is_copied, nullptr, is_copied && !is_recovered_ && !log_.has_extents()};
  }
  uint64_t memory_bytes() const noexcept override { return tree_->memory_bytes(); }

 private:
  DramMemTable(const Store& store, uint64_t id, const RecoveredEntries& recovered, bool is_copied);
  void InsertBatch(std::span<const log::PendingEntry> entries);

  const Store store_;
  pool::PmemPool& pool_;
  const bool is_recovered_;  // its entries are not of log_
  log::IndexUnifiedLog log_;
  const std::shared_ptr<index::EntryIndex> tree_;
};

}  // namespace braid::memtable
