// Purpose: the benchmark `sustained`: every record is written once, then everything is overwritten
// again and again without a pause; and what its rounds say.
// Thread safety: each worker runs its part; the rest is functions without state.
// Invariants:
//   1. Each record is written once a round, by the same worker in each round: once all are done,
//   the
//      store holds the last generation of each.
//   2. Round 0 fills; each worker begins the next round as soon as it has done its part of the
//   last.
// Persistence: the store's own.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/harness/benchmarks.h"
#include "bench/harness/runner.h"

namespace braid::bench {

/// One worker's part: its records in another pseudo-random order each round.
Status Sustain(const WorkloadOptions& options, Worker& worker, const Part& part);

/// "rounds", "space" and "series" of a result in rounds: what each round was, what the store took,
/// and both over time in at most about kMostMoments moments, settling included; and what a summary
/// has of them: the rate with settling counted, the slowest overwrite for the first, and the bytes
/// of files for each byte of live keys and values.
void AddRoundsToJson(const BenchmarkResult& result, nlohmann::json* json);

inline constexpr size_t kMostMoments = 150;

/// A line a round, for people.
std::string FormatRounds(const BenchmarkResult& result);

}  // namespace braid::bench
