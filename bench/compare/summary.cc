#include "bench/compare/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace braid::bench {
namespace {

const char* const kLatencies[] = {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"};

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
        const Sample sample = Summarize(samples);
        entry[metric] = {{"median", sample.median}, {"min", sample.min}, {"max", sample.max}};
      }
      summary.push_back(std::move(entry));
    }
  }
  return summary;
}

std::string FormatSummary(const nlohmann::json& summary, const std::vector<std::string>& engines) {
  const auto header = [&](const char* title) {
    std::string line = fmt::format("\n{}\n{:<18}", title, "benchmark");
    for (const std::string& engine : engines) line += fmt::format("{:>24}", engine);
    return line;
  };
  std::string text = header("thousands of operations a second: median (min-max)");
  text += "  braid's median beside the others'\n";
  for (const Row& row : RowsOf(summary)) {
    text += fmt::format("{:<18}", row.second);
    for (const std::string& engine : engines) {
      const nlohmann::json* entry = Find(summary, row, engine);
      text += fmt::format("{:>24}", entry != nullptr ? FormatRate(*entry) : "-");
    }
    text += FormatRatios(summary, row, engines) + "\n";
  }
  text += header("p99.99 in microseconds / longest in milliseconds, medians") + "\n";
  for (const Row& row : RowsOf(summary)) {
    text += fmt::format("{:<18}", row.second);
    for (const std::string& engine : engines) {
      const nlohmann::json* entry = Find(summary, row, engine);
      text += fmt::format("{:>24}", entry != nullptr ? FormatLatency(*entry) : "-");
    }
    text += "\n";
  }
  return text;
}

}  // namespace braid::bench
