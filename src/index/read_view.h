// Purpose: what a read may see, and how it returns what it found. Shared by memtables and tables.
// Thread safety: values.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/check.h"
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

/// Where a value lies: in the pool, in or beside an entry whose checks are still to be looked at;
/// or at an address, as it is, until the read section ends.
class ValueRef {
 public:
  ValueRef() = default;
  static ValueRef OfEntry(uint64_t offset) noexcept { return ValueRef(offset); }
  /// `at`: the number of bytes in four, then the bytes.
  static ValueRef At(const char* at) noexcept {
    BRAID_DCHECK((reinterpret_cast<uintptr_t>(at) & kElsewhere) == 0);
    return ValueRef(kElsewhere | reinterpret_cast<uintptr_t>(at));
  }

  bool is_of_entry() const noexcept { return (word_ & kElsewhere) == 0; }
  /// Of the entry.
  uint64_t offset() const noexcept {
    BRAID_DCHECK(is_of_entry());
    return word_;
  }
  std::string_view bytes() const noexcept {
    BRAID_DCHECK(!is_of_entry());
    const auto* at = reinterpret_cast<const char*>(word_ & ~kElsewhere);
    uint32_t size;
    std::memcpy(&size, at, sizeof size);
    return {at + sizeof size, size};
  }

 private:
  static constexpr uint64_t kElsewhere = 1ull << 63;  // no address of a process has it

  explicit ValueRef(uint64_t word) noexcept : word_(word) {}

  uint64_t word_ = 0;
};

/// Outcome of a lookup. Deleted is not absent: older versions must not be asked for. Nowhere is
/// what a cache knows of all tables: none has the key. Two words, which are returned in registers.
struct LookupResult {
  enum class State : uint8_t { kAbsent, kFound, kDeleted, kCorrupt, kNowhere };
  State state : 8 = State::kAbsent;
  uint64_t sequence : 56 = 0;  // of the version that was found, a delete included
  ValueRef value;              // its value; of a delete its place

  /// The answer that an entry in the pool is.
  static LookupResult Of(const format::EntryHeader& entry, uint64_t offset) noexcept {
    return {entry.op() == format::EntryOp::kDelete ? State::kDeleted : State::kFound,
            entry.sequence() & format::kMaxSequence, ValueRef::OfEntry(offset)};
  }
  static LookupResult Corrupt(uint64_t at) noexcept {
    return {State::kCorrupt, 0, ValueRef::OfEntry(at)};
  }
  /// A version of the key is known, a delete or not.
  bool has_version() const noexcept { return state == State::kFound || state == State::kDeleted; }
};

static_assert(sizeof(LookupResult) == 16);
static_assert(std::is_trivially_copyable_v<LookupResult>, "else it is returned in memory");

/// A key to look for, with its hash computed once.
struct LookupKey {
  std::string_view key;
  uint64_t hash;
};

}  // namespace braid::index
