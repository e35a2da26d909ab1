// Purpose: merging, percentiles and the table; recording is inline in the header.
// Thread safety: none, as the header says.
// Persistence: none.
#include "base/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace braid {

void Histogram::Merge(const Histogram& other) noexcept {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

Histogram::Bucket Histogram::BucketAt(size_t index) const noexcept {
  return {Buckets::Lower(index), Buckets::Upper(index), counts_[index]};
}

uint64_t Histogram::Percentile(double percent) const noexcept {
  if (count_ == 0) return 0;
  if (percent <= 0) return min();
  if (percent >= 100) return max();
  const double exact_rank = std::ceil(percent / 100 * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(exact_rank), 1, count_);
  uint64_t seen = 0;
  for (size_t i = BucketIndex(min_); i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    const Bucket bucket = BucketAt(i);
    return std::clamp(bucket.lower + (bucket.upper - bucket.lower) / 2, min_, max_);
  }
  return max();
}

std::string Histogram::ToTable() const {
  std::string table;
  if (count_ == 0) return table;
  const double total = static_cast<double>(count_);
  uint64_t cumulative = 0;
  char line[160];
  for (unsigned bits = 0; bits <= 64; ++bits) {
    // The octave of values with exactly `bits` significant bits.
    const uint64_t lower = bits == 0 ? 0 : uint64_t{1} << (bits - 1);
    const uint64_t upper = bits == 0 ? 0 : lower + (lower - 1);
    uint64_t count = 0;
    for (size_t i = BucketIndex(lower); i <= BucketIndex(upper); ++i) count += counts_[i];
    if (count == 0) continue;
    cumulative += count;
    const double share = static_cast<double>(count) / total;
    std::snprintf(line, sizeof line, "  %12.3f to %12.3f us %12llu %7.3f %% %8.4f %%  ",
                  static_cast<double>(lower) / 1000, static_cast<double>(upper) / 1000,
                  static_cast<unsigned long long>(count), 100 * share,
                  100 * static_cast<double>(cumulative) / total);
    table += line;
    table.append(static_cast<size_t>(std::lround(40 * share)), '#');
    table += '\n';
  }
  return table;
}

}  // namespace braid
