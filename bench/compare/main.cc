// braid-compare: runs one workload on braid and on other stores, interleaved, and compares.
//
// Each run of a store is a process of its own with an empty database: no store inherits another's
// heap or threads, a crash is a result, and the data is removed whatever happens.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/compare/summary.h"
#include "bench/engines/engines.h"
#include "bench/harness/goals.h"
#include "bench/harness/html_report.h"
#include "bench/harness/report.h"
#include "bench/harness/runner.h"
#include "bench/harness/scenario.h"
#include "bench/harness/scratch.h"

namespace braid::bench {
namespace {

constexpr int kExitError = 2;

int Fail(std::string_view message) {
  fmt::print(stderr, "braid-compare: {}\n", message);
  return kExitError;
}

struct CompareOptions {
  WorkloadOptions workload;
  std::string scenario;  // or empty: benchmarks as named
  std::vector<std::string> engines = PeerEngineNames();
  int runs = 3;
  std::string directory;
  std::string tier_directory;  // below which tiers lie, and what is compared with them
  std::string json_path;
  std::string report_path;
  std::vector<std::string> from;  // earlier results, instead of measuring

  CompareOptions() {
    workload.benchmarks = {"fillrandom", "readrandom", "readseq", "seekrandom", "ycsb-a", "ycsb-c"};
  }
};

Status Validate(const CompareOptions& options) {
  if (Status status = options.workload.Validate(); !status.ok()) return status;
  if (options.runs < 1) return Status::InvalidArgument("--runs must be at least 1");
  if (!options.json_path.empty()) {
    if (Status status = CheckWritable("--json", options.json_path); !status.ok()) return status;
  }
  if (!options.report_path.empty()) {
    if (Status status = CheckWritable("--report", options.report_path); !status.ok()) return status;
  }
  const std::vector<std::string> known = EngineNames();
  for (const std::string& engine : options.engines) {
    if (std::find(known.begin(), known.end(), engine) != known.end()) continue;
    return Status::InvalidArgument(
        fmt::format("--engines: '{}' is not in this build, which has {}; 'make setup' installs the "
                    "libraries of the others",
                    engine, fmt::join(known, ", ")));
  }
  return Status::OK();
}

/// Memory of this process that no file backs, in bytes: what a store takes beside its data.
uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::stoull(line.substr(8)) * 1024;
  }
  return 0;
}

void WriteAll(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    // The parent is gone; nobody would read the rest.
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

void AddResult(const BenchmarkResult& result, const WorkloadOptions& options,
               nlohmann::json* results) {
  fmt::print("  {}\n", FormatResult(result));
  if (options.histogram) fmt::print("{}", result.Latency().ToTable());
  std::fflush(stdout);
  results->push_back(ResultToJson(result));
  results->back()["anonymous_bytes"] = AnonymousBytes();
}

/// A child's part: measures one store and writes the run as JSON.
int MeasureOne(const std::string& name, const WorkloadOptions& options,
               const std::string& directory, int descriptor) {
  const std::unique_ptr<KvEngine> engine = MakeEngine(name);
  nlohmann::json run = {{"engine", name}, {"results", nlohmann::json::array()}};
  Runner runner(*engine, options, directory);
  const Status status = runner.Run(
      [&](const BenchmarkResult& result) { AddResult(result, options, &run["results"]); });
  if (!status.ok()) return Fail(status.message());
  run["version"] = engine->version();
  run["parameters"] = engine->parameters();
  run["caveat"] = engine->caveat();
  WriteAll(descriptor, run.dump());
  return 0;
}

/// Of what another process has left.
WorkloadOptions OptionsOfExisting(const WorkloadOptions& options, const char* benchmark) {
  WorkloadOptions existing = options;
  existing.benchmarks = {benchmark};
  existing.use_existing_db = true;
  existing.settle = false;
  return existing;
}

/// A child's part: overwrites half of the records, and dies before anything of it has settled.
int OverwriteAndDie(const std::string& name, const WorkloadOptions& options,
                    const std::string& directory) {
  const std::unique_ptr<KvEngine> engine = MakeEngine(name);
  WorkloadOptions writes = OptionsOfExisting(options, "overwrite");
  writes.duration = 0;
  writes.reads = std::max<uint64_t>(1, options.num / 2);
  Runner runner(*engine, writes, directory);
  const Status status =
      runner.Run([](const BenchmarkResult&) { (void)::kill(::getpid(), SIGKILL); });
  return Fail(status.message());
}

/// A child's part: opens what was killed, and scans it, which checks that all is there. Writes two
/// results as JSON.
int MeasureOpen(const std::string& name, const WorkloadOptions& options,
                const std::string& directory, int descriptor) {
  const std::unique_ptr<KvEngine> engine = MakeEngine(name);
  nlohmann::json results = nlohmann::json::array();
  const WorkloadOptions reads = OptionsOfExisting(options, "readseq");
  Runner runner(*engine, reads, directory);
  const MachineMoment before = LookAtMachine();
  const Status status = runner.Run([&](const BenchmarkResult& scan) {
    BenchmarkResult open;
    open.name = "open-after-kill";
    open.seconds = runner.open_seconds();
    open.totals.operations = 1;
    open.totals.latency[static_cast<size_t>(OperationKind::kRead)].Record(
        static_cast<uint64_t>(open.seconds * 1e9));
    open.load = LoadBetween(before, LookAtMachine());
    AddResult(open, options, &results);
    BenchmarkResult renamed = scan;
    renamed.name = "readseq-after-kill";
    AddResult(renamed, options, &results);
  });
  if (!status.ok()) return Fail(status.message());
  WriteAll(descriptor, results.dump());
  return 0;
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : options_(options) {}

  int Run() {
    ChooseDirectory();
    PrintHeader();
    nlohmann::json runs = nlohmann::json::array();
    for (int run = 0; run < options_.runs; ++run) {
      for (const std::string& engine : options_.engines) {
        nlohmann::json result;
        if (int code = RunOnce(engine, run, &result); code != 0) return code;
        runs.push_back(std::move(result));
      }
    }
    return Report(std::move(runs));
  }

 private:
  void ChooseDirectory() {
    WorkloadOptions& workload = options_.workload;
    // Each run's data is removed before the next starts; merging may need it more than once.
    const uint64_t bytes =
        6 * workload.num * (workload.key_size + workload.value_size + 64) + (256u << 20);
    base_ = options_.directory.empty() ? ChooseScratchBase(bytes)
                                       : ScratchBase{options_.directory, "--dir"};
    machine_ = MachineToJson(base_.path);
    // Memory needs no flushes and braid would skip them on tmpfs; a comparison should not.
    if (workload.force_media_class.empty() && machine_.at("filesystem") == "tmpfs") {
      workload.force_media_class = "cache_line";
    }
    if (workload.pool_share == 0) return;
    // Not in memory, which the choice above prefers.
    std::error_code error;
    tier_base_ = options_.tier_directory.empty()
                     ? std::filesystem::temp_directory_path(error).string()
                     : options_.tier_directory;
    if (error) tier_base_ = "/tmp";
    machine_["tier_filesystem"] = MachineToJson(tier_base_).at("filesystem");
  }

  void PrintHeader() {
    const WorkloadOptions& workload = options_.workload;
    fmt::print("{}\n", FormatMachine(machine_));
    fmt::print(
        "{} records of {} + {} bytes, {} threads, {} runs of each store, interleaved; data in "
        "{} ({})\n",
        workload.num, workload.key_size, workload.value_size, workload.threads, options_.runs,
        base_.path, base_.reason);
    if (!workload.force_media_class.empty()) {
      fmt::print("braid takes the medium as class {} (forced){}\n", workload.force_media_class,
                 workload.force_media_class == "cache_line"
                     ? ": it pays for every cache line flush that persistent memory needs"
                     : "");
    }
    if (workload.pool_share != 0) {
      fmt::print(
          "all records are {} times what braid's pool may hold; its tier, and the files of the "
          "others, lie in {} ({}), which the system caches in DRAM that is left: for all alike\n",
          workload.pool_share, tier_base_, machine_.at("tier_filesystem").get<std::string>());
    }
    if (!workload.emulate_pmem.empty()) {
      fmt::print("{}\n", DescribeEmulation(workload.emulate_pmem));
    }
    fmt::print("{}\n", workload.sync
                           ? "Writes are synced by every store."
                           : "Writes of the other stores survive a crash of the process, not of "
                             "the machine; braid's survive what its media class says.");
    fmt::print("{}\n", ResultLegend());
  }

  int RunOnce(const std::string& engine, int run, nlohmann::json* result) {
    Result<ScratchDirectory> scratch = ScratchDirectory::Create(base_.path);
    if (!scratch.ok()) return Fail(scratch.status().message());
    fmt::print("{} (run {} of {})\n", engine, run + 1, options_.runs);
    const std::string directory = scratch->path() + "/db";
    WorkloadOptions workload = options_.workload;
    std::optional<ScratchDirectory> tier;
    if (workload.pool_share != 0) {
      Result<ScratchDirectory> made = ScratchDirectory::Create(tier_base_);
      if (!made.ok()) return Fail(made.status().message());
      tier.emplace(std::move(made).value());
      workload.tier_directory = tier->path() + "/tier";
    }
    const int code = InChild(
        engine, [&](int descriptor) { return MeasureOne(engine, workload, directory, descriptor); },
        result);
    if (code != 0) return code;
    (*result)["run"] = run;
    return workload.kill_at_end ? RunKilled(engine, workload, directory, result) : 0;
  }

  /// Adds the results of a store that was killed.
  int RunKilled(const std::string& engine, const WorkloadOptions& workload,
                const std::string& directory, nlohmann::json* result) {
    const Result<ChildOutcome> killed =
        RunInChild([&](int) { return OverwriteAndDie(engine, workload, directory); });
    if (!killed.ok()) return Fail(killed.status().message());
    if (killed.value().interrupted) return kExitInterrupted;
    if (killed.value().signal != SIGKILL) return std::max(killed.value().exit_code, 1);
    nlohmann::json results;
    const int code = InChild(
        engine,
        [&](int descriptor) { return MeasureOpen(engine, workload, directory, descriptor); },
        &results);
    for (nlohmann::json& one : results) (*result)["results"].push_back(std::move(one));
    return code;
  }

  /// Exit code; what `body` has written as JSON.
  static int InChild(const std::string& engine, const std::function<int(int descriptor)>& body,
                     nlohmann::json* written) {
    const Result<ChildOutcome> outcome = RunInChild(body);
    if (!outcome.ok()) return Fail(outcome.status().message());
    const ChildOutcome& child = outcome.value();
    if (child.interrupted) return kExitInterrupted;
    if (child.signal != 0) {
      return Fail(fmt::format("{} died of signal {}; leave it out with --engines to go on", engine,
                              child.signal));
    }
    if (child.exit_code != 0) return child.exit_code;
    *written = nlohmann::json::parse(child.output, nullptr, false);
    return written->is_discarded() ? Fail(engine + " ended without a result") : 0;
  }

  int Report(nlohmann::json runs) {
    nlohmann::json report = {{"schema", "braid-compare/1"},
                             {"machine", machine_},
                             {"parameters", OptionsToJson(options_.workload)},
                             {"summary", SummarizeRuns(runs, options_.engines)}};
    report["parameters"]["runs"] = options_.runs;
    report["parameters"]["scenario"] = options_.scenario;
    report["parameters"]["engines"] = options_.engines;
    for (auto& run : runs) {
      const std::string engine = run.at("engine").get<std::string>();
      for (const char* fact : {"version", "parameters", "caveat"}) {
        report["engines"][engine][fact] = run.at(fact);
        run.erase(fact);
      }
    }
    fmt::print("{}\n", FormatSummary(report["summary"], options_.engines));
    report["goals"] = JudgeGoals(report);
    for (const nlohmann::json& goal : report["goals"]) fmt::print("{}\n", FormatGoal(goal));
    for (const std::string& engine : options_.engines) {
      const nlohmann::json& facts = report["engines"][engine];
      fmt::print("{} {}: {}\n", engine, facts["version"].get<std::string>(),
                 facts["parameters"].get<std::string>());
      const auto caveat = facts["caveat"].get<std::string>();
      if (!caveat.empty()) fmt::print("  note: {}\n", caveat);
    }
    KeepOneSeries(&runs);
    report["runs"] = std::move(runs);
    return WriteFiles(report);
  }

  /// A series over time is drawn of one run of each store, the one that took the median time; the
  /// others are left out of the file.
  void KeepOneSeries(nlohmann::json* runs) const {
    for (const std::string& engine : options_.engines) {
      std::vector<std::pair<double, nlohmann::json*>> results;
      for (nlohmann::json& run : *runs) {
        if (run.at("engine") != engine) continue;
        for (nlohmann::json& result : run.at("results")) {
          if (!result.contains("series")) continue;
          const double settling = result.at("settle_seconds").is_number()
                                      ? result.at("settle_seconds").get<double>()
                                      : 0.0;
          results.emplace_back(result.at("seconds").get<double>() + settling, &result);
        }
      }
      std::sort(results.begin(), results.end());
      for (size_t i = 0; i < results.size(); ++i) {
        if (i != (results.size() - 1) / 2) results[i].second->erase("series");
      }
    }
  }

  int WriteFiles(const nlohmann::json& report) const {
    Status status;
    if (!options_.json_path.empty()) {
      status = WriteFile(options_.json_path, report.dump(1) + "\n");
      if (!status.ok()) return Fail(status.message());
    }
    if (options_.report_path.empty()) return 0;
    const Result<std::string> page = RenderHtmlReport({report});
    if (!page.ok()) return Fail(page.status().message());
    status = WriteFile(options_.report_path, page.value());
    return status.ok() ? 0 : Fail(status.message());
  }

  CompareOptions options_;
  ScratchBase base_;
  std::string tier_base_;
  nlohmann::json machine_;
};

/// All designs, the default first, and LevelDB where this build has it.
std::vector<std::string> DesignsAndYardstick() {
  std::vector<std::string> names = {"braid"};
  for (std::string& name : DesignEngineNames()) names.push_back(std::move(name));
  if (MakeEngine("leveldb") != nullptr) names.emplace_back("leveldb");
  return names;
}

/// Makes the report of results that --json has written before.
int ReportFrom(const CompareOptions& options) {
  if (options.report_path.empty()) return Fail("--from needs --report FILE.html, the page to make");
  if (const Status status = CheckWritable("--report", options.report_path); !status.ok()) {
    return Fail(status.message());
  }
  const Result<std::vector<nlohmann::json>> documents = ReadJsonFiles("--from", options.from);
  if (!documents.ok()) return Fail(documents.status().message());
  const Result<std::string> page = RenderHtmlReport(documents.value());
  if (!page.ok()) return Fail(page.status().message());
  const Status written = WriteFile(options.report_path, page.value());
  return written.ok() ? 0 : Fail(written.message());
}

int Main(int argc, char** argv) {
  CompareOptions options;
  CLI::App app("Runs one workload on braid and on other stores, interleaved, and compares.",
               "braid-compare");
  AddWorkloadFlags(app, &options.workload);
  std::string scenarios;
  for (const Scenario& scenario : AllScenarios()) {
    scenarios += "; " + scenario.name + ": " + scenario.summary;
  }
  app.add_option("--scenario", options.scenario,
                 "A list of benchmarks and a state of the store, instead of --benchmarks and "
                 "--settle" +
                     scenarios)
      ->excludes("--benchmarks")
      ->excludes("--settle");
  const CLI::Option* const engines =
      app.add_option("--engines", options.engines,
                     "Which stores, in this order; of the scenario designs all designs and "
                     "LevelDB")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str();
  app.add_option("--runs", options.runs, "Runs of each store; medians are compared")
      ->capture_default_str();
  app.add_option("--dir,--db", options.directory,
                 "Folder for the data; default: $BRAID_TMP, else /dev/shm when it has room, else "
                 "the system's temporary folder. What the runs make there is removed");
  app.add_option("--tier_dir", options.tier_directory,
                 "Folder on a block device, of a scenario with a tier; default: the system's "
                 "temporary folder. What the runs make there is removed");
  app.add_option("--json", options.json_path, "Write everything to this file");
  app.add_option("--report", options.report_path,
                 "Write a page with plots to this file (HTML): ratios, rates over time, latencies");
  bool list_engines = false;
  app.add_flag("--list_engines", list_engines, "Print the stores of this build, a line each");
  app.add_option("--from", options.from,
                 "Measure nothing: make the --report of these earlier results (--json)")
      ->delimiter(',');
  app.footer(
      "Every value that is read is checked; a wrong or missing one ends the run with exit code 2.\n"
      "On tmpfs braid runs with --force_media_class=cache_line, so that it pays for flushes, "
      "unless\n"
      "the flag says otherwise.");
  // A script's flags can be set anew behind them; lists grow.
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() != 1) continue;
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  CLI11_PARSE(app, argc, argv);
  if (list_engines) {
    fmt::print("{}\n", fmt::join(EngineNames(), "\n"));
    return 0;
  }
  if (!options.from.empty()) return ReportFrom(options);
  if (!options.scenario.empty()) {
    const Status known = ApplyScenario(options.scenario, &options.workload);
    if (!known.ok()) return Fail(known.message());
    if (engines->empty() && FindScenario(options.scenario)->of_designs) {
      options.engines = DesignsAndYardstick();
    }
  }
  if (const Status status = Validate(options); !status.ok()) return Fail(status.message());
  if (!options.report_path.empty()) options.workload.sample_millis = kReportSampleMillis;
  return Comparison(options).Run();
}

}  // namespace
}  // namespace braid::bench

int main(int argc, char** argv) { return braid::bench::Main(argc, argv); }
