#include "bench/harness/workload_options.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "bench/harness/benchmarks.h"
#include "bench/harness/keys.h"
#include "bench/harness/values.h"

namespace braid::bench {
namespace {

const std::set<std::string> kDistributions = {"", "uniform", "zipfian"};
const std::set<std::string> kMediaClasses = {"", "page", "cache_line", "byte"};
constexpr int kMaxThreads = 256;

std::optional<MediaClass> ParseMediaClass(const std::string& name) {
  if (name == "page") return MediaClass::kPage;
  if (name == "cache_line") return MediaClass::kCacheLine;
  if (name == "byte") return MediaClass::kByte;
  return std::nullopt;
}

std::string KnownBenchmarks() {
  std::string names;
  for (const BenchmarkSpec& spec : AllBenchmarks()) {
    if (!names.empty()) names += ", ";
    names += spec.name;
  }
  return names + ", and mix-N with N percent updates";
}

Status ValidateNames(const WorkloadOptions& options) {
  for (const std::string& name : options.benchmarks) {
    if (FindBenchmark(name) == nullptr) {
      return Status::InvalidArgument("--benchmarks: there is no '" + name + "'; known are " +
                                     KnownBenchmarks());
    }
  }
  if (options.benchmarks.empty()) {
    return Status::InvalidArgument("--benchmarks is empty; known are " + KnownBenchmarks());
  }
  if (kDistributions.count(options.distribution) == 0) {
    return Status::InvalidArgument("--distribution must be uniform or zipfian, not '" +
                                   options.distribution + "'");
  }
  if (kMediaClasses.count(options.force_media_class) == 0) {
    return Status::InvalidArgument("--force_media_class must be page, cache_line or byte, not '" +
                                   options.force_media_class + "'");
  }
  return Status::OK();
}

}  // namespace

Status ApplySettings(const std::vector<std::string>& settings, Options* options) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return Status::InvalidArgument("--set takes NAME=VALUE, as in log.kind=write-ahead; \"" +
                                     setting + "\" has no =");
    }
    const Status set = options->Set(std::string_view(setting).substr(0, equals),
                                    std::string_view(setting).substr(equals + 1));
    if (!set.ok()) return set;
  }
  return Status::OK();
}

Result<std::vector<std::string>> EmulationSettings(const std::string& emulate_pmem) {
  std::vector<std::string> settings;
  std::istringstream parts(emulate_pmem);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    const bool is_number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && name == "write_ns") {
      settings.push_back("pool.emulate_write_ns=" + value);
    } else if (is_number && name == "bandwidth") {
      settings.push_back("pool.emulate_write_mb_s=" + value);
    } else {
      return Status::InvalidArgument(
          "--emulate-pmem takes write_ns=NANOSECONDS,bandwidth=MB_A_SECOND (one of them may be "
          "left out), not \"" +
          part + "\"");
    }
  }
  return settings;
}

std::string DescribeEmulation(const std::string& emulate_pmem) {
  return "the medium is slowed down for braid (" + emulate_pmem +
         "): each line written back costs write_ns more nanoseconds at its fence, and all threads "
         "together write back at most bandwidth million bytes a second";
}

Status WorkloadOptions::Validate() const {
  Status status = ValidateNames(*this);
  if (!status.ok()) return status;
  if (threads < 1 || threads > kMaxThreads) {
    return Status::InvalidArgument("--threads must be 1 to " + std::to_string(kMaxThreads));
  }
  if (key_size < 1 || key_size > KeyMaker::kMaxSize) {
    return Status::InvalidArgument("--key_size must be 1 to " + std::to_string(KeyMaker::kMaxSize));
  }
  if (value_size > ValueMaker::kMaxSize) {
    return Status::InvalidArgument("--value_size must be at most " +
                                   std::to_string(ValueMaker::kMaxSize));
  }
  // Half of the numbers are kept for the inserts of ycsb-d and ycsb-e.
  const uint64_t most = KeyMaker(key_size, hash_keys).capacity() / 2;
  if (num < 1 || num > most) {
    return Status::InvalidArgument("--num must be 1 to " + std::to_string(most) + " with keys of " +
                                   std::to_string(key_size) + " bytes");
  }
  if (Operations() < 1) return Status::InvalidArgument("--reads must be at least 1");
  if (batch_size < 1 || batch_size > 1'000'000) {
    return Status::InvalidArgument("--batch_size must be 1 to 1000000");
  }
  if (multiread_keys < 1 || multiread_keys > 1'000'000) {
    return Status::InvalidArgument("--multiread_keys must be 1 to 1000000");
  }
  // Each worker keeps a histogram of each round.
  if (overwrites < 1 || overwrites > 100) {
    return Status::InvalidArgument("--overwrites must be 1 to 100");
  }
  if (duration < 0) return Status::InvalidArgument("--duration must not be negative");
  if (warmup_percent < 0 || warmup_percent > 100) {
    return Status::InvalidArgument("--warmup_percent must be 0 to 100");
  }
  for (const std::string& name : benchmarks) {
    if (hash_keys && name == "fillseq") {
      return Status::InvalidArgument(
          "fillseq can't write hashed keys in their order: use fillrandom, or --hash_keys=0");
    }
  }
  Result<std::vector<std::string>> emulation = EmulationSettings(emulate_pmem);
  if (!emulation.ok()) return emulation.status();
  Options scratch;
  return ApplySettings(settings, &scratch);
}

EngineConfig WorkloadOptions::MakeEngineConfig(const std::string& directory) const {
  EngineConfig config;
  config.directory = directory;
  config.expected_records = num + Operations();
  config.key_size = key_size;
  config.value_size = value_size;
  config.threads = threads + 1;
  config.sync = sync;
  config.design = design;
  config.settings = settings;
  Result<std::vector<std::string>> emulation = EmulationSettings(emulate_pmem);
  if (emulation.ok()) {
    config.settings.insert(config.settings.end(), emulation->begin(), emulation->end());
  }
  config.memory_budget_bytes = memory_budget_bytes;
  config.write_buffer_bytes = write_buffer_bytes;
  config.force_media_class = ParseMediaClass(force_media_class);
  if (pool_share != 0) {
    // Smaller ones have no room for the logs, of which there are some at a time.
    constexpr uint64_t kLeastPool = 32u << 20;
    // Segments are of whole chunks.
    constexpr uint64_t kStep = 4u << 20;
    const uint64_t share = num * (key_size + value_size) / pool_share;
    config.pool_max_bytes = std::max((share + kStep - 1) / kStep * kStep, kLeastPool);
    config.tier_directory = tier_directory;
  }
  return config;
}

void AddWorkloadFlags(CLI::App& app, WorkloadOptions* options) {
  app.add_option("--benchmarks", options->benchmarks,
                 "What to run, in this order: " + KnownBenchmarks())
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--num", options->num,
                 "Records. Fills write each of them exactly once, fillrandom in a pseudo-random "
                 "order; the threads share them")
      ->capture_default_str();
  app.add_option("--reads", options->reads,
                 "Operations of every other benchmark, shared by the threads (default: --num)");
  app.add_option("--duration", options->duration,
                 "Run benchmarks other than fills and full scans for so many seconds instead");
  app.add_option("--overwrites", options->overwrites,
                 "How many times sustained overwrites everything after its fill")
      ->capture_default_str();
  app.add_option("--threads", options->threads, "Worker threads")->capture_default_str();
  app.add_option("--key_size", options->key_size,
                 "Bytes of a key: 16 and more are decimals, fewer are binary, big-endian")
      ->capture_default_str();
  app.add_option("--value_size", options->value_size, "Bytes of a value")->capture_default_str();
  app.add_option("--batch_size", options->batch_size,
                 "Records written at once by fills and overwrite")
      ->capture_default_str();
  app.add_option("--multiread_keys", options->multiread_keys,
                 "Keys that multireadrandom gets with one call")
      ->capture_default_str();
  app.add_option("--seek_nexts", options->seek_nexts, "Records read after a seek by seekrandom")
      ->capture_default_str();
  app.add_option("--distribution", options->distribution,
                 "uniform or zipfian (0.99, scrambled); default: uniform, and what YCSB says");
  app.add_option("--seed", options->seed, "Seed of the order and of the choices")
      ->capture_default_str();
  app.add_flag("--hash_keys", options->hash_keys,
               "Spread the keys over the whole space instead of numbering them densely");
  app.add_flag("--histogram", options->histogram, "Print the latencies of each benchmark");
  app.add_flag("--sync", options->sync, "Make each write durable against loss of power");
  app.add_option("--settle", options->settle,
                 "1: wait for background work between writing and reading; the time is reported")
      ->capture_default_str();
  app.add_option("--pin", options->pin, "1: pin each worker to a processor")->capture_default_str();
  app.add_option("--warmup_percent", options->warmup_percent,
                 "Share of the operations of read benchmarks that runs before the clock starts")
      ->capture_default_str();
  app.add_option("--emulate-pmem", options->emulate_pmem,
                 "Slow write-backs down as slow persistent memory would, for braid alone: "
                 "write_ns=350,bandwidth=5000 adds nanoseconds a line and limits MB/s; needs class "
                 "cache_line, so it may need --force_media_class");
  app.add_option("--design", options->design, "The design of braid's pool")->capture_default_str();
  app.add_option("--set", options->settings,
                 "Set an option of braid by its name, as in --set log.kind=write-ahead; may be "
                 "given several times. braid options lists them")
      ->allow_extra_args(false);
  app.add_option("--memory_budget", options->memory_budget_bytes,
                 "DRAM that braid may use, like 1G")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--force_media_class", options->force_media_class,
                 "Let braid treat the medium as page, cache_line or byte");
}

}  // namespace braid::bench
