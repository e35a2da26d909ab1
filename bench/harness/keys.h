// Keys of benchmarks: how a key number becomes bytes, and in which order numbers are visited.
//
// Thread safety: const after construction.
// Persistence: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace braid::bench {

/// A pseudo-random order of the numbers [0, count): every number once, no table, the same order
/// for the same seed. Multiplications and shifts on just enough bits, repeated while the
/// result falls outside (fewer than two rounds on average).
class Permutation {
 public:
  /// Of [0, count); count must not be 0.
  Permutation(uint64_t count, uint64_t seed);
  /// Of all numbers with `bits` bits, 1 to 64.
  static Permutation OfBits(unsigned bits, uint64_t seed);

  /// The number at `index`; index < count.
  uint64_t operator()(uint64_t index) const noexcept {
    uint64_t x = index;
    do {
      x = Round(x);
    } while (x > last_);
    return x;
  }

 private:
  Permutation(unsigned bits, uint64_t last, uint64_t seed);

  // Each step is a bijection on `mask_`: adding, multiplying by an odd number, and xor with a
  // shift by at least half the bits (its own inverse).
  uint64_t Round(uint64_t x) const noexcept {
    x = (x + add_) & mask_;
    x ^= x >> shift_;
    x = (x * factor_[0]) & mask_;
    x ^= x >> shift_;
    x = (x * factor_[1]) & mask_;
    x ^= x >> shift_;
    x = (x * factor_[2]) & mask_;
    return x ^ (x >> shift_);
  }

  uint64_t last_;
  uint64_t mask_;
  unsigned shift_;
  uint64_t add_ = 0;
  uint64_t factor_[3] = {};
};

/// Writes key number n as bytes whose order is the order of the numbers: 16 decimal digits for
/// keys of 16 bytes and more (then '0' up to the size), big-endian binary for shorter ones (the
/// low bytes below 8, '0' after the eighth). With `hashed`, the number is replaced by a bijective
/// hash first, which spreads the keys over the whole space.
class KeyMaker {
 public:
  static constexpr size_t kMaxSize = 1024;

  /// size: 1 to kMaxSize.
  KeyMaker(size_t size, bool hashed);

  size_t size() const noexcept { return size_; }
  bool hashed() const noexcept { return hashed_; }
  /// How many different keys there are; numbers must stay below.
  uint64_t capacity() const noexcept { return capacity_; }
  /// Writes size() bytes.
  void Make(uint64_t number, char* out) const noexcept;

 private:
  size_t size_;
  bool hashed_;
  unsigned bits_;  // of the numbers the hash permutes
  uint64_t capacity_;
  Permutation hash_;
};

/// A key held in place, made again and again without allocating.
class KeyBuffer {
 public:
  explicit KeyBuffer(const KeyMaker& maker) : maker_(maker) {}
  /// Key `number`; valid until the next call.
  std::string_view Key(uint64_t number) noexcept {
    maker_.Make(number, bytes_);
    return {bytes_, maker_.size()};
  }
  /// A key that no benchmark writes, right behind key `number` in byte order: one byte longer.
  std::string_view MissingKey(uint64_t number) noexcept {
    maker_.Make(number, bytes_);
    bytes_[maker_.size()] = '.';
    return {bytes_, maker_.size() + 1};
  }

 private:
  const KeyMaker& maker_;
  char bytes_[KeyMaker::kMaxSize + 1];
};

/// A key for messages: itself when it is printable, hexadecimal otherwise.
std::string PrintableKey(std::string_view key);

}  // namespace braid::bench
