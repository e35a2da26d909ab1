// The parts of a page that belong to a scenario. Thread safety, persistence: see html_scenario.h.
#include "bench/harness/html_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/harness/html_parts.h"
#include "bench/harness/html_text.h"

namespace braid::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kBesideWriter = "-beside-writer";
constexpr const char* kBeside = "-beside-";

/// The result with a series of each store, as the comparison kept it.
const Json* SeriesResult(const Json& document, const std::string& engine) {
  const auto runs = document.find("runs");
  if (runs == document.end()) return nullptr;
  for (const Json& run : *runs) {
    if (TextAt(run, "engine") != engine) continue;
    for (const Json& result : run.at("results")) {
      if (result.contains("series") && result.at("series").at("seconds").size() > 1) return &result;
    }
  }
  return nullptr;
}

std::vector<double> ColumnOf(const Json& result, const char* name) {
  const Json& series = result.at("series");
  const auto column = series.find(name);
  return column == series.end() ? std::vector<double>() : column->get<std::vector<double>>();
}

/// Steps from one moment to the next; `at` gives the value of the interval that ends there.
template <class At>
std::vector<ChartPoint> StepsOf(const std::vector<double>& x, At&& at) {
  std::vector<ChartPoint> points;
  for (size_t i = 1; i < x.size(); ++i) {
    const double width = x[i] - x[i - 1];
    if (width > 0) points.push_back({x[i - 1], at(i, width), width});
  }
  // Exactly adjacent, so that the line does not break.
  for (size_t i = 0; i + 1 < points.size(); ++i) points[i].width = points[i + 1].x - points[i].x;
  return points;
}

/// How much of a total was added a second; neighbours are joined until `steps` are left.
std::vector<ChartPoint> RatesOverTime(const Json& result, const char* column, double scale) {
  constexpr size_t kSteps = 75;
  const std::vector<double> seconds = ColumnOf(result, "seconds");
  const std::vector<double> totals = ColumnOf(result, column);
  if (totals.size() != seconds.size()) return {};
  const size_t stride = seconds.size() / kSteps + 1;
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (i % stride != 0 && i + 1 != seconds.size()) continue;
    x.push_back(seconds[i]);
    y.push_back(totals[i]);
  }
  return StepsOf(
      x, [&](size_t i, double width) { return std::max(0.0, y[i] - y[i - 1]) / width * scale; });
}

std::vector<ChartPoint> ValuesOverTime(const Json& result, const char* column, double scale) {
  const std::vector<double> seconds = ColumnOf(result, "seconds");
  const std::vector<double> values = ColumnOf(result, column);
  if (values.size() != seconds.size()) return {};
  std::vector<ChartPoint> points =
      StepsOf(seconds, [&](size_t i, double) { return values[i] * scale; });
  // Where nothing ended, nothing was the longest; a logarithm has no place for nought.
  std::erase_if(points, [](const ChartPoint& point) { return point.y <= 0; });
  return points;
}

/// A step for each round: 0 to 1 is the fill.
std::vector<ChartPoint> RoundPoints(const Json& document, const std::string& engine,
                                    const char* key) {
  std::vector<ChartPoint> points;
  for (const Json& entry : document.at("summary")) {
    if (TextAt(entry, "engine") != engine || !entry.contains("rounds")) continue;
    for (const Json& round : entry.at("rounds")) {
      // A logarithm has no place for nought.
      points.push_back(
          {static_cast<double>(points.size()), std::max(1.0, round.at(key).get<double>()), 1});
    }
    break;
  }
  return points;
}

ChartAxis TimeAxis() {
  ChartAxis axis;
  axis.label = "seconds, settling included";
  axis.mark = [](double value) { return fmt::format("{:.4g}", value); };
  axis.value = [](double value) { return fmt::format("at {:.2f} s", value); };
  return axis;
}

ChartAxis RoundAxis(size_t rounds) {
  ChartAxis axis;
  axis.label = "round: all records written once each";
  axis.ticks.push_back({0, ""});
  for (size_t i = 0; i < rounds; ++i) {
    axis.ticks.push_back({static_cast<double>(i) + 0.5, i == 0 ? "fill" : std::to_string(i)});
  }
  axis.ticks.push_back({static_cast<double>(rounds), ""});
  axis.value = [](double value) {
    const auto round = static_cast<int>(value);
    return round == 0 ? std::string("fill") : fmt::format("overwrite {}", round);
  };
  return axis;
}

ChartAxis NumberAxis(const char* label, const char* unit) {
  ChartAxis axis;
  axis.label = label;
  axis.mark = TickNumber;
  axis.value = [unit = std::string(unit)](double value) { return ShortNumber(value) + unit; };
  return axis;
}

ChartAxis LatencyAxis() {
  ChartAxis axis;
  axis.log = true;
  axis.mark = TickDuration;
  axis.value = ShortDuration;
  return axis;
}

/// A card with a line for each store that has points.
class OverTimeCards {
 public:
  OverTimeCards(const Json& document, const StoreColours& stores)
      : document_(document), stores_(stores) {}

  enum class Shows { kRate, kValue, kForEachLiveByte };

  void OverTime(const char* title, const char* remark, const char* column, Shows shows,
                double scale, ChartAxis y) {
    std::vector<ChartSeries> lines;
    for (const auto& [store, colour] : stores_) {
      const Json* result = SeriesResult(document_, store);
      if (result == nullptr) continue;
      const double by = shows == Shows::kForEachLiveByte ? Live(*result) : 1;
      std::vector<ChartPoint> points = shows == Shows::kRate
                                           ? RatesOverTime(*result, column, scale)
                                           : ValuesOverTime(*result, column, scale / by);
      if (!points.empty()) lines.push_back({store, colour, std::move(points)});
    }
    Add(title, remark, TimeAxis(), std::move(y), std::move(lines));
  }

  void OverRounds(const char* title, const char* remark, const char* key, double scale,
                  ChartAxis y) {
    std::vector<ChartSeries> lines;
    size_t rounds = 0;
    for (const auto& [store, colour] : stores_) {
      std::vector<ChartPoint> points = RoundPoints(document_, store, key);
      for (ChartPoint& point : points) point.y *= scale;
      rounds = std::max(rounds, points.size());
      if (!points.empty()) lines.push_back({store, colour, std::move(points)});
    }
    Add(title, remark, RoundAxis(rounds), std::move(y), std::move(lines));
  }

  std::string ToHtml() const { return Grid(html_); }

 private:
  static double Live(const Json& result) {
    return std::max(1.0, NumberAt(result, "space/live_bytes").value_or(1));
  }

  void Add(const char* title, const char* remark, ChartAxis x, ChartAxis y,
           std::vector<ChartSeries> lines) {
    if (lines.empty()) return;
    LineChart chart;
    chart.title = title;
    chart.x = std::move(x);
    chart.y = std::move(y);
    chart.series = std::move(lines);
    html_ += ChartCard(title, remark, LegendOf(chart.series), RenderLineChart(chart));
  }

  const Json& document_;
  const StoreColours& stores_;
  std::string html_;
};

/// A store's row of the summary; null when there is none.
const Json* RowOf(const Json& document, const std::string& benchmark, const std::string& engine) {
  for (const Json& entry : document.at("summary")) {
    if (TextAt(entry, "benchmark") == benchmark && TextAt(entry, "engine") == engine) return &entry;
  }
  return nullptr;
}

/// Names of the benchmarks in the order of the run, each once.
std::vector<std::string> BenchmarksOf(const Json& document) {
  std::vector<std::string> names;
  const auto summary = document.find("summary");
  if (summary == document.end()) return names;
  for (const Json& entry : *summary) {
    const std::string name = TextAt(entry, "benchmark");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string BarCard(const BarChart& chart, const StoreColours& stores, const char* remark) {
  if (chart.groups.empty()) return {};
  return ChartCard(chart.title, remark, stores, RenderBarChart(chart));
}

/// The shares of the speed at rest that are left.
std::string SharesCard(const Json& document, const StoreColours& stores) {
  BarChart chart;
  chart.title = "What is left of each store's own speed at rest while one thread overwrites";
  chart.axis_label = "share of the rate at rest";
  chart.mark = [](double value) { return fmt::format("{:.0f} %", value * 100); };
  for (const std::string& name : BenchmarksOf(document)) {
    const size_t at = name.find(kBeside);
    if (at == std::string::npos) continue;
    ChartGroup group{name, {}};
    for (const auto& [store, colour] : stores) {
      const Json* row = RowOf(document, name, store);
      const Json* rest = RowOf(document, name.substr(0, at), store);
      if (row == nullptr || rest == nullptr) continue;
      const double share = NumberAt(*row, "ops_per_second/median").value_or(0) /
                           std::max(1.0, NumberAt(*rest, "ops_per_second/median").value_or(0));
      group.bars.push_back({store, colour, share, fmt::format("{:.0f} %", share * 100)});
    }
    if (!group.bars.empty()) chart.groups.push_back(std::move(group));
  }
  return BarCard(chart, stores, "");
}

std::string WriterCard(const Json& document, const StoreColours& stores) {
  BarChart chart;
  chart.title = "Puts a second of the thread that overwrites as fast as it can";
  chart.axis_label = "puts a second";
  chart.mark = TickNumber;
  for (const std::string& name : BenchmarksOf(document)) {
    if (!name.ends_with(kBesideWriter)) continue;
    ChartGroup group{name, {}};
    for (const auto& [store, colour] : stores) {
      const Json* row = RowOf(document, name, store);
      const auto rate =
          row == nullptr ? std::nullopt : NumberAt(*row, "side_writes_per_second/median");
      if (rate) group.bars.push_back({store, colour, *rate, ShortNumber(*rate)});
    }
    if (!group.bars.empty()) chart.groups.push_back(std::move(group));
  }
  return BarCard(chart, stores,
                 "A store whose writer is slow leaves more of the machine to its readers.");
}

}  // namespace

std::string ScenarioTitle(const std::string& scenario) {
  if (scenario == "at-rest") return "at rest: after the load has settled";
  if (scenario == "scan-at-once") return "at once: as soon as the last put of a load has returned";
  if (scenario == "scan-beside-writer") return "read while one thread overwrites";
  if (scenario == "beyond-pool") return "ten times the pool: the rest in a tier on a block device";
  if (scenario == "designs") return "all designs alike, and opened again after a kill";
  if (scenario == "sustained") return "overwritten without a pause, settling counted";
  return scenario;
}

std::string RenderGoals(const Json& document) {
  const auto goals = document.find("goals");
  if (goals == document.end() || goals->empty()) return {};
  HtmlTable table({"goal", "seen", "wanted", ""});
  for (const Json& goal : *goals) {
    const std::string peer = TextAt(goal, "peer");
    const auto text = [&](const char* key) {
      const double value = NumberAt(goal, key).value_or(0);
      return peer.empty() ? ShortNumber(value) : TimesText(value);
    };
    table.AddRow({TextAt(goal, "benchmark") + ": " + TextAt(goal, "what") +
                      (peer.empty() ? "" : ", beside " + peer),
                  text("value"),
                  (goal.value("at_least", true) ? "\u2265 " : "\u2264 ") + text("goal"),
                  goal.value("met", false) ? "\u2713 met" : "\u2717 missed"});
  }
  return table.ToHtml();
}

std::string RenderOverTime(const Json& document, const StoreColours& stores) {
  OverTimeCards cards(document, stores);
  using Shows = OverTimeCards::Shows;
  cards.OverTime("Throughput", "Nought: all is written, and the store settles.", "operations",
                 Shows::kRate, 1, NumberAxis("puts a second", "/s"));
  cards.OverTime("Longest put of each moment", "A moment is 1/150 of the store's run.",
                 "longest_ns", Shows::kValue, 1, LatencyAxis());
  cards.OverTime(
      "Space", "Bytes that the files take on the medium, for each byte of live keys and values.",
      "file_bytes", Shows::kForEachLiveByte, 1, NumberAxis("bytes for each live byte", " bytes"));
  cards.OverTime("Processors in use", "The whole process, background threads included.", "cpu_ns",
                 Shows::kRate, 1e-9, NumberAxis("processors", " processors"));
  cards.OverRounds("Throughput of each round", "", "ops_per_second", 1,
                   NumberAxis("puts a second", "/s"));
  cards.OverRounds("Processor time a put", "The whole process, without settling.",
                   "cpu_ns_per_operation", 1e-3, NumberAxis("microseconds", " \u00b5s"));
  cards.OverRounds("p99.99 of a put", "", "p99_99_ns", 1, LatencyAxis());
  cards.OverRounds("Longest put of each round", "", "max_ns", 1, LatencyAxis());
  return cards.ToHtml();
}

std::string RenderBeside(const Json& document, const StoreColours& stores) {
  return Grid(SharesCard(document, stores) + WriterCard(document, stores));
}

std::string RenderCosts(const Json& document, const StoreColours& stores) {
  BarChart chart;
  chart.title = "Processor time an operation, background and settling included";
  chart.axis_label = "braid's is 1; right of the line a store takes more";
  chart.ratio = true;
  chart.mark = [](double ratio) { return TickNumber(ratio) + "\u00d7"; };
  for (const std::string& name : BenchmarksOf(document)) {
    const Json* own = RowOf(document, name, "braid");
    const auto base = own == nullptr ? std::nullopt : NumberAt(*own, "cpu_ns_per_operation/median");
    if (base.value_or(0) <= 0) continue;
    ChartGroup group{fmt::format("{}, {}", name, ShortDuration(*base)), {}};
    for (const auto& [store, colour] : stores) {
      const Json* row = store == "braid" ? nullptr : RowOf(document, name, store);
      const auto cost =
          row == nullptr ? std::nullopt : NumberAt(*row, "cpu_ns_per_operation/median");
      if (cost.value_or(0) <= 0) continue;
      group.bars.push_back(
          {store, colour, *cost / *base,
           fmt::format("{} \u00b7 {}", TimesText(*cost / *base), ShortDuration(*cost))});
    }
    if (!group.bars.empty()) chart.groups.push_back(std::move(group));
  }
  StoreColours others = stores;
  std::erase_if(others, [](const auto& store) { return store.first == "braid"; });
  return Grid(BarCard(chart, others, "Behind each name: what braid takes."));
}

}  // namespace braid::bench
