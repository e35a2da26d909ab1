// Charts as inline SVG: lines over an axis, and horizontal bars. Colours are classes s0, s1, ...
// that the page's style sheet fills in, for light and for dark. What a mark stands for shows when
// the pointer rests on it, by SVG's own titles, without a script.
//
// Thread safety: functions without state.
// Persistence: none.
// Invariants:
//   1. Text stays inside the picture and off other text: margins follow the longest label.
//   2. A chart without values says "no values" instead of showing empty axes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace braid::bench {

/// Values at equal classes of colour; those beyond repeat.
inline constexpr int kChartColours = 6;

using NumberFormat = std::function<std::string(double)>;

struct ChartTick {
  double at = 0;
  std::string label;
};

struct ChartAxis {
  std::string label;
  bool log = false;
  NumberFormat mark;             ///< a tick
  NumberFormat value;            ///< a value that is pointed at
  std::vector<ChartTick> ticks;  ///< empty: chosen, and the axis ends at one
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  double width = 0;  ///< the value holds from x to x + width; 0: a point, joined to the next
};

struct ChartSeries {
  std::string name;
  int colour = 0;
  std::vector<ChartPoint> points;
};

/// A part of the x axis with a name of its own.
struct ChartBand {
  double from = 0;
  double to = 0;
  std::string label;
};

struct LineChart {
  std::string title;  ///< for readers that show no pictures
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  std::vector<ChartBand> bands;
};

struct ChartBar {
  std::string name;
  int colour = 0;
  double value = 0;
  std::string text;  ///< behind the bar
};

struct ChartGroup {
  std::string label;
  std::vector<ChartBar> bars;
};

struct BarChart {
  std::string title;
  std::string axis_label;
  bool ratio = false;  ///< bars leave a line at 1, on a logarithmic axis; else at 0, linear
  NumberFormat mark;
  std::vector<ChartGroup> groups;
};

std::string RenderLineChart(const LineChart& chart);
std::string RenderBarChart(const BarChart& chart);

/// Multiples of 1, 2 or 5 times a power of ten that enclose [least, most], about `wanted` of them.
std::vector<double> LinearTicks(double least, double most, int wanted);
/// Powers of ten that enclose [least, most]; also 2 and 5 times them when these are few.
std::vector<double> LogTicks(double least, double most);

}  // namespace braid::bench
