// What the pages of braid bench and braid-compare have in common: cards with charts, throughput
// over time from samples, latency curves, tables of facts.
//
// Thread safety: functions without state.
// Persistence: none.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/svg_chart.h"

namespace braid::bench {

/// The number at `path` ("counters/fences") of `json`; none when it is missing or null.
std::optional<double> NumberAt(const nlohmann::json& json, const std::string& path);
std::string TextAt(const nlohmann::json& json, const std::string& path);

/// Counters that were read at several moments of a benchmark, and while settling after it.
class Recording {
 public:
  explicit Recording(const nlohmann::json& result);
  bool empty() const { return seconds_.size() < 2; }
  double end() const { return seconds_.empty() ? 0 : seconds_.back(); }
  /// Where settling began and ended; none without settling or samples of it.
  std::optional<ChartBand> settling() const;

  /// Counts a second of the sum of these counters, each a path below "samples"; intervals of
  /// nearly equal length, at most about `most` of them. Empty when none of them was recorded.
  std::vector<ChartPoint> Rates(const std::vector<std::string>& counters, size_t most = 240) const;
  /// The same for a counter that grows when a piece of work is done: the growth is laid over the
  /// time the work took, by `micros`, the counter of that time.
  std::vector<ChartPoint> WorkRates(const std::string& counter, const std::string& micros,
                                    size_t most = 240) const;
  /// The sum of current values over time, at most about `most` of them. Empty when none of them was
  /// recorded.
  std::vector<ChartPoint> Levels(const std::vector<std::string>& values, size_t most = 240) const;
  /// How much a counter grew from the first sample to the last, settling included.
  std::optional<double> Growth(const std::string& counter) const;

 private:
  std::vector<double> Values(const std::string& counter) const;
  std::vector<ChartPoint> RatesOf(const std::vector<double>& values, size_t most) const;

  const nlohmann::json* samples_ = nullptr;
  const nlohmann::json* settle_samples_ = nullptr;
  std::vector<double> seconds_;
  size_t settle_from_ = 0;  // index of the first sample of settling
};

/// A chart in a frame with its title, a remark below it, and the names of its colours.
std::string ChartCard(const std::string& title, const std::string& remark,
                      const std::vector<std::pair<std::string, int>>& legend,
                      const std::string& svg);
std::vector<std::pair<std::string, int>> LegendOf(const std::vector<ChartSeries>& series);

/// Counts a second over time.
std::string RateCard(const std::string& title, const std::vector<ChartSeries>& series,
                     const std::vector<ChartBand>& bands);
/// Percent of one thread's time over time.
std::string ShareCard(const std::string& title, const std::vector<ChartSeries>& series,
                      const std::vector<ChartBand>& bands);
/// Bytes over time.
std::string BytesCard(const std::string& title, const std::vector<ChartSeries>& series,
                      const std::vector<ChartBand>& bands);
/// Percentiles on a logarithmic x axis, latencies on a logarithmic y axis.
std::string LatencyCard(const std::string& title, const std::vector<ChartSeries>& series);
/// braid's rate divided by that of others; nothing without groups. A bar's value is the ratio, its
/// text is made here.
std::string RatioCard(std::vector<ChartGroup> groups,
                      const std::vector<std::pair<std::string, int>>& legend,
                      const std::string& remark);
/// "2.47 x", with the sign for times.
std::string TimesText(double ratio);
/// The points of a latency curve. `latency` has p50_ns and so on, each a number or, in a summary,
/// an object with a median.
std::vector<ChartPoint> LatencyPoints(const nlohmann::json& latency);

/// <section> with a heading; nothing when `content` is empty.
std::string Section(const std::string& heading, const std::string& content);
std::string Grid(const std::string& cards);

/// "16-byte keys, 100-byte values, 4 threads".
std::string SizesTitle(const nlohmann::json& parameters);
/// The same with the number of records before it.
std::string WorkloadTitle(const nlohmann::json& parameters);
/// Tables of the machine, the parameters and the stores, folded.
std::string MachineAndParameters(const nlohmann::json& document);

/// The parts of the page for one document.
std::string RenderBench(const nlohmann::json& document);
std::string RenderCompare(const nlohmann::json& document);

}  // namespace braid::bench
