#include "bench/harness/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "bench/harness/goals.h"
#include "bench/harness/html_parts.h"
#include "bench/harness/html_text.h"
#include "bench/harness/report.h"
#include "bench/harness/xml_check.h"

namespace braid::bench {
namespace {

using Json = nlohmann::json;

/// A result as the runner makes it, with counters that flush and merge.
BenchmarkResult SomeResult() {
  BenchmarkResult result;
  result.name = "fillrandom";
  result.threads = 3;
  result.seconds = 0.317;
  result.totals.operations = 123'457;
  result.totals.bytes_written = 14'320'012;
  for (uint64_t i = 1; i <= 1000; ++i) {
    result.totals.latency[static_cast<size_t>(OperationKind::kWrite)].Record(i * 731);
  }
  result.counters = {300'771, 123'999, 77'000'000, 300'771 * 64};
  result.settled = true;
  result.settle_seconds = 0.2;
  result.settle_counters = {5'000, 60, 0, 5'000 * 64};
  const auto sample = [](double seconds, uint64_t done, uint64_t flushed, uint64_t merged) {
    ProgressSample made;
    made.seconds = seconds;
    made.done[static_cast<size_t>(OperationKind::kWrite)] = done;
    made.fields = {{"puts", done},
                   {"flushes", flushed / 50'000},
                   {"flushed_entries", flushed},
                   {"flush_micros", flushed / 2},
                   {"merges", merged / 50'000},
                   {"merged_entries", merged},
                   {"merge_micros", merged * 2},
                   {"collected_chunks", 0}};
    return made;
  };
  result.samples = {sample(0, 0, 0, 0), sample(0.1, 41'000, 0, 0), sample(0.2, 80'000, 50'000, 0),
                    sample(0.317, 123'457, 50'000, 0)};
  result.settle_samples = {sample(0, 123'457, 50'000, 0), sample(0.1, 123'457, 100'000, 50'000),
                           sample(0.2, 123'457, 100'000, 100'000)};
  return result;
}

Json BenchDocument(const Json& results) {
  return {{"schema", "braid-bench/1"},
          {"machine", MachineToJson(std::filesystem::temp_directory_path().string())},
          {"parameters", OptionsToJson(WorkloadOptions())},
          {"engine", {{"name", "braid"}, {"version", "1.2.3"}, {"parameters", "design braid"}}},
          {"results", results}};
}

Json SummaryEntry(const char* benchmark, size_t position, const char* engine, double rate) {
  Json entry = {{"benchmark", benchmark},
                {"position", position},
                {"engine", engine},
                {"ops_per_second", {{"median", rate}, {"min", rate * 0.9}, {"max", rate * 1.1}}}};
  double nanos = rate / 100;
  for (const char* key : {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"}) {
    entry[key] = {{"median", nanos}, {"min", nanos}, {"max", nanos}};
    nanos *= 3;
  }
  return entry;
}

Json CompareDocument() {
  Json document = BenchDocument(Json::array());
  document["schema"] = "braid-compare/1";
  document["parameters"]["runs"] = 5;
  document["parameters"]["engines"] = {"lmdb", "braid"};
  document["engines"] = {{"braid", document["engine"]}, {"lmdb", document["engine"]}};
  document.erase("engine");
  document["summary"] = {SummaryEntry("fillrandom", 0, "lmdb", 200'000),
                         SummaryEntry("fillrandom", 0, "braid", 1'300'000),
                         SummaryEntry("readseq", 1, "lmdb", 8'000'000),
                         SummaryEntry("readseq", 1, "braid", 2'000'000)};
  document["runs"] = {
      {{"engine", "braid"}, {"results", Json::array({ResultToJson(SomeResult())})}}};
  return document;
}

std::string Render(const Json& document) {
  const Result<std::string> page = RenderHtmlReport({document});
  EXPECT_TRUE(page.ok()) << page.status().message();
  return page.ok() ? page.value() : "";
}

bool Holds(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

TEST(HtmlTextTest, EscapesWhatXmlWouldMisread) {
  EXPECT_EQ(EscapeHtml("<a b=\"c\" d='e'>&amp;"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  EXPECT_EQ(EscapeHtml("\u00b5s \u20ac \U0001F600"), "\u00b5s \u20ac \U0001F600");
  EXPECT_EQ(EscapeHtml("a\nb"), "a&#10;b");
  // A control character, a lone byte, a cut character, one that is too long, half a surrogate.
  for (const char* bad : {"\x01", "\xff", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80"}) {
    const std::string escaped = EscapeHtml(std::string("x") + bad + "y");
    EXPECT_TRUE(Holds(escaped, "\uFFFD")) << escaped;
    EXPECT_TRUE(escaped.starts_with("x") && escaped.ends_with("y")) << escaped;
  }
}

TEST(HtmlTextTest, NumbersAreShortAndKeepTheirSize) {
  EXPECT_EQ(GroupedText(1'234'567.4), "1,234,567");
  EXPECT_EQ(GroupedText(999.6), "1,000");
  EXPECT_EQ(GroupedText(-1234), "-1,234");
  EXPECT_EQ(GroupedText(0), "0");
  EXPECT_EQ(ShortNumber(2'468'000), "2.47 M");
  EXPECT_EQ(ShortNumber(999'700), "1.00 M") << "not 1,000 k";
  EXPECT_EQ(ShortNumber(0.04), "0.04");
  EXPECT_EQ(ShortNumber(99.97), "100");
  EXPECT_EQ(ShortDuration(640), "640 ns");
  EXPECT_EQ(ShortDuration(2104), "2.10 \u00b5s");
  EXPECT_EQ(ShortDuration(24e6), "24.0 ms");
  EXPECT_EQ(ShortDuration(90e9), "90.0 s");
  EXPECT_EQ(ShortBytes(64.0 * 1024 * 1024), "64.0 MiB");
  EXPECT_EQ(TickNumber(2'500'000), "2.5 M");
  EXPECT_EQ(TickDuration(100), "100 ns");
}

TEST(HtmlReportTest, StallsBackgroundWorkAndSpaceAreShownOverTime) {
  BenchmarkResult told = SomeResult();
  for (std::vector<ProgressSample>* samples : {&told.samples, &told.settle_samples}) {
    for (ProgressSample& sample : *samples) {
      const uint64_t done = sample.fields[0].value;
      const uint64_t merged = sample.fields[5].value;
      sample.fields.insert(sample.fields.end(), {{"stalls", done / 10'000},
                                                 {"stall_micros", done / 4},
                                                 {"stall_pages_micros", done / 4},
                                                 {"stall_l0_micros", 0},
                                                 {"work_flush_micros", done / 10},
                                                 {"work_merge_micros", merged * 2},
                                                 {"l1_bytes", merged * 150},
                                                 {"l1_obsolete_bytes", merged * 10},
                                                 {"log_bytes", done * 150},
                                                 {"pool_free_bytes", 64u << 20}});
    }
  }
  const Json result = ResultToJson(told);
  const std::string page = Render(BenchDocument(Json::array({result})));
  const auto section = [&page](const std::string& heading) {
    const size_t begin = page.find("<h3>" + heading + "</h3>");
    EXPECT_NE(begin, std::string::npos) << heading;
    return page.substr(begin, page.find("</section>", begin) - begin);
  };
  const std::string stalls = section("Stalls");
  EXPECT_TRUE(Holds(stalls, "</i>pages</li>")) << stalls;
  EXPECT_FALSE(Holds(stalls, "</i>l0</li>")) << "nobody waited for it";
  // 123,457 / 4 microseconds, in 12 stalls.
  EXPECT_TRUE(Holds(stalls, "pages 30.9 ms")) << stalls;
  const std::string background = section("Background work");
  EXPECT_TRUE(Holds(background, "</i>merge</li>") && Holds(background, "</i>flush</li>"));
  EXPECT_FALSE(Holds(background, "</i>collect</li>"));
  const std::string space = section("Space");
  for (const char* name : {"live in tables", "logs", "obsolete", "free"}) {
    EXPECT_TRUE(Holds(space, std::string("</i>") + name + "</li>")) << name;
  }
  EXPECT_TRUE(Holds(space, "64.0 MiB")) << "a value that is pointed at";
  const std::vector<ChartPoint> live = Recording(result).Levels({"fields/l1_bytes"});
  ASSERT_EQ(live.size(), 7u) << "each sample, settling included";
  EXPECT_EQ(live.front().y, 0);
  EXPECT_EQ(live.back().y, 100'000 * 150);
  EXPECT_NEAR(live.back().x, 0.517, 1e-9);
  EXPECT_EQ(Recording(result).Levels({"fields/l1_bytes"}, 2).back().y, live.back().y)
      << "the last one is always there";
  EXPECT_TRUE(Recording(result).Levels({"fields/no such"}).empty());
  // What a store without these counters says has none of it.
  Json other = result;
  other["samples"]["fields"] = Json::object();
  other["settle_samples"]["fields"] = Json::object();
  const std::string without = Render(BenchDocument(Json::array({other})));
  for (const char* heading : {"Stalls", "Background work", "Space"}) {
    EXPECT_FALSE(Holds(without, std::string("<h3>") + heading + "</h3>")) << heading;
  }
}

TEST(HtmlReportTest, ThePageIsWellFormedAndNeedsNothingElse) {
  for (const Json& document :
       {BenchDocument(Json::array({ResultToJson(SomeResult())})), CompareDocument()}) {
    const std::string page = Render(document);
    EXPECT_EQ(XmlProblem(page), "");
    for (const char* outside : {"<script", "<link", "<img", "@import", "url(", " src=", " href="}) {
      EXPECT_FALSE(Holds(page, outside)) << outside;
    }
    EXPECT_TRUE(Holds(page, "prefers-color-scheme: dark"));
  }
}

TEST(HtmlReportTest, TheCheckOfWellFormednessFindsWhatIsWrong) {
  const std::string page = Render(CompareDocument());
  for (const char* part : {"</table>", "</svg>", "<tbody>", "</title>"}) {
    std::string broken = page;
    broken.erase(broken.find(part), std::string(part).size());
    EXPECT_NE(XmlProblem(broken), "") << part;
  }
  EXPECT_NE(XmlProblem("<a>x & y</a>"), "");
  EXPECT_NE(XmlProblem("<a b=c>x</a>"), "");
}

TEST(HtmlReportTest, TextsOfTheResultsCannotBecomeMarkup) {
  Json document = BenchDocument(Json::array({ResultToJson(SomeResult())}));
  const std::string evil = "</td><script>\"'&\x01\xff";
  document["results"][0]["benchmark"] = evil;
  document["engine"]["parameters"] = evil;
  document["machine"]["processor"] = evil;
  document["parameters"]["settings"] = {evil};
  document["parameters"]["emulate_pmem"] = evil;
  const std::string page = Render(document);
  EXPECT_EQ(XmlProblem(page), "");
  EXPECT_FALSE(Holds(page, "<script"));
  EXPECT_TRUE(Holds(page, "&lt;/td&gt;&lt;script&gt;&quot;&#39;&amp;"));
}

TEST(HtmlReportTest, EveryNumberOfTheTableComesFromTheResults) {
  const BenchmarkResult result = SomeResult();
  const Json json = ResultToJson(result);
  const std::string page = Render(BenchDocument(Json::array({json})));
  const Json& latency = json.at("latency");
  const double operations = 123'457;
  const std::vector<std::string> expected = {"123,457",
                                             "0.32",
                                             GroupedText(json.at("ops_per_second")),
                                             ShortDuration(latency.at("p50_ns")),
                                             ShortDuration(latency.at("p90_ns")),
                                             ShortDuration(latency.at("p99_ns")),
                                             ShortDuration(latency.at("p99_9_ns")),
                                             ShortDuration(latency.at("p99_99_ns")),
                                             ShortDuration(latency.at("max_ns")),
                                             "77.0 ms",
                                             ShortNumber(300'771 / operations),
                                             ShortNumber(123'999 / operations),
                                             ShortNumber(*result.WriteAmplification()),
                                             "200 ms"};
  const std::vector<std::string> tables =
      TextsBetween(page, "<table class=\"numbers\">", "</table>");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(TextsBetween(tables[0], "<td>", "</td>"), expected);
  // 100,000 entries flushed in 50 ms, 100,000 merged in 200 ms.
  const std::vector<std::string> background = {"2",       "100,000", "50.0 ms",      "500 ns", "2",
                                               "100,000", "200 ms",  "2.00 \u00b5s", "0"};
  EXPECT_EQ(TextsBetween(tables[1], "<td>", "</td>"), background);
}

TEST(HtmlReportTest, RatesOverTimeAreTheDifferencesOfTheSamples) {
  const Json json = ResultToJson(SomeResult());
  const Recording recording(json);
  const std::vector<ChartPoint> puts = recording.Rates({"fields/puts"});
  ASSERT_EQ(puts.size(), 5u) << "three intervals of the benchmark, two of settling";
  EXPECT_NEAR(puts[0].y, 410'000, 1);
  EXPECT_NEAR(puts[1].y, 390'000, 1);
  EXPECT_NEAR(puts[2].y, 43'457 / 0.117, 1);
  EXPECT_EQ(puts[4].y, 0);
  double sum = 0;
  for (const ChartPoint& point : puts) sum += point.y * point.width;
  EXPECT_NEAR(sum, 123'457, 0.1) << "nothing is lost or counted twice";
  ASSERT_TRUE(recording.settling().has_value());
  EXPECT_DOUBLE_EQ(recording.settling()->from, 0.317);
  EXPECT_DOUBLE_EQ(recording.settling()->to, 0.517);
  EXPECT_TRUE(recording.Rates({"fields/no_such_counter"}).empty());
}

TEST(HtmlReportTest, AMergeIsLaidOverTheTimeItTook) {
  const Json json = ResultToJson(SomeResult());
  const Recording recording(json);
  // Two merges of 50,000 entries end at 0.417 and 0.517 s; each took 0.1 s.
  const std::vector<ChartPoint> merged =
      recording.WorkRates("fields/merged_entries", "fields/merge_micros");
  ASSERT_EQ(merged.size(), 5u);
  EXPECT_EQ(merged[2].y, 0);
  EXPECT_NEAR(merged[3].y, 500'000, 1);
  EXPECT_NEAR(merged[4].y, 500'000, 1);

  Json longer = json;
  longer["settle_samples"]["fields"]["merged_entries"] = {0, 0, 100'000};
  longer["settle_samples"]["fields"]["merge_micros"] = {0, 0, 400'000};
  // One that ends at 0.517 s and took 0.4 s: 250,000 a second since 0.117 s.
  const std::vector<ChartPoint> spread =
      Recording(longer).WorkRates("fields/merged_entries", "fields/merge_micros");
  ASSERT_EQ(spread.size(), 5u);
  EXPECT_EQ(spread[0].y, 0);
  EXPECT_NEAR(spread[1].y, 250'000 * 0.83, 100);
  EXPECT_NEAR(spread[4].y, 250'000, 1);
}

TEST(HtmlReportTest, ManySamplesBecomeFewEqualSteps) {
  Json json = ResultToJson(SomeResult());
  json.erase("settle_samples");
  json["samples"] = Json();
  for (int i = 0; i <= 5000; ++i) {
    json["samples"]["seconds"].push_back(i * 0.1);
    json["samples"]["fields"]["puts"].push_back(i * 1000);
  }
  const std::vector<ChartPoint> points = Recording(json).Rates({"fields/puts"});
  EXPECT_LE(points.size(), 241u);
  EXPECT_GE(points.size(), 200u);
  for (const ChartPoint& point : points) EXPECT_NEAR(point.y, 10'000, 1);
}

TEST(HtmlReportTest, ChartsShowPutFlushMergeAndLatencies) {
  const std::string page = Render(BenchDocument(Json::array({ResultToJson(SomeResult())})));
  EXPECT_EQ(TextsBetween(page, "<path ", "/>").size(), 4u) << "three rates and a latency curve";
  EXPECT_TRUE(Holds(page, ">flush: entries into L0</li>"));
  EXPECT_TRUE(Holds(page, ">merge: entries into L1</li>"));
  EXPECT_FALSE(Holds(page, ">get</li>")) << "nothing was read";
  EXPECT_EQ(TextsBetween(page, "<circle ", "/circle>").size(), 6u);
  EXPECT_TRUE(Holds(page, ">settling</text>"));
}

TEST(HtmlReportTest, ComparisonsShowRatiosAndSpreads) {
  const std::string page = Render(CompareDocument());
  EXPECT_TRUE(Holds(page, ">6.50 \u00d7</text>")) << "fillrandom, as a bar";
  EXPECT_TRUE(Holds(page, ">0.25 \u00d7</text>")) << "readseq, where braid is slower";
  EXPECT_TRUE(Holds(page, "<td>6.50 \u00d7</td>"));
  EXPECT_TRUE(Holds(page, "<td>1,300,000 \u00b110 %</td>"));
  Json once = CompareDocument();
  once["summary"][1]["ops_per_second"] = {{"median", 7}, {"min", 7}, {"max", 7}};
  EXPECT_TRUE(Holds(Render(once), "<td>7</td>")) << "one run has no spread";
  EXPECT_TRUE(Holds(page, "<td>162 \u00b5s / 486 \u00b5s</td>")) << "lmdb's tail of fillrandom";
  EXPECT_TRUE(Holds(page, "5 runs of each"));
  EXPECT_EQ(TextsBetween(page, "class=\"bar s1\"", "/>").size(), 2u);
}

TEST(HtmlReportTest, ABenchmarkIsSetBesideEarlierResultsOfTheSameSizes) {
  const Json parameters = OptionsToJson(WorkloadOptions());
  Json other = CompareDocument();
  other["parameters"]["threads"] = 7;
  EXPECT_TRUE(PeersOf(parameters, {other}).status().IsInvalidArgument());
  EXPECT_NE(PeersOf(parameters, {other}).status().message().find("16-byte keys"),
            std::string_view::npos);
  EXPECT_TRUE(PeersOf(parameters, {BenchDocument(Json::array())}).status().IsInvalidArgument());

  Result<Json> peers = PeersOf(parameters, {other, CompareDocument()});
  ASSERT_TRUE(peers.ok()) << peers.status().message();
  ASSERT_EQ(peers->size(), 2u) << "lmdb, with two benchmarks; braid is no peer of its own";
  Json document = BenchDocument(Json::array({ResultToJson(SomeResult())}));
  EXPECT_FALSE(Holds(Render(document), "Beside other stores"));
  document["peers"] = peers.value();
  const std::string page = Render(document);
  EXPECT_EQ(XmlProblem(page), "");
  const double ratio = document["results"][0]["ops_per_second"].get<double>() / 200'000;
  EXPECT_TRUE(Holds(page, ">" + TimesText(ratio) + "</text>")) << ratio;
  EXPECT_EQ(TextsBetween(page, "class=\"bar s1\"", "/>").size(), 1u) << "readseq was not run";
  EXPECT_TRUE(Holds(page, "not side by side"));
}

TEST(HtmlReportTest, RunsWithoutBenchmarksSamplesOrCountersSaySoAndShowNoNoughts) {
  const std::string empty = Render(BenchDocument(Json::array()));
  EXPECT_EQ(XmlProblem(empty), "");
  EXPECT_TRUE(Holds(empty, "No benchmark has run"));
  EXPECT_FALSE(Holds(empty, "<svg"));

  BenchmarkResult bare;
  bare.name = "readrandom";
  const std::string page = Render(BenchDocument(Json::array({ResultToJson(bare)})));
  EXPECT_EQ(XmlProblem(page), "");
  EXPECT_FALSE(Holds(page, "<svg")) << "no samples, no latencies, no counters: no charts";
  EXPECT_TRUE(Holds(page, "<td>-</td>"));

  Json nothing = CompareDocument();
  nothing["summary"] = Json::array();
  nothing["runs"] = Json::array();
  EXPECT_EQ(XmlProblem(Render(nothing)), "");
  EXPECT_TRUE(Holds(Render(nothing), "No benchmark has run"));
}

TEST(HtmlReportTest, ComparisonsWithoutBraidHaveNoRatios) {
  Json document = CompareDocument();
  document["parameters"]["engines"] = {"lmdb"};
  const std::string page = Render(document);
  EXPECT_EQ(XmlProblem(page), "");
  EXPECT_FALSE(Holds(page, "<h3>Ratios</h3>"));
}

/// A comparison of stores that are overwritten again and again: two rounds, two stores.
Json SustainedDocument() {
  Json document = CompareDocument();
  document["parameters"]["scenario"] = "sustained";
  document["parameters"]["engines"] = {"lmdb", "braid"};
  document["machine"]["cores"] = 2;
  document["parameters"]["threads"] = 1;
  document["summary"] = Json::array();
  document["runs"] = Json::array();
  for (const char* engine : {"lmdb", "braid"}) {
    const double rate = engine == std::string("braid") ? 600'000 : 300'000;
    Json entry = SummaryEntry("sustained", 0, engine, rate);
    entry["ops_per_second_settled"] = {{"median", rate / 2}};
    entry["cpu_ns_per_operation"] = {{"median", 1800}};
    entry["peak_bytes_per_live_byte"] = {{"median", 1.9}};
    entry["busy_share"] = {{"median", 0.5}};
    const Json round = {{"ops_per_second", rate},
                        {"p99_99_ns", 5000},
                        {"max_ns", 90'000},
                        {"cpu_ns_per_operation", 1800}};
    entry["rounds"] = {round, round};
    document["summary"].push_back(entry);
    Json result = ResultToJson(SomeResult());
    result.erase("samples");
    result.erase("settle_samples");
    result["space"] = {{"live_bytes", 1000}};
    result["series"] = {{"seconds", {0, 1, 2}},
                        {"operations", {0, 500, 1000}},
                        {"cpu_ns", {0, 1'500'000'000, 2'000'000'000}},
                        {"file_bytes", {1000, 4000, 2000}},
                        {"longest_ns", {0, 50, 60}}};
    document["runs"].push_back({{"engine", engine}, {"results", Json::array({result})}});
  }
  document["goals"] = JudgeGoals(document);
  return document;
}

TEST(HtmlReportTest, AStoreThatIsOverwrittenIsDrawnOverTimeAndRoundByRound) {
  const std::string page = Render(SustainedDocument());
  EXPECT_EQ(XmlProblem(page), "");
  for (const char* title : {"Throughput", "Space", "Processors in use", "Throughput of each round",
                            "Processor time a put", "p99.99 of a put", "Longest put of each round",
                            "Longest put of each moment"}) {
    EXPECT_TRUE(Holds(page, "<figcaption>" + std::string(title) + "</figcaption>")) << title;
  }
  EXPECT_TRUE(Holds(page, "braid: 4.00 bytes")) << "what files take, for each live byte";
  EXPECT_TRUE(Holds(page, "braid: 1.50 processors"));
  EXPECT_TRUE(Holds(page, "lmdb: 500/s"));
  EXPECT_TRUE(Holds(page, "overwrite 1&#10;braid: 600 k/s"));
  EXPECT_TRUE(Holds(page, "\u2020")) << "the machine was busy";
}

TEST(HtmlReportTest, GoalsAreJudgedAndShown) {
  const Json document = SustainedDocument();
  const auto judged = [&](const std::string& what, const std::string& peer) {
    for (const Json& goal : document.at("goals")) {
      if (TextAt(goal, "what") == what && TextAt(goal, "peer") == peer) return goal;
    }
    return Json();
  };
  EXPECT_EQ(judged("rate, settling counted", "lmdb").value("met", true), false);
  EXPECT_DOUBLE_EQ(judged("rate, settling counted", "lmdb").value("value", 0.0), 2);
  EXPECT_TRUE(judged("rate, settling counted", "rocksdb").is_null()) << "it was not measured";
  EXPECT_EQ(judged("bytes for each live byte, at most", "").value("met", false), true);
  EXPECT_EQ(judged("processor time a put, us", "").value("goal", 0.0), 1.5);
  EXPECT_FALSE(judged("longest put, ms", "").is_null()) << "one thread on two cores";
  const std::string page = Render(document);
  EXPECT_TRUE(Holds(page, "missed</td>"));
  EXPECT_TRUE(Holds(page, "met</td>"));

  Json full = document;
  full["parameters"]["threads"] = 2;
  for (const Json& goal : JudgeGoals(full)) EXPECT_NE(TextAt(goal, "what"), "longest put, ms");
}

TEST(HtmlReportTest, RatesBesideAWriterAreSharesOfThoseAtRest) {
  Json document = CompareDocument();
  document["parameters"]["scenario"] = "scan-beside-writer";
  document["summary"] = Json::array();
  for (const char* engine : {"lmdb", "braid"}) {
    document["summary"].push_back(SummaryEntry("readseq", 0, engine, 8'000'000));
    document["summary"].push_back(SummaryEntry("readseq-beside-writer", 1, engine, 2'000'000));
    document["summary"].back()["side_writes_per_second"] = {{"median", 123'000}};
  }
  const std::string page = Render(document);
  EXPECT_EQ(XmlProblem(page), "");
  EXPECT_TRUE(Holds(page, ">25 %</text>"));
  EXPECT_TRUE(Holds(page, ">123 k</text>"));
}

TEST(HtmlReportTest, SeveralResultsShareAPage) {
  const Result<std::string> page = RenderHtmlReport({CompareDocument(), CompareDocument()});
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(XmlProblem(page.value()), "");
  EXPECT_EQ(TextsBetween(page.value(), "<h2>", "</h2>").size(), 2u);
  EXPECT_EQ(TextsBetween(page.value(), "<h1>", "</h1>").size(), 1u);
}

TEST(HtmlReportTest, WhatIsNoResultIsRefused) {
  EXPECT_TRUE(RenderHtmlReport({}).status().IsInvalidArgument());
  EXPECT_TRUE(RenderHtmlReport({Json::object()}).status().IsInvalidArgument());
  EXPECT_TRUE(RenderHtmlReport({{{"schema", "other/1"}}}).status().IsInvalidArgument());
  Json broken = CompareDocument();
  broken["runs"][0].erase("results");
  EXPECT_TRUE(RenderHtmlReport({broken}).status().IsInvalidArgument());
}

TEST(HtmlReportTest, AFileThatCannotBeMadeIsNamedBeforehand) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  EXPECT_TRUE(CheckWritable("--report", (folder / "braid-report-test.html").string()).ok());
  EXPECT_TRUE(CheckWritable("--report", "in-the-working-folder.html").ok());
  for (const std::string& path : {folder.string(), (folder / "none-such" / "a.html").string()}) {
    const Status status = CheckWritable("--report", path);
    EXPECT_TRUE(status.IsInvalidArgument());
    EXPECT_NE(status.message().find("--report"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace braid::bench
