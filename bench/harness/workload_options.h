// The flags of a workload, shared by `braid bench` and braid-compare; names as db_bench has them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/kv_engine.h"
#include "braid/options.h"
#include "braid/status.h"

namespace braid::bench {

struct WorkloadOptions {
  std::vector<std::string> benchmarks = {"fillseq", "fillrandom",  "overwrite", "readrandom",
                                         "readseq", "readreverse", "seekrandom"};
  uint64_t num = 1'000'000;
  std::optional<uint64_t> reads;  ///< operations of all benchmarks but fills; none: num
  int threads = 1;
  size_t key_size = 16;
  size_t value_size = 100;
  uint64_t multiread_keys = 32;
  uint64_t batch_size = 1;
  uint64_t seed = 1;
  uint64_t seek_nexts = 50;
  double duration = 0;       ///< seconds; 0: by operations
  uint32_t overwrites = 10;  ///< of everything, by sustained
  std::string distribution;  ///< "zipfian", "uniform", or empty: what each benchmark defines
  bool hash_keys = false;
  bool histogram = false;
  bool use_existing_db = false;
  bool sync = false;
  bool settle = true;
  bool pin = true;
  double warmup_percent = 5;
  uint64_t sample_millis = 0;  ///< how often progress and statistics are noted; 0: never
  std::string emulate_pmem;    ///< "write_ns=N,bandwidth=MB_A_SECOND", or empty
  std::string design = "braid";
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  uint64_t write_buffer_bytes = 0;  ///< LevelDB's, for figures; 0: what the engine chooses
  /// All records are so many times what braid's pool may hold; the rest goes to a tier in
  /// `tier_directory`. 0: the pool holds all.
  uint64_t pool_share = 0;
  /// Behind all benchmarks the store is overwritten by a process that is killed; how long an open
  /// takes then, and a scan of everything, are two results more.
  bool kill_at_end = false;
  std::string tier_directory;
  std::string force_media_class;      ///< "page", "cache_line", "byte", or empty: as detected
  std::vector<std::string> settings;  ///< "name=value", for Options::Set

  uint64_t Operations() const { return reads.value_or(num); }
  /// The first flag outside its limits, by name, or ok.
  Status Validate() const;
  EngineConfig MakeEngineConfig(const std::string& directory) const;
};

/// Applies "name=value" settings. InvalidArgument names the first that is wrong.
Status ApplySettings(const std::vector<std::string>& settings, Options* options);

/// Turns "write_ns=350,bandwidth=5000" (either may be missing) into settings of braid's pool.
/// Errors: InvalidArgument.
Result<std::vector<std::string>> EmulationSettings(const std::string& emulate_pmem);
/// The same in words, for headers and reports: what is slowed down by how much.
std::string DescribeEmulation(const std::string& emulate_pmem);

/// Adds the flags to `app`, bound to `options`.
void AddWorkloadFlags(CLI::App& app, WorkloadOptions* options);

}  // namespace braid::bench
