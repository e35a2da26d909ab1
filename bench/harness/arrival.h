// Purpose: when operations arrive at a store that is watched from outside: a rate that swings like
// a sine and is noisy, and the moments that follow from it. An operation is due at its moment,
// whether or not the one before is done (an open loop).
// Thread safety: one schedule a thread.
// Persistence: none.
// Source: the mixgraph workload of RocksDB's db_bench, whose rate is a sine with noise (Cao et al.,
// FAST 2020).
#pragma once

#include <cstdint>

#include "src/base/random.h"

namespace braid::bench {

struct SineRate {
  double mean = 0;       ///< operations a second
  double amplitude = 0;  ///< of the sine, below mean
  double period = 10;    ///< seconds
  double noise = 0;      ///< 0 to 1: each slot is off by up to half of this share of the amplitude
};

inline constexpr double kNoiseSlotSeconds = 0.05;

/// The rate at `seconds`; the same for the same seed. Never below a thousandth of the mean.
double RateAt(const SineRate& rate, double seconds, uint64_t seed);

/// Moments at which one of `workers` gets its operations: gaps are exponential.
class ArrivalSchedule {
 public:
  ArrivalSchedule(const SineRate& rate, int workers, int index, uint64_t seed);
  /// Nanoseconds since the start; never less than the one before.
  uint64_t Next();

 private:
  SineRate rate_;
  double workers_;
  uint64_t seed_;
  Random random_;
  double seconds_ = 0;
};

}  // namespace braid::bench
