#include "bench/harness/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "bench/harness/html_text.h"

namespace braid::bench {
namespace {

constexpr double kWidth = 620;
constexpr double kLineHeight = 280;
constexpr double kLetter = 6.7;  // a wide one at 12 px
constexpr double kRight = 22;
constexpr size_t kMostHovers = 400;

double TextWidth(const std::string& text) {
  // Bytes that continue a UTF-8 character take no room.
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return static_cast<double>(letters) * kLetter;
}

std::string Open(double height, const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n",
      kWidth, height, EscapeHtml(title));
}

std::string Text(double x, double y, const char* style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                     EscapeHtml(text));
}

std::string Line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, style);
}

std::string Nothing(const std::string& title) {
  return Open(60, title) + Text(kWidth / 2, 34, "label middle", "no values") + "</svg>\n";
}

/// Maps values of an axis to pixels.
class Scale {
 public:
  Scale(bool log, double from_value, double to_value, double from_pixel, double to_pixel)
      : log_(log),
        from_(Of(from_value)),
        to_(Of(to_value)),
        pixel_(from_pixel),
        pixels_(to_pixel - from_pixel) {}
  double At(double value) const { return pixel_ + (Of(value) - from_) / (to_ - from_) * pixels_; }

 private:
  double Of(double value) const { return log_ ? std::log10(std::max(value, 1e-9)) : value; }
  bool log_;
  double from_;
  double to_;
  double pixel_;
  double pixels_;
};

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void Add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  bool empty() const { return least > most; }
};

std::vector<ChartTick> TicksOf(const ChartAxis& axis, Range range, int wanted) {
  if (!axis.ticks.empty()) return axis.ticks;
  std::vector<double> at;
  if (axis.log) {
    at = LogTicks(std::max(range.least, 1e-9), range.most);
  } else {
    at = LinearTicks(std::min(0.0, range.least), range.most, wanted);
  }
  std::vector<ChartTick> ticks;
  ticks.reserve(at.size());
  for (const double value : at) ticks.push_back({value, axis.mark(value)});
  return ticks;
}

double WidestOf(const std::vector<ChartTick>& ticks) {
  double widest = 0;
  for (const ChartTick& tick : ticks) widest = std::max(widest, TextWidth(tick.label));
  return widest;
}

/// The lines, marks and areas of a line chart, once its axes are known.
class LinePlot {
 public:
  LinePlot(const LineChart& chart, Range x, Range y)
      : chart_(chart),
        x_ticks_(TicksOf(chart.x, x, 8)),
        y_ticks_(TicksOf(chart.y, y, 5)),
        left_(WidestOf(y_ticks_) + 14),
        top_(chart.y.label.empty() ? 14 : 30),
        bottom_(kLineHeight - 48),
        // Time ends where its values end; other axes end at a mark.
        x_(chart.x.log, x_ticks_.front().at,
           chart.x.ticks.empty() ? std::max(x.most, 1e-9) : x_ticks_.back().at, left_,
           kWidth - kRight),
        y_(chart.y.log, y_ticks_.front().at, y_ticks_.back().at, bottom_, top_),
        x_most_(x.most) {}

  std::string ToSvg() const {
    std::string svg = Open(kLineHeight, chart_.title) + Bands() + Axes();
    for (const ChartSeries& series : chart_.series) svg += Path(series);
    svg += Hovers();
    for (const ChartSeries& series : chart_.series) svg += Marks(series);
    return svg + "</svg>\n";
  }

 private:
  std::string Axes() const {
    std::string svg;
    for (const ChartTick& tick : y_ticks_) {
      svg += Line(left_, y_.At(tick.at), kWidth - kRight, y_.At(tick.at), "grid");
      svg += Text(left_ - 8, y_.At(tick.at) + 4, "label end", tick.label);
    }
    if (!chart_.y.label.empty()) svg += Text(4, 14, "label", chart_.y.label);
    svg += Line(left_, bottom_, kWidth - kRight, bottom_, "axis");
    for (const ChartTick& tick : x_ticks_) {
      if (chart_.x.ticks.empty() && tick.at > x_most_) continue;
      const double x = x_.At(tick.at);
      svg += Line(x, bottom_, x, bottom_ + 5, "axis");
      // The mark at the right edge would leave the picture when it is long.
      const double limit = kWidth - TextWidth(tick.label) / 2 - 2;
      svg += Text(std::min(x, limit), bottom_ + 19, "label middle", tick.label);
    }
    svg += Text((left_ + kWidth - kRight) / 2, kLineHeight - 8, "label middle", chart_.x.label);
    return svg;
  }

  std::string Bands() const {
    std::string svg;
    for (const ChartBand& band : chart_.bands) {
      const double from = x_.At(band.from);
      const double width = std::max(1.0, x_.At(band.to) - from);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"band\">"
          "<title>{}</title></rect>\n",
          from, top_, width, bottom_ - top_, EscapeHtml(band.label));
      if (width > TextWidth(band.label) + 12) {
        svg += Text(from + 6, top_ + 14, "label", band.label);
      }
    }
    return svg;
  }

  std::string Path(const ChartSeries& series) const {
    std::string path;
    double end = std::numeric_limits<double>::quiet_NaN();
    for (const ChartPoint& point : series.points) {
      const double y = y_.At(point.y);
      // Steps that do not follow one another, and lines, begin and go on differently.
      const bool follows = point.width > 0 ? std::abs(x_.At(point.x) - end) < 0.1 : !path.empty();
      if (!follows) {
        path += fmt::format("M{:.1f} {:.1f}", x_.At(point.x), y);
      } else if (point.width > 0) {
        path += fmt::format("V{:.1f}", y);
      } else {
        path += fmt::format("L{:.1f} {:.1f}", x_.At(point.x), y);
      }
      if (point.width > 0) path += fmt::format("H{:.1f}", x_.At(point.x + point.width));
      end = x_.At(point.x + point.width);
    }
    return fmt::format("<path d=\"{}\" class=\"line s{}\"/>\n", path,
                       series.colour % kChartColours);
  }

  std::string Marks(const ChartSeries& series) const {
    std::string svg;
    for (const ChartPoint& point : series.points) {
      if (point.width > 0) continue;
      svg += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" class=\"mark s{}\"><title>{}</title>"
          "</circle>\n",
          x_.At(point.x), y_.At(point.y), series.colour % kChartColours,
          EscapeHtml(series.name + "\n" + chart_.x.value(point.x) + ": " +
                     chart_.y.value(point.y)));
    }
    return svg;
  }

  /// Invisible columns that tell the values of all series at their place.
  std::string Hovers() const {
    std::set<double> edges;
    for (const ChartSeries& series : chart_.series) {
      for (const ChartPoint& point : series.points) {
        if (point.width <= 0) continue;
        edges.insert(point.x);
        edges.insert(point.x + point.width);
      }
    }
    std::string svg;
    const size_t stride = edges.size() / kMostHovers + 1;
    size_t index = 0;
    double from = std::numeric_limits<double>::quiet_NaN();
    for (const double edge : edges) {
      if (index++ % stride != 0 && edge != *edges.rbegin()) continue;
      if (!std::isnan(from)) svg += Hover(from, edge);
      from = edge;
    }
    return svg;
  }

  std::string Hover(double from, double to) const {
    std::string text = chart_.x.value(from);
    const double middle = (from + to) / 2;
    for (const ChartSeries& series : chart_.series) {
      const auto at = std::find_if(series.points.begin(), series.points.end(),
                                   [middle](const ChartPoint& point) {
                                     return point.x <= middle && middle < point.x + point.width;
                                   });
      if (at != series.points.end()) text += "\n" + series.name + ": " + chart_.y.value(at->y);
    }
    return fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" class=\"hover\">"
        "<title>{}</title></rect>\n",
        x_.At(from), top_, x_.At(to) - x_.At(from), bottom_ - top_, EscapeHtml(text));
  }

  const LineChart& chart_;
  std::vector<ChartTick> x_ticks_;
  std::vector<ChartTick> y_ticks_;
  double left_;
  double top_;
  double bottom_;
  Scale x_;
  Scale y_;
  double x_most_;
};

constexpr double kBarHeight = 17;
constexpr double kBarGap = 3;
constexpr double kGroupGap = 13;

class BarPlot {
 public:
  BarPlot(const BarChart& chart, Range values)
      : chart_(chart),
        ticks_(Ticks(chart, values)),
        base_(chart.ratio ? 1 : 0),
        left_(Left(chart)),
        scale_(chart.ratio, ticks_.front(), ticks_.back(), left_,
               kWidth - kRight - TextRoom(chart)) {}

  std::string ToSvg() const {
    double height = kTop;
    for (const ChartGroup& group : chart_.groups) height += GroupHeight(group) + kGroupGap;
    const double bottom = height;
    std::string svg = Open(bottom + 44, chart_.title);
    double last = -1e9;
    for (const double tick : ticks_) {
      const double x = scale_.At(tick);
      svg += Line(x, kTop, x, bottom, tick == base_ ? "axis" : "grid");
      const std::string label = chart_.mark(tick);
      // Marks of a logarithmic axis are not equally far apart: those that would touch stay bare.
      if (x - last < TextWidth(label) + 10 && tick != base_) continue;
      svg += Text(x, bottom + 17, "label middle", label);
      last = x;
    }
    double y = kTop + kGroupGap / 2;
    for (const ChartGroup& group : chart_.groups) {
      svg += Text(4, y + GroupHeight(group) / 2 + 4, "name", group.label);
      for (const ChartBar& bar : group.bars) {
        svg += Bar(group, bar, y);
        y += kBarHeight + kBarGap;
      }
      y += kGroupGap;
    }
    svg += Text((left_ + kWidth - kRight) / 2, bottom + 36, "label middle", chart_.axis_label);
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kTop = 6;

  static double GroupHeight(const ChartGroup& group) {
    return static_cast<double>(group.bars.size()) * (kBarHeight + kBarGap);
  }
  static double TextRoom(const BarChart& chart) {
    double room = 0;
    for (const ChartGroup& group : chart.groups) {
      for (const ChartBar& bar : group.bars) room = std::max(room, TextWidth(bar.text));
    }
    return room + 10;
  }
  static double Left(const BarChart& chart) {
    double widest = 0;
    for (const ChartGroup& group : chart.groups) {
      widest = std::max(widest, TextWidth(group.label));
    }
    // Bars of ratios below 1 grow to the left and have their text there.
    return widest + 18 + (chart.ratio ? TextRoom(chart) : 0);
  }
  static std::vector<double> Ticks(const BarChart& chart, Range values) {
    if (!chart.ratio) return LinearTicks(0, values.most, 5);
    return LogTicks(std::min(values.least, 1.0), std::max(values.most, 1.0));
  }

  std::string Bar(const ChartGroup& group, const ChartBar& bar, double y) const {
    const double base = scale_.At(base_);
    const double end = scale_.At(bar.value);
    const bool leftwards = end < base;
    std::string svg = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" "
        "class=\"bar s{}\"><title>{}</title></rect>\n",
        std::min(base, end), y, std::max(1.0, std::abs(end - base)), kBarHeight,
        bar.colour % kChartColours, EscapeHtml(group.label + "\n" + bar.name + ": " + bar.text));
    svg += Text(leftwards ? end - 6 : std::max(end, base) + 6, y + 13,
                leftwards ? "value end" : "value", bar.text);
    return svg;
  }

  const BarChart& chart_;
  std::vector<double> ticks_;
  double base_;
  double left_;
  Scale scale_;
};

}  // namespace

std::vector<double> LinearTicks(double least, double most, int wanted) {
  if (!(most > least)) most = least + 1;
  const double rough = (most - least) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * 1.0001) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::floor(least / step + 1e-9);
  // Products, not sums: a mark is exactly what its label says.
  for (double i = first;; ++i) {
    ticks.push_back(i * step);
    if (i * step >= most - step * 1e-9) break;
  }
  return ticks;
}

std::vector<double> LogTicks(double least, double most) {
  const bool few = most / least < 300;
  std::vector<double> all;
  for (double power = std::floor(std::log10(least)); power <= std::ceil(std::log10(most));
       ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && !few) continue;
      all.push_back(factor * std::pow(10, power));
    }
  }
  size_t first = 0;
  while (first + 1 < all.size() && all[first + 1] <= least * 1.0001) ++first;
  size_t last = all.size() - 1;
  while (last > first + 1 && all[last - 1] >= most * 0.9999) --last;
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(last) + 1};
}

std::string RenderLineChart(const LineChart& chart) {
  Range x;
  Range y;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      x.Add(point.x);
      x.Add(point.x + point.width);
      y.Add(point.y);
    }
  }
  if (x.empty()) return Nothing(chart.title);
  for (const ChartBand& band : chart.bands) x.Add(band.to);
  return LinePlot(chart, x, y).ToSvg();
}

std::string RenderBarChart(const BarChart& chart) {
  Range values;
  for (const ChartGroup& group : chart.groups) {
    for (const ChartBar& bar : group.bars) values.Add(bar.value);
  }
  if (values.empty()) return Nothing(chart.title);
  return BarPlot(chart, values).ToSvg();
}

}  // namespace braid::bench
