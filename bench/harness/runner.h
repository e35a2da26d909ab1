// Runner: runs benchmarks one after another on one store, with threads, clock and counters.
//
// Thread safety: one thread calls it.
// Persistence: the store's own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/benchmarks.h"
#include "bench/harness/dataset.h"
#include "bench/harness/kv_engine.h"
#include "bench/harness/process_use.h"
#include "bench/harness/sampler.h"
#include "bench/harness/worker.h"
#include "bench/harness/workload_options.h"

namespace braid::bench {

struct BenchmarkResult {
  std::string name;
  int threads = 1;
  double seconds = 0;
  WorkerTotals totals;
  uint64_t cpu_nanos = 0;         ///< of the whole process while the workers ran
  uint64_t settle_cpu_nanos = 0;  ///< and while it settled
  MachineLoad load;               ///< beside this process, settling included
  uint64_t live_bytes = 0;        ///< of keys and values of the data set
  uint64_t side_writes = 0;       ///< of the extra writer, not in totals
  double side_seconds = 0;        ///< that it took for them
  Histogram side_latency;         ///< of its puts, where they are timed
  EngineCounters counters;        ///< differences over the benchmark
  bool settled = false;
  double settle_seconds = 0;
  EngineCounters settle_counters;              ///< differences over settling
  std::vector<ProgressSample> samples;         ///< with WorkloadOptions::sample_millis
  std::vector<ProgressSample> settle_samples;  ///< the same, since settling began

  double OperationsPerSecond() const;
  /// Latencies of all kinds of operations.
  Histogram Latency() const;
  /// Processor time of the whole process for each operation, settling included, in nanoseconds.
  double CpuNanosPerOperation() const;
  /// Bytes flushed or written, also while settling, for each byte put; empty when not known.
  std::optional<double> WriteAmplification() const;
};

class Runner {
 public:
  /// The files are in `directory`, which belongs to the run unless use_existing_db is set.
  Runner(KvEngine& engine, const WorkloadOptions& options, std::string directory);

  /// Opens the store, runs options.benchmarks, hands over each result, closes. Corruption when the
  /// store gave a wrong answer; the message names benchmark, store and key.
  Status Run(const std::function<void(const BenchmarkResult&)>& report);

  /// How long the store took to open, once Run has.
  double open_seconds() const { return open_seconds_; }

 private:
  Status RunAll(const std::function<void(const BenchmarkResult&)>& report);
  Status RunOne(const BenchmarkSpec& spec, BenchmarkResult* result);
  Status RunWorkers(const BenchmarkSpec& spec, BenchmarkResult* result);
  Status Prepare(const BenchmarkSpec& spec);
  Status Recreate();
  Status Settle(const BenchmarkSpec& spec, BenchmarkResult* result);
  uint64_t SampleMillis(const BenchmarkSpec& spec) const;
  std::chrono::nanoseconds HeadStart(const BenchmarkSpec& spec) const;
  Sampler MakeSampler(const BenchmarkSpec& spec, std::vector<Progress>& progress);

  KvEngine& engine_;
  /// How often a benchmark in rounds is looked at, unless the workload says.
  static constexpr uint64_t kRoundSampleMillis = 50;

  const WorkloadOptions& options_;
  std::string directory_;
  Dataset dataset_;
  std::vector<int> cpus_;
  bool fresh_ = true;
  double open_seconds_ = 0;
};

}  // namespace braid::bench
