#include "bench/harness/svg_chart.h"

#include <gtest/gtest.h>

#include "bench/harness/html_text.h"
#include "bench/harness/xml_check.h"

namespace braid::bench {
namespace {

double NumberOf(const std::string& element, const std::string& attribute) {
  const size_t at = element.find(" " + attribute + "=\"");
  return at == std::string::npos ? -1 : std::stod(element.substr(at + attribute.size() + 3));
}

LineChart SomeLines() {
  LineChart chart;
  chart.title = "a <title> & more";
  chart.x.label = "seconds";
  chart.x.mark = chart.x.value = TickNumber;
  chart.y.mark = chart.y.value = TickNumber;
  chart.series = {{"put", 0, {{0, 1'000'000, 0.5}, {0.5, 2'400'000, 0.5}}},
                  {"merge", 4, {{0, 0, 0.5}, {0.5, 350'000, 0.5}}}};
  return chart;
}

TEST(TicksTest, LinearTicksEncloseTheirRange) {
  for (const double most : {0.003, 0.9, 1.0, 7.3, 100.0, 123456.0, 4.2e9}) {
    const std::vector<double> ticks = LinearTicks(0, most, 5);
    EXPECT_EQ(ticks.front(), 0) << most;
    EXPECT_GE(ticks.back(), most * 0.999999) << most;
    EXPECT_GE(ticks.size(), 3u) << most;
    EXPECT_LE(ticks.size(), 7u) << most;
    EXPECT_LT(ticks[ticks.size() - 2], most) << most << ": the last mark must be needed";
  }
  EXPECT_EQ(LinearTicks(0, 0, 5).back(), 1) << "an axis of nothing but noughts has a height";
}

TEST(TicksTest, LogTicksEncloseTheirRangeAndAreFew) {
  for (const auto& [least, most] : {std::pair{0.26, 11.8}, {1.0, 1.0}, {640.0, 5e8}, {3.0, 3.1}}) {
    const std::vector<double> ticks = LogTicks(least, most);
    ASSERT_GE(ticks.size(), 2u) << least;
    EXPECT_LE(ticks.front(), least * 1.001);
    EXPECT_GE(ticks.back(), most * 0.999);
    EXPECT_LE(ticks.size(), 10u) << least;
  }
}

TEST(SvgChartTest, LinesAreWellFormedAndInsideThePicture) {
  const std::string svg = RenderLineChart(SomeLines());
  EXPECT_EQ(XmlProblem(svg), "");
  EXPECT_NE(svg.find("a &lt;title&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(TextsBetween(svg, "<path ", "/>").size(), 2u);
  for (const std::string& text : TextsBetween(svg, "<text ", "</text>")) {
    EXPECT_GE(NumberOf(" " + text, "x"), 0);
    EXPECT_LE(NumberOf(" " + text, "x"), 620);
    EXPECT_LE(NumberOf(" " + text, "y"), 280);
  }
}

TEST(SvgChartTest, AHigherValueIsHigherUp) {
  const std::string svg = RenderLineChart(SomeLines());
  const std::string path = TextsBetween(svg, "<path d=\"", "\"")[0];
  // "Mx y1 Hx Vy2 Hx"
  const double first = std::stod(path.substr(path.find(' ') + 1));
  const double second = std::stod(path.substr(path.find('V') + 1));
  EXPECT_LT(second, first);
}

TEST(SvgChartTest, PointingAtATimeTellsAllValues) {
  const std::string svg = RenderLineChart(SomeLines());
  const std::vector<std::string> titles = TextsBetween(svg, "<title>", "</title>");
  ASSERT_EQ(titles.size(), 2u);
  EXPECT_NE(titles[1].find("put: 2.4 M"), std::string::npos) << titles[1];
  EXPECT_NE(titles[1].find("merge: 350 k"), std::string::npos) << titles[1];
}

TEST(SvgChartTest, StepsThatFollowOneAnotherAreOneLine) {
  LineChart chart = SomeLines();
  // 0.1 + 0.2 is not 0.3 in binary.
  chart.series = {{"put", 0, {{0, 1, 0.1}, {0.1, 2, 0.2}, {0.3, 3, 0.1}}}};
  const std::string path = TextsBetween(RenderLineChart(chart), "<path d=\"", "\"")[0];
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 1) << path;
}

TEST(SvgChartTest, StepsThatDoNotFollowOneAnotherAreNotJoined) {
  LineChart chart = SomeLines();
  chart.series = {{"put", 0, {{0, 1, 1}, {5, 1, 1}}}};
  const std::string path = TextsBetween(RenderLineChart(chart), "<path d=\"", "\"")[0];
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2) << path;
}

TEST(SvgChartTest, ChartsWithoutValuesSaySo) {
  LineChart lines = SomeLines();
  lines.series = {{"put", 0, {}}};
  EXPECT_NE(RenderLineChart(lines).find("no values"), std::string::npos);
  EXPECT_EQ(XmlProblem(RenderLineChart(lines)), "");
  EXPECT_NE(RenderBarChart({}).find("no values"), std::string::npos);
}

TEST(SvgChartTest, RatiosLeaveTheLineAtOneToBothSides) {
  BarChart chart;
  chart.ratio = true;
  chart.mark = TickNumber;
  chart.groups = {{"get", {{"a", 1, 4.0, "4.00 x"}, {"b", 2, 0.25, "0.25 x"}, {"c", 3, 1, "1 x"}}}};
  const std::string svg = RenderBarChart(chart);
  EXPECT_EQ(XmlProblem(svg), "");
  const std::vector<std::string> bars = TextsBetween(svg, "<rect", "</rect>");
  ASSERT_EQ(bars.size(), 3u);
  const double line = NumberOf(bars[0], "x");
  EXPECT_NEAR(NumberOf(bars[1], "x") + NumberOf(bars[1], "width"), line, 0.11);
  EXPECT_NEAR(NumberOf(bars[0], "width"), NumberOf(bars[1], "width"), 0.11)
      << "a quarter is as far away as four times";
  EXPECT_NEAR(NumberOf(bars[2], "x"), line, 0.11);
  EXPECT_NE(svg.find(">0.25 x</text>"), std::string::npos);
}

TEST(SvgChartTest, BarsAreAsLongAsTheirValues) {
  BarChart chart;
  chart.mark = TickNumber;
  chart.groups = {{"put", {{"lines", 0, 4.5, "4.50"}, {"fences", 3, 1.5, "1.50"}}},
                  {"a benchmark with quite a long name", {{"lines", 0, 0.0, "0.00"}}}};
  const std::string svg = RenderBarChart(chart);
  const std::vector<std::string> bars = TextsBetween(svg, "<rect", "</rect>");
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_NEAR(NumberOf(bars[0], "width") / NumberOf(bars[1], "width"), 3, 0.01);
  EXPECT_GT(NumberOf(bars[0], "x"), 34 * 6) << "the name has its room";
}

}  // namespace
}  // namespace braid::bench
