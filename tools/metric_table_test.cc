#include "tools/metric_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace braid::tools {
namespace {

TEST(MetricTableTest, NamesEveryStatisticOnceAndNoOther) {
  std::map<std::string, bool> fields;
  for (const StatisticsField& field : ListFields({})) {
    // Those of histograms, see below.
    if (!std::string_view(field.name).starts_with("latency_")) {
      fields[field.name] = field.monotonic;
    }
  }
  std::set<std::string> seen;
  for (const Metric& metric : MetricTable()) {
    EXPECT_TRUE(seen.insert(metric.field).second) << metric.field << " is there twice";
    ASSERT_TRUE(fields.contains(metric.field)) << metric.field << " is no field of Statistics";
    EXPECT_EQ(metric.counter, fields[metric.field]) << metric.field;
  }
  for (const auto& [field, monotonic] : fields) {
    EXPECT_TRUE(seen.contains(field)) << "add '" << field << "' to MetricTable()";
  }
}

TEST(MetricTableTest, NamesFollowTheConventions) {
  std::set<std::string> closed;
  std::string last;
  std::set<std::string> lines;
  for (const Metric& metric : MetricTable()) {
    const std::string name = metric.name;
    EXPECT_TRUE(name.starts_with("braid_")) << name;
    EXPECT_EQ(name.ends_with("_total"), metric.counter) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos);
    const std::string field = metric.field;
    EXPECT_EQ(field.ends_with("_micros"), name.find("_seconds") != std::string::npos) << name;
    EXPECT_EQ(metric.unit, field.ends_with("_micros") ? 1e-6 : 1) << name;
    EXPECT_EQ(field.find("bytes") != std::string::npos, name.find("_bytes") != std::string::npos);
    EXPECT_TRUE(lines.insert(name + "{" + metric.label + "}").second) << name;
    // Lines of one name must not be parted by others.
    EXPECT_TRUE(name == last || closed.insert(name).second) << name << " is in two places";
    last = name;
  }
}

TEST(MetricTableTest, TextHasHelpTypeAndValue) {
  StatsSnapshot snapshot;
  snapshot.seconds = 2.5;
  snapshot.values = {{"puts", 7},
                     {"flush_micros", 1500000},
                     {"upper_visits_local", 1},
                     {"upper_visits_remote", 2},
                     {"of another version", 9}};
  MetricsSource source;
  source.pool = "a \"quoted\\path\"\n";
  source.facts = {{"design", "braid"}};
  source.snapshot = &snapshot;
  const std::string pool = R"(pool="a \"quoted\\path\"\n")";
  EXPECT_EQ(
      MetricsText(source),
      "# HELP braid_up 1 while a process tells what it does with the pool, else 0\n"
      "# TYPE braid_up gauge\n"
      "braid_up{" +
          pool +
          "} 1\n"
          "# HELP braid_info Always 1; the labels say what the pool is\n"
          "# TYPE braid_info gauge\n"
          "braid_info{" +
          pool +
          ",design=\"braid\"} 1\n"
          "# HELP braid_uptime_seconds Time since the process began to tell, mostly when it "
          "opened\n"
          "# TYPE braid_uptime_seconds gauge\n"
          "braid_uptime_seconds{" +
          pool +
          "} 2.5\n"
          "# HELP braid_puts_total Keys stored, those of batches included\n"
          "# TYPE braid_puts_total counter\n"
          "braid_puts_total{" +
          pool +
          "} 7\n"
          "# HELP braid_flush_seconds_total Time these flushes took\n"
          "# TYPE braid_flush_seconds_total counter\n"
          "braid_flush_seconds_total{" +
          pool +
          "} 1.5\n"
          "# HELP braid_node_visits_total Nodes of lists that gets have visited, by layer and by "
          "region; 0 without lists.count_visits\n"
          "# TYPE braid_node_visits_total counter\n"
          "braid_node_visits_total{" +
          pool +
          ",layer=\"upper\",region=\"local\"} 1\n"
          "braid_node_visits_total{" +
          pool + ",layer=\"upper\",region=\"remote\"} 2\n");
}

TEST(MetricTableTest, LatenciesAreHistogramsWhoseBucketsAddUp) {
  Statistics statistics;
  LatencyHistogram& of = statistics.latencies[static_cast<size_t>(LatencyKind::kGet)];
  const auto add = [&of](uint64_t nanos, uint64_t count) {
    of.buckets[LatencyHistogram::BucketOf(nanos)] += count;
    of.count += count;
    of.sum_nanos += nanos * count;
  };
  add(100, 3);             // below the first bound, 128 ns
  add(1000, 5);            // below 1,024 ns
  add(1'000'000, 2);       // a millisecond
  add(60'000'000'000, 1);  // more than the last bound
  StatsSnapshot snapshot = MakeSnapshot(statistics);
  MetricsSource source;
  source.pool = "p";
  source.snapshot = &snapshot;
  const std::string text = MetricsText(source);
  const auto line = [&](const std::string& rest) {
    return text.find("braid_latency_seconds" + rest + "\n") != std::string::npos;
  };
  EXPECT_NE(text.find("# TYPE braid_latency_seconds histogram\n"), std::string::npos) << text;
  EXPECT_TRUE(line("_bucket{pool=\"p\",kind=\"get\",le=\"1.28e-07\"} 3")) << text;
  EXPECT_TRUE(line("_bucket{pool=\"p\",kind=\"get\",le=\"5.12e-07\"} 3")) << text;
  EXPECT_TRUE(line("_bucket{pool=\"p\",kind=\"get\",le=\"1.024e-06\"} 8")) << text;
  EXPECT_TRUE(line("_bucket{pool=\"p\",kind=\"get\",le=\"0.001048576\"} 10")) << text;
  EXPECT_TRUE(line("_bucket{pool=\"p\",kind=\"get\",le=\"17.179869184\"} 10")) << text;
  EXPECT_TRUE(line("_bucket{pool=\"p\",kind=\"get\",le=\"+Inf\"} 11")) << text;
  EXPECT_TRUE(line("_count{pool=\"p\",kind=\"get\"} 11")) << text;
  EXPECT_TRUE(line("_count{pool=\"p\",kind=\"put\"} 0")) << text;
  EXPECT_NE(text.find("braid_latency_seconds_sum{pool=\"p\",kind=\"get\"} 60.002"),
            std::string::npos)
      << text;
}

TEST(MetricTableTest, WithoutAProcessOnlyThatIsSaid) {
  MetricsSource source;
  source.pool = "p";
  const std::string text = MetricsText(source);
  EXPECT_NE(text.find("braid_up{pool=\"p\"} 0\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("braid_puts"), std::string::npos) << text;
}

}  // namespace
}  // namespace braid::tools
