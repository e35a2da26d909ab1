// Purpose: log-linear buckets for 64-bit values: how a value leads to its bucket, and back.
//
// Values below 2^(kSubBits + 1) have a bucket each; above, every power of two is cut into
// 2^kSubBits buckets of equal width.
//
// Thread safety: pure functions.
// Persistence: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braid::base {

template <unsigned kSubBits>
struct LogLinear {
  /// Of all 64-bit values.
  static constexpr size_t kBuckets = (64 - kSubBits + 1) << kSubBits;

  static constexpr size_t Index(uint64_t value) noexcept {
    if (value < (uint64_t{1} << (kSubBits + 1))) return static_cast<size_t>(value);
    const unsigned shift = 63u - static_cast<unsigned>(__builtin_clzll(value)) - kSubBits;
    return (static_cast<size_t>(shift) << kSubBits) + static_cast<size_t>(value >> shift);
  }
  /// The least value of a bucket.
  static constexpr uint64_t Lower(size_t index) noexcept {
    if (index < size_t{2} << kSubBits) return index;
    const size_t shift = (index >> kSubBits) - 1;
    return uint64_t{index - (shift << kSubBits)} << shift;
  }
  /// The greatest one.
  static constexpr uint64_t Upper(size_t index) noexcept {
    if (index < size_t{2} << kSubBits) return index;
    return Lower(index) + ((uint64_t{1} << ((index >> kSubBits) - 1)) - 1);
  }
};

}  // namespace braid::base
