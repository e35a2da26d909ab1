#include "bench/figures/frame/timeline.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace braid::figures {
namespace {

CounterSamples Take(const Json& result, const char* group, std::string_view name) {
  CounterSamples samples;
  const Json& all = result.at("samples");
  samples.seconds = all.at("seconds").get<std::vector<double>>();
  const Json& columns = all.at(group);
  const auto found = columns.find(std::string(name));
  if (found == columns.end()) {
    samples.values.assign(samples.seconds.size(), 0);
  } else {
    samples.values = found->get<std::vector<double>>();
  }
  return samples;
}

}  // namespace

CounterSamples DoneSamples(const Json& result, std::string_view kind) {
  return Take(result, "done", kind);
}

CounterSamples FieldSamples(const Json& result, std::string_view field) {
  return Take(result, "fields", field);
}

Series RateSeries(const std::string& name, const CounterSamples& samples, double factor) {
  Series series{name, {}, {}};
  const size_t count = samples.seconds.size();
  if (count < 2) return series;
  std::vector<double> gaps;
  for (size_t i = 1; i < count; ++i) gaps.push_back(samples.seconds[i] - samples.seconds[i - 1]);
  const double shortest = Median(gaps) / 2;
  size_t from = 0;
  for (size_t to = 1; to < count; ++to) {
    const bool last = to + 1 == count;
    const double gap = samples.seconds[to] - samples.seconds[from];
    // What is left at the end would be a rate over next to no time.
    if (gap < shortest) {
      if (last) break;
      continue;
    }
    series.x.push_back((samples.seconds[to] + samples.seconds[from]) / 2);
    series.y.push_back((samples.values[to] - samples.values[from]) / gap * factor);
    from = to;
  }
  return series;
}

Series JobSeries(const std::string& name, const CounterSamples& entries,
                 const CounterSamples& micros, double factor) {
  Series series{name, {}, {}};
  const auto add = [&series](double x, double y) {
    series.x.push_back(x);
    series.y.push_back(y);
  };
  double idle_since = 0;
  for (size_t i = 1; i < entries.seconds.size(); ++i) {
    const double done = entries.values[i] - entries.values[i - 1];
    const double took = (micros.values[i] - micros.values[i - 1]) / 1e6;
    if (done <= 0 || took <= 0) continue;
    const double end = entries.seconds[i];
    const double begin = std::max(idle_since, end - took);
    const double rate = done / took * factor;
    add(idle_since, 0);
    add(begin, 0);
    add(begin, rate);
    add(end, rate);
    idle_since = end;
  }
  add(idle_since, 0);
  if (!entries.seconds.empty()) add(std::max(idle_since, entries.seconds.back()), 0);
  return series;
}

double Median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double ShareBelow(const Series& series, double part) {
  if (series.y.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double bound = part * Median(series.y);
  const auto below = std::count_if(series.y.begin(), series.y.end(),
                                   [bound](double rate) { return rate < bound; });
  return static_cast<double>(below) / static_cast<double>(series.y.size());
}

double OverallRate(const CounterSamples& samples) {
  if (samples.seconds.size() < 2) return 0;
  return (samples.values.back() - samples.values.front()) /
         (samples.seconds.back() - samples.seconds.front());
}

}  // namespace braid::figures
