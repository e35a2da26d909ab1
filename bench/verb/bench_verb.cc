// braid bench [POOL]: measures a workload on braid alone. A verb of the command that lies beside
// the harness it runs, so that the command's other verbs know nothing of benchmarks.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/benchmarks.h"
#include "bench/harness/html_report.h"
#include "bench/harness/report.h"
#include "bench/harness/runner.h"
#include "bench/harness/scratch.h"
#include "bench/verb/publishing_engine.h"
#include "tools/pool_flags.h"
#include "tools/stats_file.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

namespace fs = std::filesystem;

class BenchVerb final : public Verb {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override { return "measure a workload and check what is read"; }
  std::string description() const override {
    return "Measures a store with the workloads of db_bench and YCSB, checks what it reads, and "
           "prints throughput, latencies and what writing costs.";
  }

  std::vector<std::string> Choices(const std::string& option) const override {
    std::vector<std::string> names;
    if (option != "--benchmarks") return names;
    for (const bench::BenchmarkSpec& spec : bench::AllBenchmarks()) names.push_back(spec.name);
    return names;
  }

  void Configure(CLI::App& app) override {
    app.add_option("POOL,--db", pool_,
                   "where to make the pool; default: a temporary folder (BRAID_TMP says where)")
        ->type_name("");
    bench::AddWorkloadFlags(app, &options_);
    app.add_flag("--use_existing_db", options_.use_existing_db,
                 "Run on the pool that is there, and keep it");
    app.add_flag("--keep", keep_, "Keep the pool that the run made");
    app.add_option("--json", json_path_, "Write the results and all parameters to this file")
        ->type_name("FILE.json");
    app.add_option(
           "--report", report_path_,
           "Write a page with plots to this file (HTML): throughput of put, flush and merge "
           "over time, latency curves, what writing costs")
        ->type_name("FILE.html");
    app.add_option("--peers", peers_paths_,
                   "Show on the --report page how this run compares with the other stores of these "
                   "earlier results of braid-compare --json")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("FILE.json");
    app.add_flag("--publish-stats", publish_stats_, "Let 'braid top POOL' watch this command");
    app.footer(
        "Names of flags and benchmarks are those of db_bench. Every value that is read is "
        "checked;\n"
        "a wrong or missing one ends the run with exit code 2. docs/evidence/benchmarking.md\n"
        "explains the columns. braid-compare runs the same workloads on other stores, too.");
  }

  int Run() override {
    if (const Status status = options_.Validate(); !status.ok()) return Fail(status);
    if (const Status status = CheckPool(); !status.ok()) return Fail(status);
    if (const Status status = CheckFiles(); !status.ok()) return Fail(status);
    std::optional<bench::ScratchDirectory> scratch;
    if (pool_.empty()) {
      const bench::ScratchBase base = bench::ChooseScratchBase(ExpectedBytes());
      Result<bench::ScratchDirectory> made = bench::ScratchDirectory::Create(base.path);
      if (!made.ok()) return Fail(made.status());
      scratch.emplace(std::move(made).value());
      where_ = "a temporary folder in " + base.path + " (" + base.reason + ")";
      pool_ = scratch->path() + "/pool";
    } else {
      where_ = pool_;
    }
    // In a process of its own, so that the pool is removed even when the run is interrupted.
    const Result<bench::ChildOutcome> outcome =
        bench::RunInChild([this](int) { return Measure(); });
    std::error_code ignored;
    // A child that was killed has left it.
    if (publish_stats_) fs::remove(StatsFilePath(pool_), ignored);
    if (!options_.use_existing_db && !keep_) fs::remove_all(pool_, ignored);
    if (keep_ && scratch) scratch->Release();
    if (!outcome.ok()) return Fail(outcome.status());
    if (outcome.value().interrupted) return bench::kExitInterrupted;
    if (outcome.value().signal != 0) {
      return Fail(
          fmt::format("the measuring process died of signal {}: please report it with the "
                      "command line",
                      outcome.value().signal));
    }
    return outcome.value().exit_code;
  }

 private:
  uint64_t ExpectedBytes() const {
    return 6 * options_.num * (options_.key_size + options_.value_size + 64) + (256u << 20);
  }

  Status CheckPool() const {
    if (pool_.empty() && options_.use_existing_db) {
      return Status::InvalidArgument("--use_existing_db needs POOL, the pool to run on");
    }
    if (pool_.empty() || options_.use_existing_db || !fs::exists(pool_)) return Status::OK();
    return Status::InvalidArgument(pool_ +
                                   " is there already, and a benchmark would overwrite it: "
                                   "choose another path, or pass --use_existing_db to run on it");
  }

  Status CheckFiles() {
    if (!peers_paths_.empty()) {
      if (report_path_.empty()) {
        return Status::InvalidArgument(
            "--peers needs --report FILE.html, the page to show them on");
      }
      const auto compared = bench::ReadJsonFiles("--peers", peers_paths_);
      if (!compared.ok()) return compared.status();
      Result<nlohmann::json> peers =
          bench::PeersOf(bench::OptionsToJson(options_), compared.value());
      if (!peers.ok()) return peers.status();
      peers_ = std::move(peers).value();
    }
    if (!report_path_.empty()) {
      options_.sample_millis = bench::kReportSampleMillis;
      Status status = bench::CheckWritable("--report", report_path_);
      if (!status.ok()) return status;
    }
    return json_path_.empty() ? Status::OK() : bench::CheckWritable("--json", json_path_);
  }

  Status WriteFiles(const nlohmann::json& json) const {
    if (!json_path_.empty()) {
      Status written = bench::WriteFile(json_path_, json.dump(2) + "\n");
      if (!written.ok()) return written;
    }
    if (report_path_.empty()) return Status::OK();
    nlohmann::json document = json;
    if (!peers_.empty()) document["peers"] = peers_;
    const Result<std::string> page = bench::RenderHtmlReport({document});
    return page.ok() ? bench::WriteFile(report_path_, page.value()) : page.status();
  }

  int Measure() const {
    std::unique_ptr<bench::KvEngine> engine = bench::MakeBraidEngine();
    if (publish_stats_) engine = MakePublishingEngine(std::move(engine));
    nlohmann::json json = {{"schema", "braid-bench/1"},
                           {"parameters", bench::OptionsToJson(options_)},
                           {"results", nlohmann::json::array()}};
    const fs::path parent = fs::absolute(pool_).parent_path();
    json["machine"] = bench::MachineToJson(parent.string());
    fmt::print("{}\n{} records of {} + {} bytes in {}\n{}\n", bench::FormatMachine(json["machine"]),
               options_.num, options_.key_size, options_.value_size, where_, bench::ResultLegend());
    if (publish_stats_) fmt::print("braid top '{}' shows it live\n", EscapeText(pool_));
    std::fflush(stdout);
    if (!options_.emulate_pmem.empty()) {
      fmt::print("note: {}\n", bench::DescribeEmulation(options_.emulate_pmem));
    }
    bench::Runner runner(*engine, options_, pool_);
    bool told = false;
    const Status status = runner.Run([&](const bench::BenchmarkResult& result) {
      if (!told) fmt::print("braid {}: {}\n", engine->version(), engine->parameters());
      told = true;
      fmt::print("{}\n", bench::FormatResult(result));
      if (options_.histogram) fmt::print("{}", result.Latency().ToTable());
      std::fflush(stdout);
      json["results"].push_back(bench::ResultToJson(result));
    });
    json["engine"] = {{"name", engine->name()},
                      {"version", engine->version()},
                      {"parameters", engine->parameters()}};
    if (!status.ok()) return Fail(status);
    const Status written = WriteFiles(json);
    return written.ok() ? kExitOk : Fail(written);
  }

  bench::WorkloadOptions options_;
  std::string pool_;
  std::string where_;
  std::string json_path_;
  std::string report_path_;
  std::vector<std::string> peers_paths_;
  nlohmann::json peers_;
  bool keep_ = false;
  bool publish_stats_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeBenchVerb() { return std::make_unique<BenchVerb>(); }

}  // namespace braid::tools
