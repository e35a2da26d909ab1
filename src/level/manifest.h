// Purpose: the durable description of the store: which tables there are, which merge is under way,
// how far logs are flushed. Thread safety: the caller serialises (the engine's structure lock).
// Invariant 1: both copies are written for every change, one after the other; nothing that the
// change allows (freeing, reusing) is done before both are durable. So either copy is a state from
// which recovery is right, and damage to one loses nothing. Persistence: Commit's first flush and
// fence is the commit point. Before it: everything the record names must be durable. After a crash
// between the two copies the newer one counts. Source: the MANIFEST of ListDB 6.2.1 and of LevelDB.
#pragma once

#include "braid/status.h"
#include "format/layout.h"
#include "pmem/pool.h"

namespace braid::level {

class Manifest {
 public:
  explicit Manifest(pmem::PmemPool* pool) : pool_(pool) {}

  /// Writes the first record of a new pool: an empty L1 at head 0, whose links it ends.
  Status Create();
  /// Loads the newest intact copy, checks it, and makes the other one equal to it.
  /// Corruption when neither is intact.
  Status Load();

  format::ManifestRecord& record() noexcept { return record_; }
  const format::ManifestRecord& record() const noexcept { return record_; }
  /// Makes record() durable: two fences, on page-cache media two syncs of a page. What the record
  /// names must be durable before. After an error nobody knows which record counts: the caller
  /// stops writing.
  Status Commit();

  /// A head no table uses, kept for the caller until AddTable or ReturnHead. OutOfSpace when there
  /// are too many tables.
  Result<uint32_t> TakeHead();
  void ReturnHead(uint32_t head) { taken_heads_ &= ~(1ull << head); }
  /// Inserts an L0 record as the newest; the caller commits.
  void AddTable(const format::TableRecord& table);
  void RemoveTable(uint64_t id);
  format::TableRecord* FindTable(uint64_t id);

  static constexpr uint64_t kL1Id = 1;

 private:
  Status WriteCopy(int copy);

  pmem::PmemPool* pool_;
  format::ManifestRecord record_{};
  uint64_t taken_heads_ = 0;  // of tables in the making
};

}  // namespace braid::level
