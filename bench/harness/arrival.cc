#include "bench/harness/arrival.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace braid::bench {

double RateAt(const SineRate& rate, double seconds, uint64_t seed) {
  const double swing = rate.amplitude * std::sin(2 * std::numbers::pi * seconds / rate.period);
  const auto slot = static_cast<uint64_t>(seconds / kNoiseSlotSeconds);
  Random random(Mix64(seed) + slot);
  const double noise = (random.NextDouble() - 0.5) * rate.noise * rate.amplitude;
  return std::max(rate.mean + swing + noise, rate.mean / 1000);
}

ArrivalSchedule::ArrivalSchedule(const SineRate& rate, int workers, int index, uint64_t seed)
    : rate_(rate),
      workers_(workers),
      seed_(seed),
      random_(Mix64(seed + 1) + static_cast<uint64_t>(index)) {}

uint64_t ArrivalSchedule::Next() {
  const double gap = -std::log1p(-random_.NextDouble()) * workers_;
  seconds_ += gap / RateAt(rate_, seconds_, seed_);
  return static_cast<uint64_t>(seconds_ * 1e9);
}

}  // namespace braid::bench
