// Purpose: the keys and values of the Facebook workload "prefix dist" (RocksDB's mixgraph): keys
// lie in ranges of unequal heat, and within a range a few are hot; values have sizes after a
// generalised Pareto distribution.
// Thread safety: const after construction.
// Persistence: none.
// Source: Cao et al., "Characterizing, modeling, and benchmarking RocksDB key-value workloads at
// Facebook", FAST 2020; the constants are db_bench's for the ZippyDB model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/harness/keys.h"
#include "src/base/random.h"

namespace braid::bench {

/// Chooses key numbers below `count`.
class PrefixDistKeys {
 public:
  static constexpr uint64_t kRanges = 30;

  /// count: at least kRanges.
  PrefixDistKeys(uint64_t count, uint64_t seed);
  uint64_t Next(Random& random) const;
  /// Of 1, for a range of keys that lie side by side.
  double HeatOf(uint64_t range) const;
  uint64_t RangeOf(uint64_t number) const;

 private:
  uint64_t RangeBegin(uint64_t range) const;

  uint64_t count_;
  std::vector<double> heat_up_to_;  // sums over the ranges, the last is 1
  Permutation rank_;                // of the keys of the smallest range: which ones are hot
};

/// Value sizes in bytes.
class ParetoSizes {
 public:
  static constexpr size_t kLeast = 16;
  static constexpr size_t kMost = 10 * 1024;

  size_t Next(Random& random) const;
};

/// Values of any size from ParetoSizes::kLeast on that show for which key they were made.
class SizedValues {
 public:
  SizedValues();
  /// Writes `size` bytes; `salt` makes the values of one key differ.
  void Make(std::string_view key, size_t size, uint64_t salt, char* out) const;
  /// Whether Make wrote `value` for `key`: looks at its head, its length and its end.
  bool Check(std::string_view key, std::string_view value) const;

 private:
  const char* Slice(uint64_t tag, uint64_t salt) const;

  std::vector<char> block_;
};

}  // namespace braid::bench
