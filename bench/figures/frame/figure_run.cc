#include "bench/figures/frame/figure_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "bench/engines/engines.h"
#include "bench/harness/report.h"
#include "bench/harness/runner.h"

namespace braid::figures {
namespace {

constexpr uint64_t kRoomBytes = uint64_t{3} << 30;

Status StatusOf(int code, std::string message) {
  switch (static_cast<Status::Code>(code)) {
    case Status::Code::kNotSupported:
      return Status::NotSupported(std::move(message));
    case Status::Code::kCorruption:
      return Status::Corruption(std::move(message));
    case Status::Code::kInvalidArgument:
      return Status::InvalidArgument(std::move(message));
    default:
      return Status::IOError(std::move(message));
  }
}

void WriteAll(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    // The parent is gone; nobody would read the rest.
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

/// A run without its time series, which are in the panels.
Json WithoutSamples(Json run) {
  for (Json& result : run["results"]) result.erase("samples");
  return run;
}

/// The commit, or where none was told when the program was built: results of another program are
/// not taken for its own.
Json ProgramKey(const Json& commit) {
  if (!commit.is_null()) return commit;
  std::error_code error;
  const auto built = std::filesystem::last_write_time("/proc/self/exe", error);
  if (error) return {};
  return std::chrono::duration_cast<std::chrono::seconds>(built.time_since_epoch()).count();
}

}  // namespace

FigureRun::FigureRun(const FigureSpec& spec, const FigureSettings& settings)
    : spec_(spec),
      settings_(settings),
      emulate_pmem_(spec.emulates_pmem && settings.emulate_pmem != "off" ? settings.emulate_pmem
                                                                         : std::string()),
      base_(settings.directory.empty()
                ? bench::ChooseScratchBase(kRoomBytes)
                : bench::ScratchBase{settings.directory, "the folder that was named"}),
      machine_(bench::MachineToJson(base_.path)),
      cores_(std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {
  if (::getloadavg(&load_, 1) != 1) load_ = 0;
}

uint64_t FigureRun::Scaled(uint64_t base, uint64_t least) const {
  return std::max(least,
                  static_cast<uint64_t>(std::llround(static_cast<double>(base) * settings_.scale)));
}

bench::WorkloadOptions FigureRun::Workload(uint64_t num, size_t key_size, size_t value_size) const {
  bench::WorkloadOptions workload;
  workload.num = num;
  workload.key_size = key_size;
  workload.value_size = value_size;
  workload.hash_keys = true;
  workload.seed = settings_.seed;
  workload.settle = false;
  workload.emulate_pmem = emulate_pmem_;
  // Memory needs no flushes and braid would skip them; the papers' medium does need them.
  if (machine_.at("filesystem") == "tmpfs" || !emulate_pmem_.empty()) {
    workload.force_media_class = "cache_line";
  }
  return workload;
}

Result<bench::ScratchDirectory> FigureRun::Scratch() const {
  return bench::ScratchDirectory::Create(base_.path);
}

bool FigureRun::HasEngine(std::string_view name) {
  const std::vector<std::string> names = bench::EngineNames();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status FigureRun::InChild(const std::string& label, const ChildBody& body, Json* out) {
  Say(label);
  const Result<bench::ChildOutcome> outcome = bench::RunInChild([&](int descriptor) {
    Json result;
    const Status status = body(&result);
    const Json message = {{"code", static_cast<int>(status.code())},
                          {"message", std::string(status.message())},
                          {"result", std::move(result)}};
    WriteAll(descriptor, message.dump());
    return 0;
  });
  if (!outcome.ok()) return outcome.status();
  const bench::ChildOutcome& child = outcome.value();
  if (child.interrupted) return Status::Aborted("interrupted");
  if (child.signal != 0) {
    return Status::IOError(fmt::format("{}: the process died of signal {}", label, child.signal));
  }
  Json message = Json::parse(child.output, nullptr, false);
  if (message.is_discarded()) return Status::IOError(label + ": ended without a result");
  const int code = message.at("code").get<int>();
  if (code != 0) {
    return StatusOf(code, label + ": " + message.at("message").get<std::string>());
  }
  *out = std::move(message["result"]);
  return Status::OK();
}

Status FigureRun::Measure(const StoreRun& run, Json* result) {
  if (const Status status = run.workload.Validate(); !status.ok()) return status;
  Result<bench::ScratchDirectory> scratch = Scratch();
  if (!scratch.ok()) return scratch.status();
  const std::string directory = scratch->path() + "/db";
  const ChildBody body = [&](Json* out) {
    const std::unique_ptr<bench::KvEngine> engine = bench::MakeEngine(run.engine);
    if (engine == nullptr) {
      return Status::NotSupported(run.engine + " is not in this build; make setup installs it");
    }
    *out = {{"label", run.label}, {"engine", run.engine}, {"results", Json::array()}};
    bench::Runner runner(*engine, run.workload, directory);
    const Status status = runner.Run([&](const bench::BenchmarkResult& one) {
      (*out)["results"].push_back(bench::ResultToJson(one));
      Say(fmt::format("    {} {:.0f} ops/s", one.name, one.OperationsPerSecond()));
    });
    (*out)["version"] = engine->version();
    (*out)["parameters"] = engine->parameters();
    (*out)["caveat"] = engine->caveat();
    (*out)["workload"] = bench::OptionsToJson(run.workload);
    return status;
  };
  const Status status = InChild(run.label, body, result);
  if (status.ok()) AddRun(WithoutSamples(*result));
  return status;
}

Status FigureRun::CheckParts(const std::vector<std::string>& settings) {
  Result<bench::ScratchDirectory> scratch = Scratch();
  if (!scratch.ok()) return scratch.status();
  bench::WorkloadOptions workload = Workload(1, 8, 8);
  workload.settings = settings;
  const auto body = [&](Json*) {
    const std::unique_ptr<bench::KvEngine> engine = bench::MakeBraidEngine();
    Status s = engine->Open(workload.MakeEngineConfig(scratch->path() + "/db"));
    return s.ok() ? engine->Close() : s;
  };
  Json none;
  return InChild("are all parts there?", body, &none);
}

void FigureRun::Say(std::string_view line) const {
  fmt::print("  {}: {}\n", spec_.id, line);
  std::fflush(stdout);
}

Json FigureRun::Key() const {
  return {{"id", spec_.id},
          {"scale", settings_.scale},
          {"seed", settings_.seed},
          {"emulate_pmem", emulate_pmem_},
          {"program", ProgramKey(machine_.at("commit"))}};
}

Json FigureRun::ToJson(const Status& status) const {
  Json panels = Json::array();
  for (const Panel& panel : panels_) panels.push_back(PanelToJson(panel));
  Json checks = Json::array();
  for (const Check& check : checks_) checks.push_back(CheckToJson(check));
  const bool done = status.ok();
  Json json = {{"schema", "braid-figure/1"},
               {"id", spec_.id},
               {"title", spec_.title},
               {"paper", spec_.paper},
               {"section", spec_.section},
               {"claim", spec_.claim},
               {"setting", spec_.setting},
               {"key", Key()},
               {"state", done ? "measured" : "skipped"},
               {"verdict", done ? AgreementName(JudgeAll(checks_)) : "not judged"}};
  if (!done) json["skipped_because"] = std::string(status.message());
  const bool forced = machine_.at("filesystem") == "tmpfs" || !emulate_pmem_.empty();
  json["parameters"] = {{"machine", machine_},
                        {"medium",
                         {{"filesystem", machine_.at("filesystem")},
                          {"class", forced ? "cache_line, forced" : "as detected"},
                          {"emulated", !emulate_pmem_.empty()},
                          {"emulate_pmem", emulate_pmem_}}},
                        {"load_average", load_},
                        {"scale", settings_.scale},
                        {"seed", settings_.seed}};
  json["panels"] = std::move(panels);
  json["checks"] = std::move(checks);
  json["notes"] = notes_;
  json["runs"] = runs_;
  return json;
}

const Json& ResultOf(const Json& run, std::string_view name) {
  static const Json none = Json::object();
  for (const Json& result : run.at("results")) {
    if (result.at("benchmark") == name) return result;
  }
  return none;
}

double OpsPerSecond(const Json& run, std::string_view benchmark) {
  return ResultOf(run, benchmark).value("ops_per_second", 0.0);
}

}  // namespace braid::figures
