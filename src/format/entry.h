// Purpose: the log entry, which is the later skip-list node: header, links, key, value.
// Thread safety: plain bytes. Links and the state byte change after the entry was committed and are
// read with atomics; everything else is immutable from then on.
// Invariants:
//   1. An entry is 8-byte aligned and never straddles a chunk.
//   2. key_check covers the header (except the state byte), the key, the entry's own offset and the
//      generation of its chunk; value_check, itself covered, covers the value. Links and the state
//      byte guard themselves.
// Persistence: the entry is committed when all its lines are durable; a torn one fails its checks.
// Source: ListDB 6.3 (index-unified logging), Fig. 24; checks, batches and versions are braid's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/checksum.h"
#include "format/link.h"

namespace braid::format {

inline constexpr uint32_t kMaxHeight = 16;
inline constexpr uint64_t kMaxSequence = (1ull << 56) - 1;

/// What an entry does to its key.
enum class EntryOp : uint8_t { kPut = 1, kDelete = 2 };

/// Flags, in the upper half of the op byte.
inline constexpr uint8_t kFirstOfUnit = 0x10;    ///< first entry of a write (single put, or batch)
inline constexpr uint8_t kMoreOfUnit = 0x20;     ///< the same write goes on with the next entry
inline constexpr uint8_t kValueInExtent = 0x40;  ///< the value field is an ExtentRef
inline constexpr uint8_t kValueElsewhere =
    0x80;  ///< the value field is an EntryRef: another entry holds the value
inline constexpr uint8_t kOpMask = 0x0F;

/// The state byte. Far apart, so that no single flip turns one into the other.
inline constexpr uint8_t kStateLive = 0x5A;
inline constexpr uint8_t kStateObsolete =
    0xA5;                                    ///< superseded, or a delete with nothing left to hide
inline constexpr uint8_t kStateVoid = 0x33;  ///< never happened: part of a write that was torn
inline constexpr uint8_t kStateCarrier =
    0xCC;  ///< no list links it, but an entry of a list refers to its value

struct EntryHeader {
  uint32_t key_check;
  uint32_t value_check;
  uint64_t sequence_and_op;  // sequence << 8 | flags | op
  uint32_t value_bytes;      // bytes in the entry; of an ExtentRef or EntryRef the size of that
  uint32_t key_and_height;   // bits 0..16 key bytes, 17..21 height, 24..31 the state byte

  static constexpr size_t kStateByteOffset = 23;

  uint64_t sequence() const noexcept { return sequence_and_op >> 8; }
  EntryOp op() const noexcept { return static_cast<EntryOp>(sequence_and_op & kOpMask); }
  uint8_t flags() const noexcept { return static_cast<uint8_t>(sequence_and_op & 0xF0); }
  bool has(uint8_t flag) const noexcept { return (sequence_and_op & flag) != 0; }
  /// key_and_height without the state byte, which may be changing.
  uint32_t shape() const noexcept {
    return std::atomic_ref<const uint32_t>(key_and_height).load(std::memory_order_relaxed) &
           0xFFFFFF;
  }
  uint32_t key_bytes() const noexcept { return shape() & 0x1FFFF; }
  uint32_t height() const noexcept { return (shape() >> 17) & 0x1F; }

  const uint64_t* links() const noexcept { return reinterpret_cast<const uint64_t*>(this + 1); }
  uint64_t* links() noexcept { return reinterpret_cast<uint64_t*>(this + 1); }
  const char* key_data() const noexcept {
    return reinterpret_cast<const char*>(links() + height());
  }
  std::string_view key() const noexcept { return {key_data(), key_bytes()}; }
  std::string_view value() const noexcept { return {key_data() + key_bytes(), value_bytes}; }
  /// Acquire pairs with the release store of a merge: a reader that sees a link that the merge
  /// stored after the mark sees the mark.
  uint8_t state() const noexcept {
    return std::atomic_ref<const uint8_t>(
               *(reinterpret_cast<const uint8_t*>(this) + kStateByteOffset))
        .load(std::memory_order_acquire);
  }
  uint8_t* state_byte() noexcept { return reinterpret_cast<uint8_t*>(this) + kStateByteOffset; }
  /// Whether its bytes count among what lives in its chunk.
  bool is_kept() const noexcept {
    const uint8_t now = state();
    return now == kStateLive || now == kStateCarrier;
  }
  /// Bytes the entry takes in its chunk.
  uint64_t size() const noexcept { return EntryBytes(key_bytes(), value_bytes, height()); }

  static constexpr uint64_t EntryBytes(uint64_t key_bytes, uint64_t value_bytes,
                                       uint32_t height) noexcept {
    return (sizeof(EntryHeader) + 8ull * height + key_bytes + value_bytes + 7) & ~7ull;
  }
  static constexpr uint32_t PackKeyAndHeight(uint32_t key_bytes, uint32_t height) noexcept {
    return key_bytes | (height << 17) | (static_cast<uint32_t>(kStateLive) << 24);
  }
};
static_assert(sizeof(EntryHeader) == 24);
static_assert(offsetof(EntryHeader, value_check) == 4);
static_assert(offsetof(EntryHeader, sequence_and_op) == 8);
static_assert(offsetof(EntryHeader, value_bytes) == 16);
static_assert(offsetof(EntryHeader, key_and_height) == 20);

using EntryPtr = PmemPtr<EntryHeader>;

/// The number of entries that no write has made (merge/borders.h); writes begin with 1.
inline constexpr uint64_t kBorderSequence = 0;

/// An entry and the places of its key and of the value it holds.
struct EntryView {
  const EntryHeader* entry;
  std::string_view key;
  std::string_view value;
};

/// The entry at `address`, whose header lies within `room` bytes; false when not all of it does.
/// Its sizes are read once: what they are found to be good for stays within the room, whatever
/// becomes of them. Written a word at a time to where it is wanted: words that are put together on
/// the stack and copied from there in pairs wait for the cache.
inline bool EntryWithin(const char* address, uint64_t room, EntryView* view) noexcept {
  const auto* entry = reinterpret_cast<const EntryHeader*>(address);
  const uint32_t shape = entry->shape();
  const uint64_t value_bytes =
      std::atomic_ref<const uint32_t>(entry->value_bytes).load(std::memory_order_relaxed);
  const uint64_t height = (shape >> 17) & 0x1F;
  const uint64_t key_bytes = shape & 0x1FFFF;
  const uint64_t before_key = sizeof(EntryHeader) + 8 * height;
  if (height - 1 >= kMaxHeight || before_key + key_bytes + value_bytes > room) [[unlikely]] {
    return false;
  }
  const char* key = address + before_key;
  view->entry = entry;
  view->key = {key, key_bytes};
  view->value = {key + key_bytes, value_bytes};
  return true;
}

/// The key of the entry at `address`, as far as it lies within `room` bytes; a header does.
inline std::string_view KeyWithin(const char* address, uint64_t room) noexcept {
  const uint32_t shape = reinterpret_cast<const EntryHeader*>(address)->shape();
  room -= sizeof(EntryHeader);
  const uint64_t links = 8ull * ((shape >> 17) & 0x1F);
  const uint64_t bytes = shape & 0x1FFFF;
  if (links + bytes <= room) [[likely]]
    return {address + sizeof(EntryHeader) + links, bytes};
  const uint64_t before = links < room ? links : room;
  return {address + sizeof(EntryHeader) + before, bytes < room - before ? bytes : room - before};
}

/// The value of an entry whose bytes lie in an extent of their own.
struct ExtentRef {
  uint64_t offset;  // of the ExtentHeader
  uint64_t bytes;   // of the value
  uint64_t check;   // XXH3 of the value
};
static_assert(sizeof(ExtentRef) == 24);

/// The value of an entry that another one holds, in itself or in its extent: one with the same key
/// and sequence number, and without such a reference.
struct EntryRef {
  uint64_t offset;
};
static_assert(sizeof(EntryRef) == 8);

/// Check of a value's bytes.
inline uint32_t ValueCheck(std::string_view value) noexcept {
  return static_cast<uint32_t>(base::Hash64(value));
}

/// Check of everything else. `key_hash` is base::Hash64 of the key, which callers have at hand.
inline uint32_t KeyCheck(const EntryHeader& header, uint64_t key_hash, uint64_t offset,
                         uint32_t generation) noexcept {
  uint64_t state = base::Mix(key_hash, header.sequence_and_op);
  state = base::Mix(state, (static_cast<uint64_t>(header.value_check) << 32) | header.value_bytes);
  state = base::Mix(state, (static_cast<uint64_t>(header.shape()) << 32) | generation);
  state = base::Mix(state, offset);
  return static_cast<uint32_t>(state ^ (state >> 32));
}

}  // namespace braid::format
