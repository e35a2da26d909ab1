// Purpose: order of byte strings for loops that compare many short ones, where a call of memcmp
// costs more than the comparison.
// Thread safety: functions.
// Persistence: none.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace braid::base {

/// Bytes at .. at + 7 of `key` as a big-endian number, zeros behind its end.
inline uint64_t WordAt(std::string_view key, size_t at) noexcept {
  static_assert(std::endian::native == std::endian::little);
  if (at >= key.size()) return 0;
  const size_t rest = key.size() - at;
  uint64_t bytes = 0;
  if (rest >= sizeof bytes) {
    std::memcpy(&bytes, key.data() + at, sizeof bytes);
    return __builtin_bswap64(bytes);
  }
  if (key.size() >= sizeof bytes) {  // read the last eight bytes and push out those before `at`
    std::memcpy(&bytes, key.data() + key.size() - sizeof bytes, sizeof bytes);
    return __builtin_bswap64(bytes) << (8 * (sizeof bytes - rest));
  }
  for (size_t i = 0; i < rest; ++i) {
    bytes |= uint64_t{static_cast<uint8_t>(key[at + i])} << (8 * (7 - i));
  }
  return bytes;
}

/// Below, equal or above 0, as std::string_view::compare.
inline int CompareBytes(std::string_view a, std::string_view b) noexcept {
  const size_t common = a.size() < b.size() ? a.size() : b.size();
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= common; at += sizeof(uint64_t)) {
    uint64_t left;
    uint64_t right;
    std::memcpy(&left, a.data() + at, sizeof left);
    std::memcpy(&right, b.data() + at, sizeof right);
    if (left != right) return __builtin_bswap64(left) < __builtin_bswap64(right) ? -1 : 1;
  }
  for (; at < common; ++at) {
    const auto left = static_cast<uint8_t>(a[at]);
    const auto right = static_cast<uint8_t>(b[at]);
    if (left != right) return left < right ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

}  // namespace braid::base
