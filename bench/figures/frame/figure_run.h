// Purpose: one run of a figure: measures stores, each in a process of its own on an empty folder
// that is removed afterwards, and collects panels, checks and notes into the figure's JSON.
// Thread safety: one thread.
// Persistence: the scratch folders, while they are used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/figures/frame/figure.h"
#include "bench/harness/scratch.h"
#include "bench/harness/workload_options.h"

namespace braid::figures {

/// How all figures are run.
struct FigureSettings {
  double scale = 1;
  uint64_t seed = 1;
  std::string directory;                                     ///< of scratch data; empty: chosen
  std::string emulate_pmem = "write_ns=350,bandwidth=5000";  ///< "off": nowhere
};

/// A store, how it is opened, and what is run on it.
struct StoreRun {
  std::string label;  ///< in progress and JSON
  std::string engine = "braid";
  bench::WorkloadOptions workload;
};

class FigureRun {
 public:
  FigureRun(const FigureSpec& spec, const FigureSettings& settings);

  /// `base` operations, records or bytes at this run's scale, but at least `least`.
  uint64_t Scaled(uint64_t base, uint64_t least = 1000) const;
  /// A workload of `num` records as all figures start from: class cache_line on memory, no wait for
  /// background work that the figure does not ask for.
  bench::WorkloadOptions Workload(uint64_t num, size_t key_size, size_t value_size) const;
  /// Processors this process may use.
  int cores() const { return cores_; }
  /// Empty when this figure runs on the medium as it is.
  const std::string& emulate_pmem() const { return emulate_pmem_; }
  uint64_t seed() const { return settings_.seed; }

  /// Runs it. `result` gets {"engine", "version", "parameters", "results": [...]}, each result as
  /// ResultToJson has it. Errors: NotSupported where a part of braid is missing, Corruption where
  /// the store gave a wrong answer.
  Status Measure(const StoreRun& run, Json* result);

  /// NotSupported when braid lacks a part that `settings` ask for.
  Status CheckParts(const std::vector<std::string>& settings);

  /// What runs in the child process: fills `out`, which must stay small enough for memory.
  using ChildBody = std::function<Status(Json* out)>;
  /// Runs `body` in a child, so that a crash or a stop of the figure leaves nothing behind. The
  /// child ends without destructors: a store that `body` does not close is left as if killed.
  Status InChild(const std::string& label, const ChildBody& body, Json* out);
  /// A folder for one store's data.
  Result<bench::ScratchDirectory> Scratch() const;
  /// Has `braid`, `leveldb`, ... in this build?
  static bool HasEngine(std::string_view name);

  void AddPanel(Panel panel) { panels_.push_back(std::move(panel)); }
  void AddCheck(Check check) { checks_.push_back(std::move(check)); }
  /// For whoever reads the figure.
  void AddNote(const std::string& note) { notes_.push_back(note); }
  /// Adds facts of a run that Measure did not make.
  void AddRun(Json run) { runs_.push_back(std::move(run)); }
  /// A line of progress on the terminal.
  void Say(std::string_view line) const;

  /// The figure with its verdict; `status` says how its run ended.
  Json ToJson(const Status& status) const;
  /// What the result depends on: a figure whose JSON has the same need not run again.
  Json Key() const;

 private:
  const FigureSpec& spec_;
  FigureSettings settings_;
  std::string emulate_pmem_;
  bench::ScratchBase base_;
  Json machine_;
  int cores_ = 1;
  double load_ = 0;  // of the machine when the figure began
  std::vector<Panel> panels_;
  std::vector<Check> checks_;
  std::vector<std::string> notes_;
  Json runs_ = Json::array();
};

/// The result of benchmark `name` in what Measure returned; the first, when it ran several times.
const Json& ResultOf(const Json& run, std::string_view name);
double OpsPerSecond(const Json& run, std::string_view benchmark);

}  // namespace braid::figures
