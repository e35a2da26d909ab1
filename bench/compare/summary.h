// What braid-compare makes of its runs: medians and spreads by benchmark and store, tables.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace braid::bench {

/// A number that was measured in several runs.
struct Sample {
  double median = 0;
  double min = 0;
  double max = 0;
};
Sample Summarize(std::vector<double> values);

/// From the runs ({"engine", "run", "results"}): an array of {"benchmark", "position", "engine",
/// "ops_per_second", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns", each
/// {"median", "min", "max"}}, in the order of `engines` within each benchmark. A benchmark that
/// appears twice in a run keeps its places apart by "position".
nlohmann::json SummarizeRuns(const nlohmann::json& runs, const std::vector<std::string>& engines);

/// Operations a second by benchmark and store with the spread, and braid's ratio to each store;
/// then the same for p99.99. For people.
std::string FormatSummary(const nlohmann::json& summary, const std::vector<std::string>& engines);

}  // namespace braid::bench
