// braid-figures: runs the figures of the papers and writes one JSON a figure.
//
// A figure whose JSON is there already, from the same commit with the same settings, is not run
// again. One that needs a part which this build lacks is skipped and says so.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "bench/figures/all_figures.h"
#include "bench/figures/frame/figure_run.h"
#include "bench/harness/report.h"
#include "src/base/clock.h"

namespace braid::figures {
namespace {

constexpr int kExitError = 2;

struct Command {
  FigureSettings settings;
  std::vector<std::string> wanted;
  std::string out = "build/figures";
  bool again = false;
  bool list = false;
};

int Fail(std::string_view message) {
  fmt::print(stderr, "braid-figures: {}\n", message);
  return kExitError;
}

Result<std::vector<FigureSpec>> Choose(const std::vector<std::string>& wanted) {
  std::vector<FigureSpec> all = AllFigures();
  if (wanted.empty()) return all;
  std::vector<FigureSpec> chosen;
  for (const std::string& id : wanted) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const FigureSpec& f) { return f.id == id; });
    if (found == all.end()) {
      return Status::InvalidArgument("there is no figure '" + id + "'; --list names all");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

/// Whether `path` holds a figure that was measured with the same settings.
bool IsThere(const std::string& path, const Json& key) {
  std::ifstream file(path);
  if (!file) return false;
  const Json json = Json::parse(file, nullptr, false);
  return !json.is_discarded() && json.value("state", "") == "measured" && json.contains("key") &&
         json.at("key") == key;
}

void PrintChecks(const Json& figure) {
  for (const Json& check : figure.at("checks")) {
    const Json& measured = check.at("measured");
    fmt::print("    {}: {} ({}) -> {}\n", check.at("statement").get<std::string>(),
               measured.is_null() ? std::string("not measured")
                                  : fmt::format("{:.3g}", measured.get<double>()),
               check.at("rule").get<std::string>(), check.at("verdict").get<std::string>());
  }
}

/// 0, or the exit code that ends the run.
int RunOne(const FigureSpec& spec, const Command& command, size_t number, size_t total) {
  FigureRun run(spec, command.settings);
  const std::string path = command.out + "/" + spec.id + ".json";
  if (!command.again && IsThere(path, run.Key())) {
    fmt::print("[{}/{}] {}: there already ({})\n", number, total, spec.id, path);
    return 0;
  }
  fmt::print("[{}/{}] {}: {}\n", number, total, spec.id, spec.title);
  if (!run.emulate_pmem().empty()) {
    fmt::print("  {}: {}\n", spec.id, bench::DescribeEmulation(run.emulate_pmem()));
  }
  const uint64_t begin = NowNanos();
  const Status status = spec.run(run);
  if (!status.ok() && !status.IsNotSupported()) {
    if (status.code() == Status::Code::kAborted) return bench::kExitInterrupted;
    return Fail(spec.id + ": " + status.ToString());
  }
  Json json = run.ToJson(status);
  json["seconds"] = static_cast<double>(NowNanos() - begin) / 1e9;
  if (const Status written = bench::WriteFile(path, json.dump(1) + "\n"); !written.ok()) {
    return Fail(written.message());
  }
  if (!status.ok()) {
    fmt::print("  {}: skipped: {}\n", spec.id, status.message());
    return 0;
  }
  PrintChecks(json);
  fmt::print("  {}: {} ({:.0f} s)\n", spec.id, json.at("verdict").get<std::string>(),
             json.at("seconds").get<double>());
  return 0;
}

int Run(const Command& command) {
  const Result<std::vector<FigureSpec>> chosen = Choose(command.wanted);
  if (!chosen.ok()) return Fail(chosen.status().message());
  if (!(command.settings.scale > 0)) return Fail("--scale must be above 0");
  if (command.list) {
    for (const FigureSpec& spec : chosen.value()) fmt::print("{:<14} {}\n", spec.id, spec.title);
    return 0;
  }
  if (command.settings.emulate_pmem != "off") {
    const auto emulation = bench::EmulationSettings(command.settings.emulate_pmem);
    if (!emulation.ok()) return Fail(emulation.status().message());
  }
  std::error_code error;
  std::filesystem::create_directories(command.out, error);
  if (error) return Fail("can't make " + command.out + ": " + error.message());
  size_t number = 0;
  int worst = 0;
  for (const FigureSpec& spec : chosen.value()) {
    const int code = RunOne(spec, command, ++number, chosen.value().size());
    if (code == bench::kExitInterrupted) return code;
    worst = std::max(worst, code);  // a figure that fails does not take the others with it
  }
  return worst;
}

int Main(int argc, char** argv) {
  Command command;
  CLI::App app("Runs figures of the papers that braid builds on, and judges their claims.",
               "braid-figures");
  app.add_option("--figure", command.wanted, "Which, like listdb-29 (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--scale", command.settings.scale,
                 "Records and operations, as a factor of the default sizes")
      ->capture_default_str();
  app.add_option("--out", command.out, "Folder of the JSON files")->capture_default_str();
  app.add_option("--dir", command.settings.directory,
                 "Folder for the data; default: $BRAID_TMP, else /dev/shm when it has room, else "
                 "the system's temporary folder. What the runs make there is removed");
  app.add_option("--emulate-pmem", command.settings.emulate_pmem,
                 "How figures slow the medium down where DRAM would hide the effect; off: not")
      ->capture_default_str();
  app.add_option("--seed", command.settings.seed, "Seed of orders and choices")
      ->capture_default_str();
  app.add_flag("--again", command.again, "Run figures again whose results are there");
  app.add_flag("--list", command.list, "List the figures");
  app.footer("bench/figures/plot.py draws the results, bench/figures/page.py writes the page.");
  CLI11_PARSE(app, argc, argv);
  return Run(command);
}

}  // namespace
}  // namespace braid::figures

int main(int argc, char** argv) { return braid::figures::Main(argc, argv); }
