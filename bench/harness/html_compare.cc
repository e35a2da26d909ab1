// The page of braid-compare: braid beside other stores.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/harness/html_parts.h"
#include "bench/harness/html_scenario.h"
#include "bench/harness/html_text.h"
#include "bench/harness/process_use.h"

namespace braid::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kOwn = "braid";

/// What the summary says, by benchmark in the order of the run, then by store.
class Summary {
 public:
  explicit Summary(const Json& document) {
    const auto parameters = document.find("parameters");
    if (parameters != document.end() && parameters->contains("engines")) {
      for (const Json& name : parameters->at("engines")) {
        engines_.push_back(name.get<std::string>());
      }
    }
    const auto summary = document.find("summary");
    if (summary == document.end()) return;
    for (const Json& entry : *summary) {
      const auto position = static_cast<size_t>(NumberAt(entry, "position").value_or(0));
      names_[position] = TextAt(entry, "benchmark");
      rows_[position][TextAt(entry, "engine")] = &entry;
    }
  }

  const std::vector<std::string>& engines() const { return engines_; }
  bool has_own() const { return Colour(kOwn) < static_cast<int>(engines_.size()); }
  /// braid has the first colour, the others follow in their order.
  int Colour(const std::string& engine) const {
    const auto at = std::find(engines_.begin(), engines_.end(), engine);
    const auto own = std::find(engines_.begin(), engines_.end(), kOwn);
    if (at == own) return own == engines_.end() ? static_cast<int>(engines_.size()) : 0;
    return static_cast<int>(at - engines_.begin()) + (at < own ? 1 : 0);
  }
  /// The stores with their colours, braid first.
  StoreColours Stores() const {
    StoreColours stores;
    for (const std::string& engine : engines_) stores.emplace_back(engine, Colour(engine));
    std::sort(stores.begin(), stores.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    return stores;
  }
  const std::map<size_t, std::string>& names() const { return names_; }
  const Json* Entry(size_t position, const std::string& engine) const {
    const auto row = rows_.find(position);
    if (row == rows_.end()) return nullptr;
    const auto entry = row->second.find(engine);
    return entry == row->second.end() ? nullptr : entry->second;
  }
  std::optional<double> Rate(size_t position, const std::string& engine) const {
    const Json* entry = Entry(position, engine);
    return entry == nullptr ? std::nullopt : NumberAt(*entry, "ops_per_second/median");
  }
  /// braid's rate over that of `engine`.
  std::optional<double> Ratio(size_t position, const std::string& engine) const {
    const std::optional<double> own = Rate(position, kOwn);
    const std::optional<double> other = Rate(position, engine);
    if (!own || !other || *own <= 0 || *other <= 0) return std::nullopt;
    return *own / *other;
  }

 private:
  std::vector<std::string> engines_;
  std::map<size_t, std::string> names_;
  std::map<size_t, std::map<std::string, const Json*>> rows_;
};

std::string Ratios(const Summary& summary) {
  std::vector<std::pair<std::string, int>> legend;
  for (const std::string& engine : summary.engines()) {
    if (engine != kOwn) legend.emplace_back(engine, summary.Colour(engine));
  }
  std::vector<ChartGroup> groups;
  for (const auto& [position, name] : summary.names()) {
    ChartGroup group{name, {}};
    for (const auto& [engine, colour] : legend) {
      const std::optional<double> ratio = summary.Ratio(position, engine);
      if (ratio) group.bars.push_back({engine, colour, *ratio, ""});
    }
    if (!group.bars.empty()) groups.push_back(std::move(group));
  }
  return RatioCard(std::move(groups), legend, "");
}

/// The median, and half the spread of the runs.
std::string RateCell(const Json& entry) {
  const std::optional<double> median = NumberAt(entry, "ops_per_second/median");
  const std::optional<double> least = NumberAt(entry, "ops_per_second/min");
  const std::optional<double> most = NumberAt(entry, "ops_per_second/max");
  if (!median) return "-";
  std::string text = GroupedText(*median);
  // One run has no spread.
  if (least && most && *median > 0 && *most > *least) {
    text += fmt::format(" \u00b1{:.0f} %", (*most - *least) / *median * 50);
  }
  if (NumberAt(entry, "busy_share/median").value_or(0) >= MachineLoad::kBusyShare)
    text += " \u2020";
  return text;
}

std::string RateTable(const Summary& summary) {
  std::vector<std::string> header = {"benchmark"};
  for (const std::string& engine : summary.engines()) header.push_back(engine);
  for (const std::string& engine : summary.engines()) {
    if (summary.has_own() && engine != kOwn) header.push_back("braid / " + engine);
  }
  HtmlTable table(std::move(header));
  for (const auto& [position, name] : summary.names()) {
    std::vector<std::string> row = {name};
    for (const std::string& engine : summary.engines()) {
      const Json* entry = summary.Entry(position, engine);
      row.push_back(entry == nullptr ? "-" : RateCell(*entry));
    }
    for (const std::string& engine : summary.engines()) {
      if (!summary.has_own() || engine == kOwn) continue;
      const std::optional<double> ratio = summary.Ratio(position, engine);
      row.push_back(ratio ? TimesText(*ratio) : "-");
      // The ratio of the medians; behind it the median of the ratios of single runs.
      const Json* entry = summary.Entry(position, engine);
      const auto median = entry == nullptr ? std::nullopt : NumberAt(*entry, "braid_ratio/median");
      if (ratio && median) row.back() += " / " + TimesText(*median);
    }
    table.AddRow(std::move(row));
  }
  return table.empty() ? "" : table.ToHtml();
}

std::string TailTable(const Summary& summary) {
  std::vector<std::string> header = {"benchmark"};
  for (const std::string& engine : summary.engines()) header.push_back(engine);
  HtmlTable table(std::move(header));
  const auto text = [](const Json& entry, const char* key) {
    const std::optional<double> value = NumberAt(entry, std::string(key) + "/median");
    return value ? ShortDuration(*value) : std::string("-");
  };
  for (const auto& [position, name] : summary.names()) {
    std::vector<std::string> row = {name};
    for (const std::string& engine : summary.engines()) {
      const Json* entry = summary.Entry(position, engine);
      row.push_back(entry == nullptr ? "-"
                                     : text(*entry, "p99_99_ns") + " / " + text(*entry, "max_ns"));
    }
    table.AddRow(std::move(row));
  }
  return table.empty() ? "" : table.ToHtml();
}

/// Operations of all kinds over time in the first run that each store has.
std::string Throughput(const Json& document, const Summary& summary) {
  const auto runs = document.find("runs");
  if (runs == document.end()) return {};
  std::map<std::string, const Json*> first;
  for (const Json& run : *runs) first.emplace(TextAt(run, "engine"), &run);
  std::string cards;
  for (const auto& [position, name] : summary.names()) {
    std::vector<ChartSeries> series;
    for (const std::string& engine : summary.engines()) {
      const auto run = first.find(engine);
      if (run == first.end() || run->second->at("results").size() <= position) continue;
      // What the workers did: settling has no part in it.
      Json result = run->second->at("results").at(position);
      result.erase("settle_samples");
      std::vector<ChartPoint> points =
          Recording(result).Rates({"done/read", "done/write", "done/scan"}, 120);
      if (!points.empty()) {
        series.push_back({engine, summary.Colour(engine), std::move(points)});
      }
    }
    if (!series.empty()) cards += RateCard(name, series, {});
  }
  return Grid(cards);
}

std::string Latencies(const Summary& summary) {
  std::string cards;
  for (const auto& [position, name] : summary.names()) {
    std::vector<ChartSeries> series;
    for (const std::string& engine : summary.engines()) {
      const Json* entry = summary.Entry(position, engine);
      if (entry == nullptr) continue;
      series.push_back({engine, summary.Colour(engine), LatencyPoints(*entry)});
    }
    cards += LatencyCard(name, series);
  }
  return Grid(cards);
}

/// The counters of the stores that tell them, from their first run.
std::string CostTable(const Json& document) {
  const auto runs = document.find("runs");
  if (runs == document.end()) return {};
  HtmlTable table({"benchmark", "store", "lines/op", "fences/op", "flushed/put bytes"});
  std::map<std::string, bool> seen;
  for (const Json& run : *runs) {
    if (!seen.emplace(TextAt(run, "engine"), true).second) continue;
    for (const Json& result : run.at("results")) {
      const std::optional<double> operations = NumberAt(result, "operations");
      const std::optional<double> lines = NumberAt(result, "counters/lines_flushed");
      const std::optional<double> fences = NumberAt(result, "counters/fences");
      if (!lines || !fences || operations.value_or(0) <= 0) continue;
      const std::optional<double> bytes = NumberAt(result, "flushed_bytes_per_byte_put");
      table.AddRow({TextAt(result, "benchmark"), TextAt(run, "engine"),
                    ShortNumber(*lines / *operations), ShortNumber(*fences / *operations),
                    bytes ? ShortNumber(*bytes) : "-"});
    }
  }
  return table.empty() ? "" : table.ToHtml();
}

}  // namespace

std::string RenderCompare(const Json& document) {
  const Summary summary(document);
  if (summary.names().empty()) {
    return "<p class=\"empty\">No benchmark has run: there is nothing to show.</p>\n" +
           Section("Machine and parameters", MachineAndParameters(document));
  }
  std::string html;
  html += Section("Goals", RenderGoals(document));
  html += Section("Over time, and round by round", RenderOverTime(document, summary.Stores()));
  html += Section("Ratios", summary.has_own() ? Grid(Ratios(summary)) : "");
  html += Section("While it is written", RenderBeside(document, summary.Stores()));
  html += Section("Processor time", RenderCosts(document, summary.Stores()));
  html += Section(
      "Operations a second: median, half the spread of the runs; ratio of medians / median of "
      "ratios",
      RateTable(summary));
  html += Section("Tails: p99.99 / longest, medians", TailTable(summary));
  html += Section("Operations over time, first run", Throughput(document, summary));
  html += Section("Latency, medians of the runs", Latencies(summary));
  html += Section("Cache lines and fences, first run", CostTable(document));
  html += Section("Machine and parameters", MachineAndParameters(document));
  return html;
}

}  // namespace braid::bench
