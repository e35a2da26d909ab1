// Purpose: fast pseudo-random numbers for tests, benchmarks and randomized data structures. Not for
// secrets.
// Thread safety: one generator a thread.
// Persistence: none.
// Source: Steele, Lea, Flood 2014 (SplitMix64); Blackman, Vigna 2018 (xoshiro256++).
#pragma once

#include <bit>
#include <cstdint>

namespace braid {

/// A bijection on 64-bit numbers whose output bits all depend on all input bits.
constexpr uint64_t Mix64(uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  x ^= x >> 31;
  return x;
}

/// One 64-bit state; used to seed Random, and where a generator must be tiny.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t seed) noexcept : state_(seed) {}
  constexpr uint64_t Next() noexcept { return Mix64(state_ += 0x9E3779B97F4A7C15u); }

 private:
  uint64_t state_;
};

/// xoshiro256++: period 2^256 - 1, under a nanosecond a number. Equal seeds give equal sequences.
/// Usable as a UniformRandomBitGenerator.
class Random {
 public:
  using result_type = uint64_t;

  explicit constexpr Random(uint64_t seed) noexcept {
    SplitMix64 source(seed);
    for (uint64_t& word : state_) word = source.Next();
  }

  constexpr uint64_t Next() noexcept {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, n); n must not be 0. The bias is below n / 2^64.
  constexpr uint64_t Uniform(uint64_t n) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * n) >> 64);
  }

  /// True once in n calls on average; n must not be 0.
  constexpr bool OneIn(uint64_t n) noexcept { return Uniform(n) == 0; }

  /// Uniform in [0, 1), with 53 random bits.
  constexpr double NextDouble() noexcept { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  static constexpr uint64_t min() noexcept { return 0; }
  static constexpr uint64_t max() noexcept { return ~uint64_t{0}; }
  constexpr uint64_t operator()() noexcept { return Next(); }

 private:
  uint64_t state_[4] = {};
};

}  // namespace braid
