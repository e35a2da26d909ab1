// The benchmarks by name: what each does with the store.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/status.h"

namespace braid::bench {

class Worker;
struct WorkloadOptions;

/// One worker's part of a benchmark.
struct Part {
  int index = 0;
  int threads = 1;
  uint64_t steps = 0;  ///< of this worker
};

/// Runs one worker's part. Called on the worker's thread.
using BenchmarkBody = std::function<Status(const WorkloadOptions&, Worker&, const Part&)>;

struct BenchmarkSpec {
  std::string name;
  std::string summary;
  BenchmarkBody body;
  bool fills = false;  ///< writes every record once, into an empty store
  bool writes = false;
  bool deletes = false;
  bool reads = false;
  bool warms_up = false;       ///< its body can run before the clock starts without changing data
  bool scans_all = false;      ///< each worker reads everything
  bool extra_writer = false;   ///< a worker more, which overwrites until the others are done
  bool head_start = false;     ///< the extra writer begins kWriterHeadStart before the others
  bool in_rounds = false;      ///< writes everything 1 + options.overwrites times, see sustained.h
  bool never_settles = false;  ///< nobody waits for background work behind it, --settle or not
};

const std::vector<BenchmarkSpec>& AllBenchmarks();
/// One of AllBenchmarks(), or "mix-N" with N percent updates, 0 to 100. Null when there is none.
const BenchmarkSpec* FindBenchmark(std::string_view name);

}  // namespace braid::bench
