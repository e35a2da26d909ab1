// Purpose: what a read may see, and how it tells what it found. Shared by memtables and tables.
// Thread safety: values. Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "format/entry.h"

namespace braid::index {

inline constexpr uint64_t kLatest = ~0ull;

struct Visits;

/// A point in the order of writes. Writes up to `sequence` are visible. kLatest: whatever is in the
/// tables, except entries of a batch that is still being inserted; those have sequence numbers
/// above `published` until the batch is whole.
struct ReadView {
  uint64_t sequence = kLatest;
  const std::atomic<uint64_t>* published = nullptr;
  Visits* visits = nullptr;  ///< lookups only: where nodes are counted, null when they are not

  bool Sees(const format::EntryHeader& entry) const noexcept {
    if (sequence != kLatest) return entry.sequence() <= sequence;
    const uint8_t unit = entry.flags() & (format::kFirstOfUnit | format::kMoreOfUnit);
    if (unit == format::kFirstOfUnit || published == nullptr) return true;
    // Acquire pairs with the writer's release store after the last entry of the batch is inserted.
    return entry.sequence() <= published->load(std::memory_order_acquire);
  }
};

/// Outcome of a lookup in one table. Deleted is not absent: older tables must not be asked. Nowhere
/// is what a cache knows of all tables: none has the key.
struct LookupResult {
  enum class State : uint8_t { kAbsent, kFound, kDeleted, kCorrupt, kNowhere };
  State state = State::kAbsent;
  uint64_t offset = 0;  // of the entry; for kCorrupt the place of the damage
};

/// A key to look for, with its hash computed once.
struct LookupKey {
  std::string_view key;
  uint64_t hash;
};

}  // namespace braid::index
