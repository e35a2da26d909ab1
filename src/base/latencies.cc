// Purpose: counting latencies.
// Thread safety, invariant, persistence: see latencies.h.
#include "base/latencies.h"

namespace braid::base {

// Relaxed throughout: counters that order nothing.
void Latencies::RecordSampled(LatencyKind kind, uint64_t cycles) noexcept {
  const auto at = static_cast<size_t>(kind);
  const bool had_first = had_first_[at].load(std::memory_order_relaxed);
  if (!had_first && counts_[at].sampled.fetch_add(1, std::memory_order_relaxed) + 1 >= kFirst) {
    had_first_[at].store(true, std::memory_order_relaxed);
  }
  Record(kind, NanosOfCycles(cycles), had_first ? kOneIn : 1);
}

void Latencies::Record(LatencyKind kind, uint64_t nanos, uint64_t weight) noexcept {
  Counts& counts = counts_[static_cast<size_t>(kind)];
  counts.buckets[LatencyHistogram::BucketOf(nanos)].fetch_add(weight, std::memory_order_relaxed);
  counts.sum_nanos.fetch_add(nanos * weight, std::memory_order_relaxed);
  uint64_t most = counts.max_nanos.load(std::memory_order_relaxed);
  while (nanos > most &&
         !counts.max_nanos.compare_exchange_weak(most, nanos, std::memory_order_relaxed)) {
  }
}

void Latencies::Fill(Statistics* statistics) const noexcept {
  for (size_t i = 0; i < kLatencyKinds; ++i) {
    const Counts& counts = counts_[i];
    LatencyHistogram& histogram = statistics->latencies[i];
    histogram.count = 0;
    for (size_t b = 0; b < LatencyHistogram::kBuckets; ++b) {
      histogram.buckets[b] = counts.buckets[b].load(std::memory_order_relaxed);
      histogram.count += histogram.buckets[b];
    }
    histogram.sum_nanos = counts.sum_nanos.load(std::memory_order_relaxed);
    histogram.max_nanos = counts.max_nanos.load(std::memory_order_relaxed);
  }
}

}  // namespace braid::base
