#include "bench/figures/nvskiplist_counts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

extern char** environ;

namespace braid::figures {
namespace {

constexpr uint64_t kRecords = 100'000;

/// The program that is counted, which is built into the same folder as this one.
std::string ProbePath() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "braid-engine-probe").string();
}

/// Runs a program to its end, output to nowhere. Errors: NotSupported when it is not there.
Status RunProgram(const std::vector<std::string>& words, const std::string& output_path) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {1, 2}) {
    posix_spawn_file_actions_addopen(&actions, descriptor, output_path.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    return Status::NotSupported(words[0] + " is not installed; 'make setup' installs it");
  }
  if (error != 0) return Status::IOError(words[0] + ": " + std::strerror(error));
  int state = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &state, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended == child && WIFEXITED(state) && WEXITSTATUS(state) == 0) return Status::OK();
  std::ifstream file(output_path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return Status::IOError(words[0] + " failed: " + text.substr(0, 2000));
}

/// The number behind `name` in cachegrind's summary: "D   refs:      38,114  (28,180 rd ...".
Result<double> NumberBehind(const std::string& log, const std::string& name) {
  const size_t at = log.find(name);
  if (at == std::string::npos) return Status::IOError("cachegrind tells no '" + name + "'");
  std::string digits;
  for (size_t i = at + name.size(); i < log.size() && log[i] != '(' && log[i] != '\n'; ++i) {
    if (log[i] >= '0' && log[i] <= '9') digits += log[i];
  }
  if (digits.empty()) return Status::IOError("cachegrind tells no number for '" + name + "'");
  return std::stod(digits);
}

/// Totals of one run of the probe.
Status CountOnce(const FigureRun& run, const StoreRun& store, uint64_t puts, uint64_t gets,
                 Json* out) {
  Result<bench::ScratchDirectory> scratch = run.Scratch();
  if (!scratch.ok()) return scratch.status();
  const std::string log = scratch->path() + "/log";
  std::vector<std::string> words = {"valgrind",
                                    "--tool=cachegrind",
                                    "--cache-sim=yes",
                                    "--D1=32768,8,64",
                                    "--LL=16777216,16,64",
                                    "--cachegrind-out-file=/dev/null",
                                    "--log-file=" + log,
                                    ProbePath(),
                                    "--engine=" + store.engine,
                                    "--design=" + store.workload.design,
                                    "--dir=" + scratch->path() + "/db",
                                    "--puts=" + std::to_string(puts),
                                    "--gets=" + std::to_string(gets),
                                    "--seed=" + std::to_string(run.seed())};
  for (const std::string& setting : store.workload.settings) words.push_back("--set=" + setting);
  if (const Status s = RunProgram(words, scratch->path() + "/output"); !s.ok()) return s;
  std::ifstream file(log);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Result<double> references = NumberBehind(text, "D refs:");
  const Result<double> misses = NumberBehind(text, "D1  misses:");
  // Older versions write the name in three columns.
  const Result<double> wide = references.ok() ? references : NumberBehind(text, "D   refs:");
  if (!wide.ok()) return wide.status();
  if (!misses.ok()) return misses.status();
  *out = {{"references", wide.value()}, {"misses", misses.value()}};
  return Status::OK();
}

Touched Difference(const Json& more, const Json& less, uint64_t operations) {
  const auto each = [&](const char* name) {
    return (more.at(name).get<double>() - less.at(name).get<double>()) /
           static_cast<double>(operations);
  };
  return {each("references"), each("misses")};
}

Status CountStore(FigureRun& run, const StoreRun& store, bool gets, CountedStore* counted) {
  const uint64_t records = run.Scaled(kRecords);
  Json totals = Json::array();
  const std::vector<std::pair<uint64_t, uint64_t>> phases =
      gets ? std::vector<std::pair<uint64_t, uint64_t>>{{records, 0}, {records, records}}
           : std::vector<std::pair<uint64_t, uint64_t>>{{0, 0}, {records, 0}};
  for (const auto& [puts, asked] : phases) {
    Json total;
    const std::string label =
        fmt::format("{}, {} puts, {} gets, counted", store.label, puts, asked);
    const FigureRun::ChildBody body = [&, puts = puts, asked = asked](Json* out) {
      return CountOnce(run, store, puts, asked, out);
    };
    if (const Status s = run.InChild(label, body, &total); !s.ok()) return s;
    run.AddRun({{"label", label},
                {"engine", store.engine},
                {"totals", total},
                {"settings", store.workload.settings},
                {"design", store.workload.design}});
    totals.push_back(total);
  }
  counted->name = store.label;
  (gets ? counted->get : counted->put) = Difference(totals[1], totals[0], records);
  return Status::OK();
}

}  // namespace

Status CountTouched(FigureRun& run, const std::vector<Variant>& variants, bool gets,
                    std::vector<CountedStore>* stores) {
  const bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 8, 8);
  std::vector<StoreRun> runs;
  for (const Variant& variant : variants) runs.push_back(StoreOf(variant, workload));
  runs.push_back(StoreOf({"public API alone", "braid", {}}, workload));
  runs.back().workload.design = "blackhole";
  CountedStore loop;
  StoreRun none;
  none.label = "no store";
  none.engine = "none";
  if (const Status s = CountStore(run, none, gets, &loop); !s.ok()) return s;
  for (const StoreRun& store : runs) {
    CountedStore counted;
    if (const Status s = CountStore(run, store, gets, &counted); !s.ok()) return s;
    for (const auto& [mine, its] :
         {std::pair{&counted.put, &loop.put}, {&counted.get, &loop.get}}) {
      mine->references -= its->references;
      mine->misses -= its->misses;
    }
    stores->push_back(counted);
  }
  return Status::OK();
}

}  // namespace braid::figures
