// Purpose: the layout of a leaf: slots that name entries, in no order, a bitmap that says which of
// them count, and the link to the next leaf; and of the image of the index over leaves.
// Thread safety: plain bytes. Commit word, link and references of slots change and are read with
// atomics; the rest is immutable while the leaf is in the list.
// Invariants:
//   1. Every word that changes alone guards itself: the commit word by 16 bits of check, links by
//      those of PmemPtr. What does not change is covered by the header's check, a slot's tag by its
//      own; both take the place and the chunk's generation into account, so that a leaf in
//      another's place, or of an earlier life, is seen.
//   2. A slot whose bit is not set says nothing.
// Persistence: a put or delete commits by one store of the commit word; a leaf takes the place of
// another by one store of the link that leads to it.
// Source: NV-Skiplist 3.3; the checks, and references in place of fixed-size pairs, are braid's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checksum.h"
#include "format/entry.h"
#include "format/layout.h"
#include "format/link.h"

namespace braid::format {

/// The source has 64 slots and a bitmap of 64 bits. A word that is committed by one store must hold
/// its own check, or a flipped bit would lose a key, or show an old one, in silence.
inline constexpr uint32_t kLeafSlots = 48;
inline constexpr uint64_t kLeafBitmapMask = (1ull << kLeafSlots) - 1;
inline constexpr uint32_t kLeafMagic = 0x46414C42;       // "BLAF"
inline constexpr uint32_t kLeafIndexMagic = 0x58494C42;  // "BLIX"

struct LeafSlot {
  uint64_t entry;  // EntryPtr
  uint64_t tag;    // bits 0..31 fingerprint of the key, 32..63 check of it
};
static_assert(sizeof(LeafSlot) == 16);

struct Leaf {
  uint64_t commit;  // bits 0..47 slots in use, 48..63 check
  uint64_t next;    // PmemPtr<Leaf>
  uint32_t magic;
  uint32_t generation;  // of the chunk
  uint64_t reserved[4];
  uint64_t check;  // of magic to reserved, and the place
  LeafSlot slots[kLeafSlots];

  static constexpr size_t kHeaderBytes = 64;
};
static_assert(sizeof(Leaf) == Leaf::kHeaderBytes + 16 * kLeafSlots && sizeof(Leaf) % 64 == 0);
static_assert(offsetof(Leaf, magic) == 16 && offsetof(Leaf, slots) == Leaf::kHeaderBytes);
static_assert(offsetof(Leaf, check) == 56);

using LeafPtr = PmemPtr<Leaf>;

inline uint64_t LeafHeaderCheck(const Leaf& leaf, uint64_t place) noexcept {
  constexpr size_t kBegin = offsetof(Leaf, magic);
  return base::Mix(
      base::Hash64(reinterpret_cast<const char*>(&leaf) + kBegin, offsetof(Leaf, check) - kBegin),
      place);
}

/// The word that says which slots of the leaf at `place` count.
struct LeafCommit {
  uint64_t raw = 0;

  static uint64_t Check(uint64_t bitmap, uint64_t place, uint32_t generation) noexcept {
    // CRC of the bitmap, so that every flip of one or two bits is seen; xor-ed with what differs
    // between places and lives.
    const uint32_t crc = base::Crc32cWord(bitmap);
    const uint64_t home = base::Mix(place, generation);
    return (((crc ^ (crc >> 16)) ^ home ^ 0x7C3B) & 0xFFFF) << 48;
  }
  static LeafCommit Make(uint64_t bitmap, uint64_t place, uint32_t generation) noexcept {
    return {bitmap | Check(bitmap, place, generation)};
  }
  bool IsValid(uint64_t place, uint32_t generation) const noexcept {
    return (raw & ~kLeafBitmapMask) == Check(bitmap(), place, generation);
  }
  uint64_t bitmap() const noexcept { return raw & kLeafBitmapMask; }
};

/// The tag of a slot: what is compared before an entry is looked at.
struct LeafTag {
  uint64_t raw = 0;

  static LeafTag Make(uint64_t key_hash, uint64_t slot_place, uint32_t generation) noexcept {
    const uint64_t fingerprint = key_hash >> 32;
    return {fingerprint | Check(fingerprint, slot_place, generation)};
  }
  static uint64_t Check(uint64_t fingerprint, uint64_t slot_place, uint32_t generation) noexcept {
    const uint64_t mixed = base::Mix(base::Mix(fingerprint, slot_place), generation);
    return mixed & 0xFFFFFFFF00000000ull;
  }
  bool IsValid(uint64_t slot_place, uint32_t generation) const noexcept {
    return (raw & 0xFFFFFFFF00000000ull) == Check(fingerprint(), slot_place, generation);
  }
  uint32_t fingerprint() const noexcept { return static_cast<uint32_t>(raw); }
};

/// The link to the first leaf: the first word of the second table head, which no table uses in a
/// pool of leaves.
inline constexpr uint64_t kLeafHeadOffset = kTableHeadsOffset + sizeof(TableHead);

/// Follows the chunk header in each chunk of an index image; `bytes` of the image follow it.
struct LeafIndexHeader {
  uint32_t magic;
  uint32_t ordinal;
  uint64_t bytes;        // of the image in this chunk
  uint64_t image_bytes;  // of the whole image
  uint64_t content;      // hash of the bytes in this chunk
  uint64_t reserved[3];
  uint64_t check;
};
static_assert(sizeof(LeafIndexHeader) == 64);

namespace internal {
/// True when every flip of one or two bits of a commit word is seen.
constexpr bool LeafCommitSeesTwoFlips() {
  std::array<uint32_t, 64> syndromes{};
  for (uint32_t bit = 0; bit < 64; ++bit) {
    const uint32_t crc = base::internal::Crc32cBitwise(1ull << bit);
    syndromes[bit] = bit < kLeafSlots ? (crc ^ (crc >> 16)) & 0xFFFF : 1u << (bit - kLeafSlots);
  }
  for (size_t i = 0; i < 64; ++i) {
    if (syndromes[i] == 0) return false;
    for (size_t j = 0; j < i; ++j) {
      if (syndromes[i] == syndromes[j]) return false;
    }
  }
  return true;
}
static_assert(LeafCommitSeesTwoFlips());
}  // namespace internal

}  // namespace braid::format
