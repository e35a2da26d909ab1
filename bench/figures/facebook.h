// Purpose: the Facebook workload "prefix dist" as the ListDB chapter runs it: keys of 48 bytes,
// values of 16 bytes to 10 KB, put to get 3 to 7, arrivals by a noisy sine. Open loop: an operation
// is due when it arrives, and its latency counts from there, also while it waits for its turn.
// Thread safety: one call at a time; it starts its own threads.
// Persistence: the store's.
#pragma once

#include <cstdint>

#include "bench/figures/frame/figure.h"
#include "bench/harness/arrival.h"
#include "bench/harness/kv_engine.h"

namespace braid::figures {

struct FacebookLoad {
  uint64_t keys = 300'000;
  double put_share = 0.3;
  int threads = 4;
  double seconds = 5;
  bench::SineRate rate;  ///< of all operations; mean 0: no pause between them (a closed loop)
  uint64_t sample_millis = 100;
  uint64_t seed = 1;
  bool fills = true;  ///< every key is put once before the clock starts
};

inline constexpr size_t kFacebookKeyBytes = 48;

/// Runs `load` on an open store. `result` gets
///   operations, arrived, seconds, puts, gets, latency {put, get}: {p50_ns, p99_ns, max_ns}
///   samples: {seconds, done: {read, write}, due: {read, write}, fields}, as RateSeries takes them.
/// `arrived` counts what was due within `seconds`; what the store did not get to in time is not
/// done. Errors: Corruption when a value is wrong or missing.
Status RunFacebook(bench::KvEngine& engine, const FacebookLoad& load, Json* result);

}  // namespace braid::figures
