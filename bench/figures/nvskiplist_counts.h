// Purpose: data references and cache misses of puts and gets, counted by cachegrind: the same on
// every machine, and there where performance counters are not.
// Thread safety: one thread.
// Persistence: scratch folders, while they are used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/figures/nvskiplist.h"

namespace braid::figures {

/// Of one operation, on average.
struct Touched {
  double references = 0;  ///< loads and stores
  double misses = 0;      ///< of the first-level data cache
};

struct CountedStore {
  std::string name;
  Touched put;
  Touched get;
};

/// For the page: what is counted and how.
inline constexpr const char* kCountedSetting =
    "Counted by cachegrind, which simulates the 32 KiB first-level data cache of the paper's "
    "processor, at a small scale: 100,000 puts of 8-byte keys and values, then as many gets. "
    "What opening and the loops themselves touch is taken off; nothing is closed.";

/// Counts for each variant, and last for the public API alone (a store that keeps nothing).
/// Without `gets` only puts are counted. NotSupported when valgrind is not installed.
Status CountTouched(FigureRun& run, const std::vector<Variant>& variants, bool gets,
                    std::vector<CountedStore>* stores);

}  // namespace braid::figures
