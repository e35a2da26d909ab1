// Purpose: the persistent bytes of the wB+-tree (wb_tree.h): header, leaf, redo record of a split.
// They are this comparison structure's own; a braid pool never holds them.
//
// Thread safety: plain layouts, and loads that may race with a writer (LoadWord, LoadSlot).
//
// Invariants:
//   1. Of a leaf with kSlotsValid set, slots[0 .. count] name the entries in use in key order, and
//      count is their number. Without it only the bitmap counts, and the slots are made anew.
//   2. All keys of a leaf are >= its `low` and < the `low` of the next leaf. `low` never changes.
//   3. `bitmap` and `next` lie in one cache line: stores to it become durable in program order.
//
// Persistence: a leaf's bitmap commits every change of its entries; its `next` commits a split.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/checksum.h"
#include "media/persist.h"

namespace braid::bench::wbtree {

/// Leaves are numbered from 1 by their place in the pool; 0 is "none".
using LeafNumber = uint64_t;

inline constexpr uint32_t kLeafEntries = 63;
inline constexpr uint64_t kSlotsValid = uint64_t{1} << 63;
inline constexpr uint64_t kEntryBits = kSlotsValid - 1;

struct Entry {
  uint64_t key;
  uint64_t value;
};

/// The array that keeps the order: its first byte counts, the others name entries in key order.
using Slots = std::array<uint8_t, 64>;

struct alignas(media::kLineBytes) Leaf {
  uint64_t bitmap;  ///< kSlotsValid, and a bit for each entry in use
  uint64_t next;    ///< LeafNumber
  uint64_t low;     ///< the smallest key that belongs here
  /// Zero in a leaf. A redo record is the image of a new leaf with these set: which leaf was split,
  /// which one is new, and the check over the other words that the record uses.
  uint64_t redo_source;
  uint64_t redo_target;
  uint64_t redo_check;
  uint64_t unused[2];
  uint64_t slots[8];  ///< Slots
  /// The last has no bit and stays empty: it fills the line, and a slot that was read while it
  /// changed leads to some entry of this array whatever it says.
  Entry entries[kLeafEntries + 1];

  uint32_t count() const { return static_cast<uint32_t>(std::popcount(bitmap & kEntryBits)); }
};

inline constexpr size_t kLeafHeadBytes = offsetof(Leaf, entries);
inline constexpr size_t kLeafLines = sizeof(Leaf) / media::kLineBytes;

struct alignas(media::kLineBytes) Header {
  uint64_t magic;
  uint64_t version;
  uint64_t leaf_bytes;
  uint64_t redo_records;
  uint64_t check;  ///< over the words before
  uint64_t unused[3];
};

inline constexpr uint64_t kMagic = 0x656572742B2B4277u;  // "wB++tree" in memory
inline constexpr uint64_t kVersion = 1;
/// Splits that may be under way at the same time.
inline constexpr uint32_t kRedoRecords = 16;
inline constexpr uint64_t kRedoOffset = sizeof(Header);
inline constexpr uint64_t kLeavesOffset = kRedoOffset + kRedoRecords * sizeof(Leaf);

static_assert(sizeof(Entry) == 16 && sizeof(Header) == 64);
static_assert(sizeof(Leaf) == 18 * media::kLineBytes && kLeafHeadBytes == 2 * media::kLineBytes);
static_assert(offsetof(Leaf, next) / media::kLineBytes ==
              offsetof(Leaf, bitmap) / media::kLineBytes);
static_assert(offsetof(Leaf, slots) == media::kLineBytes && sizeof(Slots) == sizeof(Leaf::slots));
static_assert(std::is_trivially_copyable_v<Leaf> && std::is_trivially_copyable_v<Header>);

/// Acquire: a reader that sees a word of an unfinished change also sees that the leaf is locked
/// when it looks again (wb_tree.h); pairs with the release of PersistOps::StoreU64.
inline uint64_t LoadWord(const uint64_t& word) {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

/// Byte `index` of the slot array, below 64; acquire as in LoadWord.
inline uint32_t LoadSlot(const Leaf& leaf, uint32_t index) {
  auto* bytes = reinterpret_cast<uint8_t*>(const_cast<uint64_t*>(leaf.slots));
  return std::atomic_ref<uint8_t>(bytes[index]).load(std::memory_order_acquire) & 63u;
}

/// Bytes from the start of the leaf to the end of its first `entries` entries.
inline constexpr size_t LeafBytes(uint32_t entries) {
  return kLeafHeadBytes + entries * sizeof(Entry);
}

inline uint64_t HeaderCheck(const Header& header) {
  return base::Hash64(&header, offsetof(Header, check));
}

/// The check of a redo record, over all that LeafBytes(count) covers but the check itself. Never 0,
/// so that memory that was never written is no record.
inline uint64_t RedoCheck(const Leaf& record) {
  const size_t head = offsetof(Leaf, redo_check);
  const size_t rest = head + sizeof record.redo_check;
  const auto* bytes = reinterpret_cast<const char*>(&record);
  const uint64_t first = base::Hash64(bytes, head);
  const uint64_t second = base::Hash64(bytes + rest, LeafBytes(record.count()) - rest);
  return base::Mix(first, second) | 1;
}

}  // namespace braid::bench::wbtree
