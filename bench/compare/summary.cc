#include "bench/compare/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace braid::bench {
namespace {

const char* const kLatencies[] = {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"};

/// What only some results have.
const char* const kOptional[] = {"cpu_ns_per_operation",
                                 "side_writes_per_second",
                                 "ops_per_second_settled",
                                 "settle_seconds",
                                 "slowest_round_share",
                                 "flushed_bytes_per_byte_put",
                                 "busy_share",
                                 "anonymous_bytes",
                                 "rest_bytes_per_live_byte",
                                 "peak_bytes_per_live_byte",
                                 "tier_gets_per_operation",
                                 "tier_gets_cached_per_operation"};
const char* const kOfRounds[] = {"ops_per_second", "p50_ns", "p99_99_ns", "max_ns",
                                 "cpu_ns_per_operation"};

/// A benchmark's place in the list, and its name.
using Row = std::pair<size_t, std::string>;

std::vector<Row> RowsOf(const nlohmann::json& summary) {
  std::vector<Row> rows;
  for (const auto& entry : summary) {
    Row row{entry.at("position").get<size_t>(), entry.at("benchmark").get<std::string>()};
    if (rows.empty() || rows.back() != row) rows.push_back(std::move(row));
  }
  return rows;
}

/// The entry of a row and a store; null when the store has none.
const nlohmann::json* Find(const nlohmann::json& summary, const Row& row,
                           const std::string& engine) {
  for (const auto& entry : summary) {
    if (entry.at("position") == row.first && entry.at("engine") == engine) return &entry;
  }
  return nullptr;
}

double Median(const nlohmann::json& entry, const char* metric) {
  return entry.at(metric).at("median").get<double>();
}

std::string FormatRate(const nlohmann::json& entry) {
  const nlohmann::json& rate = entry.at("ops_per_second");
  return fmt::format("{:.0f} ({:.0f}-{:.0f})", rate.at("median").get<double>() / 1000,
                     rate.at("min").get<double>() / 1000, rate.at("max").get<double>() / 1000);
}

/// Processor time an operation; a row that was measured on a busy machine has a mark.
std::string FormatCost(const nlohmann::json& entry) {
  if (!entry.contains("cpu_ns_per_operation")) return "-";
  const bool busy = entry.contains("busy_share") && Median(entry, "busy_share") >= 0.1;
  return fmt::format("{:.2f}{}", Median(entry, "cpu_ns_per_operation") / 1e3, busy ? " BUSY" : "");
}

/// Gets that came to the tier, an operation, and those that found their record in DRAM; of a store
/// with a tier.
std::string FormatTier(const nlohmann::json& summary, const Row& row) {
  const nlohmann::json* own = Find(summary, row, "braid");
  if (own == nullptr || !own->contains("tier_gets_per_operation")) return {};
  return fmt::format("  {:.3f} tier gets/op, {:.3f} of records in DRAM",
                     Median(*own, "tier_gets_per_operation"),
                     Median(*own, "tier_gets_cached_per_operation"));
}

/// At most half of all took so long, and all but a hundredth.
std::string FormatMiddle(const nlohmann::json& entry) {
  return fmt::format("{:.1f} / {:.1f}", Median(entry, "p50_ns") / 1e3,
                     Median(entry, "p99_ns") / 1e3);
}

std::string FormatLatency(const nlohmann::json& entry) {
  return fmt::format("{:.1f} / {:.1f}", Median(entry, "p99_99_ns") / 1e3,
                     Median(entry, "max_ns") / 1e6);
}

std::string FormatRatios(const nlohmann::json& summary, const Row& row,
                         const std::vector<std::string>& engines) {
  const nlohmann::json* own = Find(summary, row, "braid");
  std::string text;
  for (const std::string& engine : engines) {
    const nlohmann::json* other = engine == "braid" ? nullptr : Find(summary, row, engine);
    if (own == nullptr || other == nullptr || Median(*other, "ops_per_second") <= 0) continue;
    text += fmt::format("  {:.2f} x {}",
                        Median(*own, "ops_per_second") / Median(*other, "ops_per_second"), engine);
  }
  return text;
}

nlohmann::json SampleToJson(const Sample& sample) {
  return {{"median", sample.median}, {"min", sample.min}, {"max", sample.max}};
}

/// The result of a store at a place in a run; null when there is none.
const nlohmann::json* ResultAt(const nlohmann::json& run, size_t position) {
  const nlohmann::json& results = run.at("results");
  return position < results.size() ? &results.at(position) : nullptr;
}

/// The medians of each round over the runs of a store; empty for benchmarks without rounds.
nlohmann::json SummarizeRounds(const nlohmann::json& runs, const std::string& engine,
                               size_t position) {
  std::vector<std::map<std::string, std::vector<double>>> rounds;
  for (const auto& run : runs) {
    const nlohmann::json* result = run.at("engine") == engine ? ResultAt(run, position) : nullptr;
    if (result == nullptr || !result->contains("rounds")) continue;
    const nlohmann::json& measured = result->at("rounds");
    rounds.resize(std::max(rounds.size(), measured.size()));
    for (size_t i = 0; i < measured.size(); ++i) {
      for (const char* key : kOfRounds) {
        rounds[i][key].push_back(measured[i].at(key).get<double>());
      }
    }
  }
  nlohmann::json json = nlohmann::json::array();
  for (const auto& round : rounds) {
    nlohmann::json medians;
    for (const auto& [key, values] : round) medians[key] = Summarize(values).median;
    json.push_back(std::move(medians));
  }
  return json;
}

/// braid's rate over that of `engine` in each run of both; null for braid itself.
nlohmann::json RatiosOfRuns(const nlohmann::json& runs, const std::string& engine,
                            size_t position) {
  std::map<int, double> own;
  std::map<int, double> other;
  for (const auto& run : runs) {
    const nlohmann::json* result = ResultAt(run, position);
    if (result == nullptr) continue;
    const auto rate = result->at("ops_per_second").get<double>();
    if (run.at("engine") == "braid") own[run.value("run", 0)] = rate;
    if (run.at("engine") == engine) other[run.value("run", 0)] = rate;
  }
  std::vector<double> ratios;
  for (const auto& [run, rate] : own) {
    const auto found = other.find(run);
    if (found != other.end() && found->second > 0) ratios.push_back(rate / found->second);
  }
  if (engine == "braid" || ratios.empty()) return {};
  return SampleToJson(Summarize(ratios));
}

}  // namespace

Sample Summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

nlohmann::json SummarizeRuns(const nlohmann::json& runs, const std::vector<std::string>& engines) {
  // By place in the list of benchmarks, store and metric: the values of all runs.
  std::map<size_t, std::map<std::string, std::map<std::string, std::vector<double>>>> values;
  std::map<size_t, std::string> names;
  for (const auto& run : runs) {
    size_t position = 0;
    for (const auto& result : run.at("results")) {
      auto& metrics = values[position][run.at("engine").get<std::string>()];
      names[position++] = result.at("benchmark").get<std::string>();
      metrics["ops_per_second"].push_back(result.at("ops_per_second").get<double>());
      for (const char* latency : kLatencies) {
        metrics[latency].push_back(result.at("latency").at(latency).get<double>());
      }
      for (const char* metric : kOptional) {
        const auto found = result.find(metric);
        if (found == result.end() || !found->is_number()) continue;
        metrics[metric].push_back(found->get<double>());
      }
    }
  }
  nlohmann::json summary = nlohmann::json::array();
  for (const auto& [position, by_engine] : values) {
    for (const std::string& engine : engines) {
      const auto metrics = by_engine.find(engine);
      if (metrics == by_engine.end()) continue;
      nlohmann::json entry = {
          {"benchmark", names[position]}, {"position", position}, {"engine", engine}};
      for (const auto& [metric, samples] : metrics->second) {
        entry[metric] = SampleToJson(Summarize(samples));
      }
      nlohmann::json ratios = RatiosOfRuns(runs, engine, position);
      if (!ratios.is_null()) entry["braid_ratio"] = std::move(ratios);
      nlohmann::json rounds = SummarizeRounds(runs, engine, position);
      if (!rounds.empty()) entry["rounds"] = std::move(rounds);
      summary.push_back(std::move(entry));
    }
  }
  return summary;
}

std::string FormatSummary(const nlohmann::json& summary, const std::vector<std::string>& engines) {
  const auto header = [&](const char* title) {
    std::string text = fmt::format("\n{}\n{:<26}", title, "benchmark");
    for (const std::string& engine : engines) text += fmt::format("{:>24}", engine);
    return text;
  };
  const auto line = [&](const Row& row, auto&& format) {
    std::string text = fmt::format("{:<26}", row.second);
    for (const std::string& engine : engines) {
      const nlohmann::json* entry = Find(summary, row, engine);
      text += fmt::format("{:>24}", entry != nullptr ? format(*entry) : "-");
    }
    return text;
  };
  std::string text = header("thousands of operations a second: median (min-max)");
  text += "  braid's median beside the others'\n";
  for (const Row& row : RowsOf(summary)) {
    text += line(row, FormatRate) + FormatRatios(summary, row, engines) + FormatTier(summary, row);
    text += "\n";
  }
  const auto table = [&](const char* title, auto&& format) {
    text += header(title) + "\n";
    for (const Row& row : RowsOf(summary)) text += line(row, format) + "\n";
  };
  table("p50 / p99 in microseconds, medians", FormatMiddle);
  table("p99.99 in microseconds / longest in milliseconds, medians", FormatLatency);
  table(
      "processor time an operation in microseconds, medians; BUSY: others had a tenth of the "
      "machine or more",
      FormatCost);
  return text;
}

}  // namespace braid::bench
