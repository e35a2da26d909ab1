// Purpose: the hash functions that guard persistent bytes, and that name keys in DRAM structures.
// XXH3 (64 bits) for runs of bytes; a multiply-fold mix for combining words; CRC-32C, cut to 12 or
// 16 bits, for words that guard themselves (links, chunk states).
// Thread safety: pure functions.
// Persistence: none; changing any of them changes the format.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace braid::base {

namespace internal {
/// XXH3 of more bytes than this is a loop over vectors, which pays for the widest that there are.
inline constexpr size_t kLongHash = XXH3_MIDSIZE_MAX;
uint64_t HashLong(const void* bytes, size_t n) noexcept;
}  // namespace internal

/// XXH3, 64 bits.
inline uint64_t Hash64(const void* bytes, size_t n) noexcept {
  return n <= internal::kLongHash ? XXH3_64bits(bytes, n) : internal::HashLong(bytes, n);
}
inline uint64_t Hash64(std::string_view bytes) noexcept {
  return Hash64(bytes.data(), bytes.size());
}

/// Folds `word` into `state`: 64 x 64 -> 128 bit product, halves xor-ed. Not invertible by a single
/// changed bit, some four cycles.
inline uint64_t Mix(uint64_t state, uint64_t word) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product =
      static_cast<Wide>(state ^ 0x9E3779B97F4A7C15ull) * (word ^ 0xD6E8FEB86659FD93ull);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ word;
}

namespace internal {
constexpr uint32_t Crc32cBitwise(uint64_t word) noexcept {
  uint32_t crc = 0;
  for (int byte = 0; byte < 8; ++byte) {
    crc ^= static_cast<uint32_t>((word >> (8 * byte)) & 0xFF);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return crc;
}
}  // namespace internal

/// CRC-32C of one 8-byte word, initial value 0, no final inversion. Linear, so that the bit flips
/// it detects can be proved at compile time (format/link.h).
inline uint32_t Crc32cWord(uint64_t word) noexcept {
#if defined(__SSE4_2__)
  return static_cast<uint32_t>(_mm_crc32_u64(0, word));
#else
  return internal::Crc32cBitwise(word);
#endif
}

}  // namespace braid::base
