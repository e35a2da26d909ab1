// Purpose: inserts of keys that are spread over the key space evenly or in hot zones, for the
// figures about ranges. All keys are different in both cases, so that both build equally many
// records, and only where they lie differs.
// Thread safety: one thread.
// Persistence: scratch folders, while they are used.
#pragma once

#include <cstdint>

#include "bench/figures/nvskiplist.h"

namespace braid::figures {

inline constexpr uint64_t kZones = 1024;

/// For the page: what Zipfian means here.
inline constexpr const char* kZonesSetting =
    "All keys are different. The key space has 1,024 zones of equal width; Zipfian means that a "
    "key's zone is drawn with a probability that falls with the zone's number (constant 0.99), so "
    "that hot zones lie side by side: 69 % of the keys fall into the first of 10 ranges, 38 % into "
    "the first of 100.";

struct InsertLoad {
  Variant variant;
  int threads = 1;
  uint64_t records = 0;
  bool zipfian = false;
};

/// Inserts the records from `threads` threads, then checks all of them by a scan. `result` gets
/// {"ops_per_second", "seconds", ...}.
Status MeasureInserts(FigureRun& run, const InsertLoad& load, Json* result);
/// Median of the rates of several loads, measured in turn. `rates[i]`: thousand inserts a second.
Status MeasureInsertsInTurn(FigureRun& run, const std::vector<InsertLoad>& loads, int rounds,
                            std::vector<double>* rates);

}  // namespace braid::figures
