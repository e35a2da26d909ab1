// Purpose: Histogram, counts of 64-bit values in log-linear buckets, for latencies in nanoseconds.
//
// Values below 128 have a bucket each; above, every power of two is cut into 64 buckets, so that a
// bucket is at most 1/64 of its values wide and its midpoint at most 0.8 % off.
//
// Thread safety: none; give every thread its own and Merge them.
// Persistence: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "log_linear.h"  // also compiled where src is no folder of headers

namespace braid {

/// About 30 KB; recording touches one bucket and four counters, and never allocates.
class Histogram {
 public:
  using Buckets = base::LogLinear<6>;
  static constexpr size_t kBuckets = Buckets::kBuckets;

  /// Values `lower` to `upper`, both inclusive.
  struct Bucket {
    uint64_t lower = 0;
    uint64_t upper = 0;
    uint64_t count = 0;
  };

  void Record(uint64_t value) noexcept {
    ++counts_[BucketIndex(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }
  /// Adds everything that `other` recorded.
  void Merge(const Histogram& other) noexcept;
  void Clear() noexcept { *this = Histogram(); }

  uint64_t count() const noexcept { return count_; }
  uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  uint64_t max() const noexcept { return max_; }
  double sum() const noexcept { return sum_; }
  double Mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  /// The value that `percent` of all values do not exceed (nearest rank), within 0.8 %; exact at 0,
  /// at 100 and below 128. 0 when nothing was recorded.
  uint64_t Percentile(double percent) const noexcept;

  /// The bucket with this index, 0 <= index < kBuckets, in ascending order of values.
  Bucket BucketAt(size_t index) const noexcept;
  /// The index of the bucket that holds `value`.
  static size_t BucketIndex(uint64_t value) noexcept { return Buckets::Index(value); }

  /// A table with a row for each octave that holds values: range in microseconds, count, share,
  /// cumulative share, bar. For people; values are taken as nanoseconds.
  std::string ToTable() const;

 private:
  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace braid
