// Purpose: links between nodes in persistent memory: 8 bytes that one aligned store publishes and
// that guard themselves. Bits 0..47 offset in the pool, 48..59 CRC of the rest, 60..63 region.
// Thread safety: values.
// Invariants:
//   1. Zero is never a valid link; the end of a list is kEnd, so that a zeroed page can't end a
//      list early.
//   2. Every one-bit and two-bit flip is detected.
// Persistence: part of the format. The CRC is checked at every hop.
#pragma once

#include <array>
#include <cstdint>

#include "base/checksum.h"

namespace braid::format {

inline constexpr uint64_t kOffsetMask = (1ull << 48) - 1;
inline constexpr uint64_t kLinkCheckMask = 0xFFFull << 48;

/// A typed persistent pointer in its media form. T names what it points to.
template <class T>
struct PmemPtr {
  uint64_t raw = 0;

  static uint64_t Check(uint64_t payload) noexcept {
    // The constant keeps offset 0 of region 0 from being encoded as zero.
    return static_cast<uint64_t>((base::Crc32cWord(payload) & 0xFFF) ^ 0x5A3) << 48;
  }
  static PmemPtr To(uint64_t offset, uint32_t region = 0) noexcept {
    const uint64_t payload = (offset & kOffsetMask) | (static_cast<uint64_t>(region) << 60);
    return {payload | Check(payload)};
  }
  /// The mark of a list's end: a valid link to offset 0, where no node can be.
  static PmemPtr End() noexcept { return To(0); }

  bool IsValid() const noexcept { return (raw & kLinkCheckMask) == Check(raw & ~kLinkCheckMask); }
  bool IsEnd() const noexcept { return raw == End().raw; }
  uint64_t offset() const noexcept { return raw & kOffsetMask; }
  uint32_t region() const noexcept { return static_cast<uint32_t>(raw >> 60); }
  bool operator==(const PmemPtr&) const = default;
};

namespace internal {
/// True when the syndromes of all 64 bits differ and none is zero: then any two flips are seen.
constexpr bool LinkCheckSeesTwoFlips() {
  std::array<uint32_t, 64> syndromes{};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t word = 1ull << bit;
    syndromes[static_cast<size_t>(bit)] = (word & kLinkCheckMask) != 0
                                              ? static_cast<uint32_t>(word >> 48)
                                              : base::internal::Crc32cBitwise(word) & 0xFFF;
  }
  for (size_t i = 0; i < 64; ++i) {
    if (syndromes[i] == 0) return false;
    for (size_t j = 0; j < i; ++j) {
      if (syndromes[i] == syndromes[j]) return false;
    }
  }
  return true;
}
static_assert(LinkCheckSeesTwoFlips());
}  // namespace internal

}  // namespace braid::format
