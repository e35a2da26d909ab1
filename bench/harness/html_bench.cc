// The page of braid bench: its results, and what happened over time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/harness/html_parts.h"
#include "bench/harness/html_text.h"
#include "braid/statistics.h"

namespace braid::bench {
namespace {

using Json = nlohmann::json;

std::string OrDash(std::optional<double> value, std::string (*format)(double)) {
  return value ? format(*value) : "-";
}

std::optional<double> Ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

std::optional<double> PerOperation(const Json& result, const char* counter) {
  return Ratio(NumberAt(result, std::string("counters/") + counter),
               NumberAt(result, "operations"));
}

std::string Tiles(const Json& results) {
  std::string html = "<div class=\"tiles\">\n";
  for (const Json& result : results) {
    html += fmt::format(
        "<div class=\"tile\"><b>{}</b><strong>{}<small>ops/s</small></strong>"
        "<span>p50 {} \u00b7 p99.99 {}</span></div>\n",
        EscapeHtml(TextAt(result, "benchmark")),
        OrDash(NumberAt(result, "ops_per_second"), ShortNumber),
        OrDash(NumberAt(result, "latency/p50_ns"), ShortDuration),
        OrDash(NumberAt(result, "latency/p99_99_ns"), ShortDuration));
  }
  return html + "</div>\n";
}

std::string ResultsTable(const Json& results) {
  HtmlTable table({"benchmark", "operations", "seconds", "ops/s", "p50", "p90", "p99", "p99.9",
                   "p99.99", "longest", "stalls", "lines / op", "fences / op",
                   "bytes flushed / put", "settling"});
  for (const Json& result : results) {
    std::vector<std::string> row = {TextAt(result, "benchmark"),
                                    OrDash(NumberAt(result, "operations"), GroupedText),
                                    OrDash(NumberAt(result, "seconds"), ShortNumber),
                                    OrDash(NumberAt(result, "ops_per_second"), GroupedText)};
    for (const char* key : {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"}) {
      row.push_back(OrDash(NumberAt(result, std::string("latency/") + key), ShortDuration));
    }
    row.push_back(OrDash(NumberAt(result, "counters/stall_ns"), ShortDuration));
    row.push_back(OrDash(PerOperation(result, "lines_flushed"), ShortNumber));
    row.push_back(OrDash(PerOperation(result, "fences"), ShortNumber));
    row.push_back(OrDash(NumberAt(result, "flushed_bytes_per_byte_put"), ShortNumber));
    const std::optional<double> settling = NumberAt(result, "settle_seconds");
    row.push_back(settling ? ShortDuration(*settling * 1e9) : "-");
    table.AddRow(std::move(row));
  }
  return table.empty() ? "" : table.ToHtml();
}

struct RateLine {
  const char* name;
  std::vector<std::string> counters;  // their sum
  std::vector<std::string> instead;   // for a store that has no such counters
  const char* micros = nullptr;       // of the work, when it is counted at its end
};

const std::array<RateLine, 5>& RateLines() {
  static const std::array<RateLine, 5> lines = {{
      {"put", {"fields/puts", "fields/deletes"}, {"done/write"}},
      {"get", {"fields/gets"}, {"done/read"}},
      {"scan", {"done/scan"}, {}},
      {"flush: entries into L0", {"fields/flushed_entries"}, {}, "fields/flush_micros"},
      {"merge: entries into L1", {"fields/merged_entries"}, {}, "fields/merge_micros"},
  }};
  return lines;
}

std::string Throughput(const Json& results) {
  std::string cards;
  for (const Json& result : results) {
    const Recording recording(result);
    if (recording.empty()) continue;
    std::vector<ChartSeries> series;
    for (size_t i = 0; i < RateLines().size(); ++i) {
      const RateLine& line = RateLines()[i];
      std::vector<ChartPoint> points = line.micros == nullptr
                                           ? recording.Rates(line.counters)
                                           : recording.WorkRates(line.counters[0], line.micros);
      if (points.empty()) points = recording.Rates(line.instead);
      const bool moved = std::any_of(points.begin(), points.end(),
                                     [](const ChartPoint& point) { return point.y > 0; });
      if (moved) series.push_back({line.name, static_cast<int>(i), std::move(points)});
    }
    std::vector<ChartBand> bands;
    if (const auto settling = recording.settling()) bands.push_back(*settling);
    cards += RateCard(TextAt(result, "benchmark"), series, bands);
  }
  if (cards.empty()) return {};
  return "<p class=\"remark above\">Flushes and merges count their entries when a table is done; "
         "here they are laid over the time it took.</p>\n" +
         Grid(cards);
}

/// One chart for each kind of operation, as many as six benchmarks in each.
std::string Latencies(const Json& results) {
  struct Kind {
    const char* key;
    const char* title;
  };
  constexpr Kind kKinds[] = {{"write", "Writes"}, {"read", "Gets"}, {"scan", "Scans"}};
  std::string cards;
  for (const Kind& kind : kKinds) {
    std::vector<ChartSeries> series;
    const auto flush = [&] {
      if (!series.empty()) cards += LatencyCard(kind.title, series);
      series.clear();
    };
    for (const Json& result : results) {
      const auto kinds = result.find("latency_by_kind");
      if (kinds == result.end() || !kinds->contains(kind.key)) continue;
      if (series.size() == kChartColours) flush();
      series.push_back({TextAt(result, "benchmark"), static_cast<int>(series.size()),
                        LatencyPoints(kinds->at(kind.key))});
    }
    flush();
  }
  return Grid(cards);
}

std::string LinesAndFences(const Json& results) {
  BarChart chart;
  chart.title = "Cache lines flushed and fences an operation";
  chart.axis_label = "an operation, background work included";
  chart.mark = TickNumber;
  for (const Json& result : results) {
    const std::optional<double> lines = PerOperation(result, "lines_flushed");
    const std::optional<double> fences = PerOperation(result, "fences");
    // Benchmarks that only read flush nothing worth a bar.
    if (lines.value_or(0) < 0.005 && fences.value_or(0) < 0.005) continue;
    ChartGroup group{TextAt(result, "benchmark"), {}};
    if (lines) group.bars.push_back({"lines", 0, *lines, ShortNumber(*lines)});
    if (fences) group.bars.push_back({"fences", 3, *fences, ShortNumber(*fences)});
    chart.groups.push_back(std::move(group));
  }
  if (chart.groups.empty()) return {};
  return ChartCard("Cache lines flushed and fences an operation", "", {{"lines", 0}, {"fences", 3}},
                   RenderBarChart(chart));
}

/// The benchmarks that `peers` (see PeersOf) has, as ratios.
std::string Peers(const Json& document, const Json& results) {
  const auto peers = document.find("peers");
  if (peers == document.end()) return {};
  std::vector<std::pair<std::string, int>> legend;
  std::vector<ChartGroup> groups;
  std::string when;
  for (const Json& result : results) {
    ChartGroup group{TextAt(result, "benchmark"), {}};
    for (const Json& peer : *peers) {
      if (TextAt(peer, "benchmark") != group.label) continue;
      const auto ratio =
          Ratio(NumberAt(result, "ops_per_second"), NumberAt(peer, "ops_per_second"));
      if (!ratio || *ratio <= 0) continue;
      const std::string engine = TextAt(peer, "engine");
      auto known = std::find_if(legend.begin(), legend.end(),
                                [&](const auto& entry) { return entry.first == engine; });
      if (known == legend.end()) {
        known = legend.insert(known, {engine, static_cast<int>(legend.size()) + 1});
      }
      group.bars.push_back({engine, known->second, *ratio, ""});
      when = TextAt(peer, "measured");
    }
    if (!group.bars.empty()) groups.push_back(std::move(group));
  }
  return Grid(RatioCard(std::move(groups), legend,
                        "The others were measured before (" + when +
                            "), not side by side with this run: braid-compare does that."));
}

/// What flushes and merges did during each benchmark, and what they took for an entry.
std::string BackgroundTable(const Json& results) {
  HtmlTable table({"benchmark", "flushes", "entries flushed", "flush time", "an entry", "merges",
                   "entries merged", "merge time", "an entry", "chunks collected"});
  for (const Json& result : results) {
    const Recording recording(result);
    const auto growth = [&](const char* field) {
      return recording.Growth(std::string("fields/") + field);
    };
    if (growth("flushes").value_or(0) + growth("merges").value_or(0) == 0) continue;
    std::vector<std::string> row = {TextAt(result, "benchmark")};
    for (const std::array<const char*, 3>& work :
         {std::array{"flushes", "flushed_entries", "flush_micros"},
          std::array{"merges", "merged_entries", "merge_micros"}}) {
      std::optional<double> nanos = growth(work[2]);
      if (nanos) nanos = *nanos * 1000;
      row.push_back(OrDash(growth(work[0]), GroupedText));
      row.push_back(OrDash(growth(work[1]), GroupedText));
      row.push_back(OrDash(nanos, ShortDuration));
      row.push_back(OrDash(Ratio(nanos, growth(work[1])), ShortDuration));
    }
    row.push_back(OrDash(growth("collected_chunks"), GroupedText));
    table.AddRow(std::move(row));
  }
  if (table.empty()) return {};
  return "<div class=\"card\"><h4>Background work, settling included</h4>\n" + table.ToHtml() +
         "</div>\n";
}

/// Series of a card over time, for each benchmark that has some.
template <class MakeSeries, class MakeCard>
std::string CardsOverTime(const Json& results, MakeSeries&& make_series, MakeCard&& make_card) {
  std::string cards;
  for (const Json& result : results) {
    const Recording recording(result);
    if (recording.empty()) continue;
    const std::vector<ChartSeries> series = make_series(recording);
    if (series.empty()) continue;
    std::vector<ChartBand> bands;
    if (const auto settling = recording.settling()) bands.push_back(*settling);
    cards += make_card(TextAt(result, "benchmark"), series, bands);
  }
  return Grid(cards);
}

/// A counter of microseconds.
struct TimeLine {
  std::string name;
  std::string field;
};

/// Those that took the most time in all benchmarks first, as many as there are colours: each has
/// its colour on the whole page.
std::vector<TimeLine> MostFirst(const Json& results, const std::vector<TimeLine>& lines) {
  std::vector<std::pair<double, TimeLine>> grown;
  for (const TimeLine& line : lines) {
    double growth = 0;
    for (const Json& result : results) {
      growth += Recording(result).Growth("fields/" + line.field).value_or(0);
    }
    if (growth > 0) grown.emplace_back(growth, line);
  }
  std::stable_sort(grown.begin(), grown.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (grown.size() > kChartColours) grown.resize(kChartColours);
  std::vector<TimeLine> most;
  for (auto& [growth, line] : grown) most.push_back(std::move(line));
  return most;
}

/// The share of a thread's time of each, where it took some: more than a thousandth.
std::vector<ChartSeries> TimeShares(const Recording& recording,
                                    const std::vector<TimeLine>& lines) {
  std::vector<ChartSeries> series;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string counter = "fields/" + lines[i].field;
    if (recording.Growth(counter).value_or(0) < recording.end() * 1e3) continue;
    std::vector<ChartPoint> points = recording.Rates({counter});
    for (ChartPoint& point : points) point.y /= 1e4;  // microseconds a second as percent
    series.push_back({lines[i].name, static_cast<int>(i), std::move(points)});
  }
  return series;
}

std::vector<TimeLine> StallLines() {
  std::vector<TimeLine> lines;
  for (size_t i = 0; i < kStallReasons; ++i) {
    const std::string name = StallReasonName(static_cast<StallReason>(i));
    lines.push_back({name, "stall_" + name + "_micros"});
  }
  return lines;
}

/// How long writers were held back during each benchmark, and by what.
std::string StallTable(const Json& results) {
  HtmlTable table({"benchmark", "stalls", "time", "by reason"});
  for (const Json& result : results) {
    const Recording recording(result);
    const double stalls = recording.Growth("fields/stalls").value_or(0);
    if (stalls == 0) continue;
    std::string reasons;
    for (const TimeLine& line : StallLines()) {
      const double micros = recording.Growth("fields/" + line.field).value_or(0);
      if (micros == 0) continue;
      reasons += (reasons.empty() ? "" : ", ") + line.name + " " + ShortDuration(micros * 1e3);
    }
    table.AddRow({TextAt(result, "benchmark"), GroupedText(stalls),
                  ShortDuration(recording.Growth("fields/stall_micros").value_or(0) * 1e3),
                  reasons});
  }
  if (table.empty()) return {};
  return "<div class=\"card\"><h4>What held writers back</h4>\n" + table.ToHtml() + "</div>\n";
}

std::string Stalls(const Json& results) {
  const std::vector<TimeLine> lines = MostFirst(results, StallLines());
  const auto shares = [&](const Recording& recording) { return TimeShares(recording, lines); };
  return CardsOverTime(results, shares, ShareCard) + StallTable(results);
}

std::string Background(const Json& results) {
  std::vector<TimeLine> works;
  for (size_t i = 0; i < kBackgroundWorks; ++i) {
    const std::string name = BackgroundWorkName(static_cast<BackgroundWork>(i));
    works.push_back({name, "work_" + name + "_micros"});
  }
  const std::vector<TimeLine> lines = MostFirst(results, works);
  const auto shares = [&](const Recording& recording) { return TimeShares(recording, lines); };
  return CardsOverTime(results, shares, ShareCard);
}

std::string Space(const Json& results) {
  const auto levels = [](const Recording& recording) {
    std::vector<ChartSeries> series;
    bool changes = false;
    const auto add = [&](const char* name, int colour, const std::vector<std::string>& fields) {
      std::vector<std::string> paths;
      for (const std::string& field : fields) paths.push_back("fields/" + field);
      std::vector<ChartPoint> points = recording.Levels(paths);
      const bool any = std::any_of(points.begin(), points.end(),
                                   [](const ChartPoint& point) { return point.y > 0; });
      changes = changes || std::any_of(points.begin(), points.end(), [&](const ChartPoint& point) {
                  return point.y != points.front().y;
                });
      if (any) series.push_back({name, colour, std::move(points)});
    };
    add("live in tables", 0, {"l0_bytes", "l1_bytes", "value_bytes", "uncounted_bytes"});
    add("logs", 1, {"log_bytes"});
    add("obsolete", 2, {"l0_obsolete_bytes", "l1_obsolete_bytes", "value_obsolete_bytes"});
    add("free", 3, {"pool_free_bytes"});
    // A benchmark that only reads leaves all as it is.
    return changes ? series : std::vector<ChartSeries>();
  };
  return CardsOverTime(results, levels, BytesCard);
}

}  // namespace

std::string RenderBench(const Json& document) {
  const Json none = Json::array();
  const auto found = document.find("results");
  const Json& results = found == document.end() ? none : *found;
  std::string html;
  if (results.empty()) {
    html += "<p class=\"empty\">No benchmark has run: there is nothing to show.</p>\n";
  } else {
    html += Tiles(results);
    html += Section("Results", ResultsTable(results));
  }
  html += Section("Beside other stores", Peers(document, results));
  html += Section("Throughput over time", Throughput(results));
  html += Section("Latency", Latencies(results));
  html += Section("Stalls", Stalls(results));
  html += Section("Background work", Background(results));
  html += Section("Space", Space(results));
  html += Section("What writing costs", Grid(LinesAndFences(results)) + BackgroundTable(results));
  html += Section("Machine and parameters", MachineAndParameters(document));
  return html;
}

}  // namespace braid::bench
