#include "bench/harness/html_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/harness/html_text.h"

namespace braid::bench {
namespace {

using Json = nlohmann::json;

const Json* Find(const Json& json, const std::string& path) {
  const Json::json_pointer pointer("/" + path);
  return json.contains(pointer) ? &json.at(pointer) : nullptr;
}

std::vector<double> SecondsOf(const Json& samples) {
  const Json* seconds = Find(samples, "seconds");
  return seconds == nullptr ? std::vector<double>() : seconds->get<std::vector<double>>();
}

struct Percentile {
  const char* key;
  const char* label;
  double place;  // minus the decimal logarithm of the share above it; the longest at the end
};
constexpr Percentile kPercentiles[] = {
    {"p50_ns", "50 %", 0.301}, {"p90_ns", "90 %", 1},       {"p99_ns", "99 %", 2},
    {"p99_9_ns", "99.9 %", 3}, {"p99_99_ns", "99.99 %", 4}, {"max_ns", "longest", 5},
};

std::string PlainText(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return text.empty() ? "-" : text;
  }
  if (value.is_number_integer()) return GroupedText(value.get<double>());
  if (value.is_array()) {
    std::string text;
    for (const Json& item : value) text += (text.empty() ? "" : ", ") + PlainText(item);
    return text.empty() ? "-" : text;
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> FactsOf(const Json& object) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [name, value] : object.items()) {
    const bool bytes = value.is_number() && (name == "memory_bytes" || name == "memory_budget");
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    facts.emplace_back(label, bytes ? ShortBytes(value.get<double>()) : PlainText(value));
  }
  return facts;
}

std::string EngineFacts(const std::string& name, const Json& engine) {
  std::string text = TextAt(engine, "version") + ": " + TextAt(engine, "parameters");
  const std::string caveat = TextAt(engine, "caveat");
  if (!caveat.empty()) text += ". " + caveat;
  return FactsTable({{name, text}});
}

}  // namespace

std::optional<double> NumberAt(const Json& json, const std::string& path) {
  const Json* found = Find(json, path);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string TextAt(const Json& json, const std::string& path) {
  const Json* found = Find(json, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

Recording::Recording(const Json& result) {
  samples_ = Find(result, "samples");
  if (samples_ == nullptr) return;
  seconds_ = SecondsOf(*samples_);
  settle_from_ = seconds_.size();
  settle_samples_ = Find(result, "settle_samples");
  if (settle_samples_ == nullptr || seconds_.empty()) return;
  const double begin = seconds_.back();
  for (const double second : SecondsOf(*settle_samples_)) seconds_.push_back(begin + second);
}

std::optional<ChartBand> Recording::settling() const {
  if (seconds_.size() < settle_from_ + 2) return std::nullopt;
  return ChartBand{seconds_[settle_from_], seconds_.back(), "settling"};
}

std::vector<double> Recording::Values(const std::string& counter) const {
  std::vector<double> values;
  for (const Json* samples : {samples_, settle_samples_}) {
    const Json* found = samples == nullptr ? nullptr : Find(*samples, counter);
    // While settling nobody counts what the workers do: it stays as it was.
    const size_t count =
        samples == nullptr ? 0
                           : (samples == samples_ ? settle_from_ : seconds_.size() - settle_from_);
    if (found == nullptr && (values.empty() || samples == samples_)) continue;
    const std::vector<double> more = found == nullptr ? std::vector<double>(count, values.back())
                                                      : found->get<std::vector<double>>();
    values.insert(values.end(), more.begin(), more.end());
  }
  // Without one value for each moment it can't be said when they were.
  return values.size() == seconds_.size() ? values : std::vector<double>();
}

std::vector<ChartPoint> Recording::Rates(const std::vector<std::string>& counters,
                                         size_t most) const {
  if (empty()) return {};
  std::vector<double> sum;
  for (const std::string& counter : counters) {
    const std::vector<double> values = Values(counter);
    if (values.empty()) continue;
    sum.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
  }
  return RatesOf(sum, most);
}

std::vector<ChartPoint> Recording::WorkRates(const std::string& counter, const std::string& micros,
                                             size_t most) const {
  const std::vector<double> done = Values(counter);
  const std::vector<double> took = Values(micros);
  if (empty() || done.empty() || took.empty()) return {};
  std::vector<double> growth(done.size(), 0);
  for (size_t i = 1; i < done.size(); ++i) {
    if (done[i] <= done[i - 1]) continue;
    // Work of several threads overlaps: laid end to end it is longer, but never began before 0.
    const double begin = std::max(
        seconds_.front(), std::min(seconds_[i - 1], seconds_[i] - (took[i] - took[i - 1]) / 1e6));
    const double rate = (done[i] - done[i - 1]) / (seconds_[i] - begin);
    for (size_t to = i; to > 0 && seconds_[to] > begin; --to) {
      growth[to] += rate * (seconds_[to] - std::max(begin, seconds_[to - 1]));
    }
  }
  for (size_t i = 1; i < growth.size(); ++i) growth[i] += growth[i - 1];
  return RatesOf(growth, most);
}

std::vector<ChartPoint> Recording::RatesOf(const std::vector<double>& sum, size_t most) const {
  if (sum.empty()) return {};
  const double total = seconds_.back() - seconds_.front();
  const double usual = total / static_cast<double>(seconds_.size() - 1);
  // The last sample may follow its neighbour at once: too short for a rate of its own.
  const double step = std::max(total / static_cast<double>(most), 0.9 * usual);
  std::vector<ChartPoint> points;
  size_t from = 0;
  for (size_t to = 1; to < seconds_.size(); ++to) {
    const double rest = seconds_.back() - seconds_[to];
    const bool last = to + 1 == seconds_.size();
    if (!last && (seconds_[to] - seconds_[from] < step || rest < step / 2)) continue;
    const double width = seconds_[to] - seconds_[from];
    if (width <= 0) continue;
    points.push_back({seconds_[from], std::max(0.0, sum[to] - sum[from]) / width, width});
    from = to;
  }
  // Exactly adjacent, so that the line does not break.
  for (size_t i = 0; i + 1 < points.size(); ++i) points[i].width = points[i + 1].x - points[i].x;
  return points;
}

std::vector<ChartPoint> Recording::Levels(const std::vector<std::string>& values,
                                          size_t most) const {
  if (empty()) return {};
  std::vector<double> sum;
  for (const std::string& value : values) {
    const std::vector<double> one = Values(value);
    if (one.empty()) continue;
    sum.resize(one.size());
    for (size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
  }
  std::vector<ChartPoint> points;
  const size_t stride = std::max<size_t>(1, sum.size() / most);
  for (size_t i = 0; i < sum.size(); ++i) {
    if (i % stride == 0 || i + 1 == sum.size()) points.push_back({seconds_[i], sum[i], 0});
  }
  // Each holds until the next, so that the line does not break.
  for (size_t i = 0; i + 1 < points.size(); ++i) points[i].width = points[i + 1].x - points[i].x;
  return points;
}

std::optional<double> Recording::Growth(const std::string& counter) const {
  const std::vector<double> values = Values(counter);
  if (values.size() < 2) return std::nullopt;
  return values.back() - values.front();
}

std::string ChartCard(const std::string& title, const std::string& remark,
                      const std::vector<std::pair<std::string, int>>& legend,
                      const std::string& svg) {
  std::string html =
      "<figure class=\"card\">\n<figcaption>" + EscapeHtml(title) + "</figcaption>\n";
  if (!legend.empty()) {
    html += "<ul class=\"legend\">";
    for (const auto& [name, colour] : legend) {
      html +=
          fmt::format("<li><i class=\"s{}\"></i>{}</li>", colour % kChartColours, EscapeHtml(name));
    }
    html += "</ul>\n";
  }
  html += svg;
  if (!remark.empty()) html += "<p class=\"remark\">" + EscapeHtml(remark) + "</p>\n";
  return html + "</figure>\n";
}

std::vector<std::pair<std::string, int>> LegendOf(const std::vector<ChartSeries>& series) {
  std::vector<std::pair<std::string, int>> legend;
  legend.reserve(series.size());
  for (const ChartSeries& one : series) legend.emplace_back(one.name, one.colour);
  return legend;
}

namespace {

/// A card with lines over seconds.
std::string OverTime(const std::string& title, const std::string& what, ChartAxis y,
                     const std::vector<ChartSeries>& series, const std::vector<ChartBand>& bands) {
  LineChart chart;
  chart.title = title + ": " + what + " over time";
  chart.x.label = "seconds";
  chart.x.mark = [](double value) { return fmt::format("{:.4g}", value); };
  chart.x.value = [](double value) { return fmt::format("at {:.2f} s", value); };
  chart.y = std::move(y);
  chart.series = series;
  chart.bands = bands;
  return ChartCard(title, "", LegendOf(series), RenderLineChart(chart));
}

}  // namespace

std::string RateCard(const std::string& title, const std::vector<ChartSeries>& series,
                     const std::vector<ChartBand>& bands) {
  ChartAxis y;
  y.label = "a second";
  y.mark = TickNumber;
  y.value = [](double value) { return ShortNumber(value) + "/s"; };
  return OverTime(title, "counts a second", std::move(y), series, bands);
}

std::string ShareCard(const std::string& title, const std::vector<ChartSeries>& series,
                      const std::vector<ChartBand>& bands) {
  ChartAxis y;
  y.label = "% of a thread's time";
  y.mark = TickNumber;
  y.value = [](double value) { return ShortNumber(value) + " %"; };
  return OverTime(title, "share of a thread's time", std::move(y), series, bands);
}

std::string BytesCard(const std::string& title, const std::vector<ChartSeries>& series,
                      const std::vector<ChartBand>& bands) {
  ChartAxis y;
  y.label = "MiB";
  y.mark = TickNumber;
  y.value = [](double value) { return ShortBytes(value * (1 << 20)); };
  std::vector<ChartSeries> scaled = series;
  for (ChartSeries& one : scaled) {
    for (ChartPoint& point : one.points) point.y /= 1 << 20;
  }
  return OverTime(title, "bytes of the pool", std::move(y), scaled, bands);
}

std::string LatencyCard(const std::string& title, const std::vector<ChartSeries>& series) {
  LineChart chart;
  chart.title = title + ": latency percentiles";
  chart.x.label = "share of operations that took no longer";
  for (const Percentile& percentile : kPercentiles) {
    chart.x.ticks.push_back({percentile.place, percentile.label});
  }
  chart.x.value = [](double place) {
    for (const Percentile& percentile : kPercentiles) {
      if (std::abs(percentile.place - place) < 1e-6) return std::string(percentile.label);
    }
    return std::string();
  };
  chart.y.log = true;
  chart.y.mark = TickDuration;
  chart.y.value = ShortDuration;
  chart.series = series;
  return ChartCard(title, "", LegendOf(series), RenderLineChart(chart));
}

std::string TimesText(double ratio) { return ShortNumber(ratio) + " \u00d7"; }

std::string RatioCard(std::vector<ChartGroup> groups,
                      const std::vector<std::pair<std::string, int>>& legend,
                      const std::string& remark) {
  if (groups.empty()) return {};
  BarChart chart;
  chart.title = "braid's rate divided by that of each other store";
  chart.axis_label = "right of the line braid is faster, left of it slower";
  chart.ratio = true;
  chart.mark = [](double ratio) { return TickNumber(ratio) + "\u00d7"; };
  chart.groups = std::move(groups);
  for (ChartGroup& group : chart.groups) {
    for (ChartBar& bar : group.bars) bar.text = TimesText(bar.value);
  }
  return ChartCard("braid beside the others: its rate divided by theirs", remark, legend,
                   RenderBarChart(chart));
}

std::vector<ChartPoint> LatencyPoints(const Json& latency) {
  std::vector<ChartPoint> points;
  for (const Percentile& percentile : kPercentiles) {
    std::optional<double> value = NumberAt(latency, percentile.key);
    if (!value) value = NumberAt(latency, std::string(percentile.key) + "/median");
    // A logarithm has no place for nought; a clock that did not move is less than its step.
    if (value) points.push_back({percentile.place, std::max(1.0, *value)});
  }
  return points;
}

std::string Section(const std::string& heading, const std::string& content) {
  if (content.empty()) return {};
  return "<section>\n<h3>" + EscapeHtml(heading) + "</h3>\n" + content + "</section>\n";
}

std::string Grid(const std::string& cards) {
  return cards.empty() ? cards : "<div class=\"grid\">\n" + cards + "</div>\n";
}

std::string SizesTitle(const Json& parameters) {
  std::string title;
  const auto add = [&](const char* key, const char* unit) {
    const std::optional<double> value = NumberAt(parameters, key);
    if (value) title += (title.empty() ? "" : ", ") + GroupedText(*value) + unit;
  };
  add("key_size", "-byte keys");
  add("value_size", "-byte values");
  add("threads", NumberAt(parameters, "threads") == 1.0 ? " thread" : " threads");
  return title;
}

std::string WorkloadTitle(const Json& parameters) {
  const std::optional<double> records = NumberAt(parameters, "num");
  return (records ? GroupedText(*records) + " records, " : "") + SizesTitle(parameters);
}

std::string MachineAndParameters(const Json& document) {
  std::string html = "<div class=\"columns\">\n";
  const auto add = [&](const char* heading, const char* key) {
    const Json* object = Find(document, key);
    if (object == nullptr || !object->is_object()) return;
    html += fmt::format("<div class=\"card\"><h4>{}</h4>\n{}</div>\n", heading,
                        FactsTable(FactsOf(*object)));
  };
  add("Machine and build", "machine");
  add("Parameters", "parameters");
  std::string engines;
  if (const Json* one = Find(document, "engine"); one != nullptr) {
    engines += EngineFacts(TextAt(*one, "name"), *one);
  }
  if (const Json* several = Find(document, "engines"); several != nullptr) {
    for (const auto& [name, engine] : several->items()) engines += EngineFacts(name, engine);
  }
  if (!engines.empty()) html += "<div class=\"card\"><h4>Stores</h4>\n" + engines + "</div>\n";
  return html + "</div>\n";
}

}  // namespace braid::bench
