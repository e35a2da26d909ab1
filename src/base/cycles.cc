// Purpose: the rate of a processor's cycles.
// Thread safety, persistence: see cycles.h.
#include "base/cycles.h"

#include <algorithm>
#include <chrono>

namespace braid::base {

namespace {

using Clock = std::chrono::steady_clock;

/// When the program began, by both clocks.
struct ProgramBegin {
  uint64_t cycles = NowCycles();
  Clock::time_point time = Clock::now();
};
const ProgramBegin program_begin;

}  // namespace

uint64_t NanosOfCycles(uint64_t cycles) noexcept {
  const auto all = std::chrono::nanoseconds(Clock::now() - program_begin.time).count();
  const double rate =
      static_cast<double>(std::max<int64_t>(all, 1)) /
      static_cast<double>(std::max<uint64_t>(NowCycles() - program_begin.cycles, 1));
  // Between 250 MHz and 10 GHz, whatever became of the clock meanwhile.
  return static_cast<uint64_t>(static_cast<double>(cycles) * std::clamp(rate, 0.1, 4.0));
}

}  // namespace braid::base
