// Purpose: finds entries in chunks by their own checks, without a link, a table or a log that leads
// to them: for the rebuild after a power loss and for the salvage of a damaged pool.
// Thread safety: one thread an object; the bytes must not change meanwhile.
// Invariants:
//   1. No byte is used before bounds and check.
//   2. An entry that is reported had its header and key verified for this place and this life of
//      its chunk.
// Persistence: none.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "format/layout.h"

namespace braid::recovery {

/// A chunk of entries, in one of its lives.
struct EntryRegion {
  const char* base = nullptr;  // address of pool offset 0
  uint64_t begin = 0;          // pool offset of the chunk
  uint64_t end = 0;
  uint32_t generation = 0;
};

/// The entry at `offset` when its bounds, header and key verify; else null.
const format::EntryHeader* EntryIn(const EntryRegion& region, uint64_t offset) noexcept;

class EntryVisitor {
 public:
  virtual ~EntryVisitor() = default;
  /// An entry with an intact header and key.
  virtual void Entry(uint64_t offset, const format::EntryHeader& entry) = 0;
  /// Bytes between two such entries, or before the first, that are none. Entries lie side by side,
  /// so something is damaged here.
  virtual void Gap(uint64_t begin, uint64_t end) = 0;
};

/// Visits a chunk's entries in order; behind damage it looks for the next intact one. Returns where
/// the last one ends: what follows is unused, or damaged.
uint64_t ScanEntries(const EntryRegion& region, EntryVisitor* visitor);

/// Puts the writes of one shard's log together: a write counts when all its entries are there.
class UnitCollector {
 public:
  /// `intact`: its value is, too; without it its write is not whole.
  void Take(uint64_t offset, const format::EntryHeader& entry, bool intact = true);
  /// Bytes are missing here: the write under way is not whole.
  void Break() { whole_ = false; }

  /// Entries of whole writes, in the order of the log.
  const std::vector<uint64_t>& committed() const noexcept { return committed_; }
  /// Entries of writes that are not whole although another write begins behind them.
  const std::vector<uint64_t>& broken() const noexcept { return broken_; }
  /// Entries behind the last write that is whole or begun: the log's end, which a crash may have
  /// torn.
  const std::vector<uint64_t>& tail() const noexcept { return unit_; }

 private:
  std::vector<uint64_t> unit_;  // since the last beginning that was seen
  bool whole_ = false;          // unit_ has its beginning and no gap
  uint64_t next_sequence_ = 0;
  std::vector<uint64_t> committed_;
  std::vector<uint64_t> broken_;
};

}  // namespace braid::recovery
