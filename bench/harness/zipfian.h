// Skewed key choices, as YCSB makes them.
//
// Thread safety: one generator a thread.
// Persistence: none.
// Source: Gray et al. 1994, "Quickly generating billion-record synthetic databases"; YCSB's core
// package for the constants.
#pragma once

#include <cstdint>

#include "src/base/random.h"

namespace braid::bench {

/// The generalized harmonic number: the sum of i^-theta for i from 1 to n, 0 < theta < 1.
/// Exact sums for the first terms, the Euler-Maclaurin formula for the rest: relative error below
/// 1e-10, in constant time.
double Zeta(uint64_t n, double theta);

/// Ranks 0 to n - 1, rank r with a probability proportional to (r + 1)^-theta.
class ZipfianGenerator {
 public:
  static constexpr double kYcsbTheta = 0.99;

  explicit ZipfianGenerator(uint64_t n, double theta = kYcsbTheta);

  uint64_t Next(Random& random) noexcept;
  /// From now on ranks 0 to n - 1. Cheap.
  void Resize(uint64_t n);
  uint64_t n() const noexcept { return n_; }

 private:
  double theta_;
  double zeta2_;
  double alpha_;
  uint64_t n_ = 0;
  double zeta_n_ = 0;
  double eta_ = 0;
};

/// YCSB's "zipfian" request distribution: ranks of a Zipfian over 10 billion items, hashed onto
/// [0, n), so that the popular keys are scattered and stay the same when n grows.
class ScrambledZipfianGenerator {
 public:
  explicit ScrambledZipfianGenerator(uint64_t n) : zipfian_(kYcsbItems), n_(n) {}
  uint64_t Next(Random& random) noexcept { return Mix64(zipfian_.Next(random) + 1) % n_; }

 private:
  static constexpr uint64_t kYcsbItems = 10'000'000'000;
  ZipfianGenerator zipfian_;
  uint64_t n_;
};

}  // namespace braid::bench
