// Runner: runs benchmarks one after another on one store, with threads, clock and counters.
//
// Thread safety: one thread calls it.
// Persistence: the store's own.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/benchmarks.h"
#include "bench/harness/dataset.h"
#include "bench/harness/kv_engine.h"
#include "bench/harness/worker.h"
#include "bench/harness/workload_options.h"

namespace braid::bench {

/// What was seen while a benchmark ran, at one moment.
struct ProgressSample {
  double seconds = 0;  ///< since the workers started, or settling did
  std::array<uint64_t, kOperationKinds> done{};
  std::vector<EngineField> fields;  ///< as the store tells them
};

struct BenchmarkResult {
  std::string name;
  int threads = 1;
  double seconds = 0;
  WorkerTotals totals;
  uint64_t side_writes = 0;  ///< of readwhilewriting's writer, not in totals
  EngineCounters counters;   ///< differences over the benchmark
  bool settled = false;
  double settle_seconds = 0;
  EngineCounters settle_counters;              ///< differences over settling
  std::vector<ProgressSample> samples;         ///< with WorkloadOptions::sample_millis
  std::vector<ProgressSample> settle_samples;  ///< the same, since settling began

  double OperationsPerSecond() const;
  /// Latencies of all kinds of operations.
  Histogram Latency() const;
  /// Bytes flushed, also while settling, for each byte written; empty when not known.
  std::optional<double> WriteAmplification() const;
};

class Runner {
 public:
  /// The files are in `directory`, which belongs to the run unless use_existing_db is set.
  Runner(KvEngine& engine, const WorkloadOptions& options, std::string directory);

  /// Opens the store, runs options.benchmarks, hands over each result, closes. Corruption when the
  /// store gave a wrong answer; the message names benchmark, store and key.
  Status Run(const std::function<void(const BenchmarkResult&)>& report);

 private:
  Status RunAll(const std::function<void(const BenchmarkResult&)>& report);
  Status RunOne(const BenchmarkSpec& spec, BenchmarkResult* result);
  Status RunWorkers(const BenchmarkSpec& spec, BenchmarkResult* result);
  Status Prepare(const BenchmarkSpec& spec);
  Status Recreate();
  Status Settle(BenchmarkResult* result);

  KvEngine& engine_;
  const WorkloadOptions& options_;
  std::string directory_;
  Dataset dataset_;
  std::vector<int> cpus_;
  bool fresh_ = true;
};

}  // namespace braid::bench
