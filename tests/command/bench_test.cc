// bench: the files it writes, and what it refuses before it measures.
#include <nlohmann/json.hpp>
#include <string>

#include "bench/harness/xml_check.h"
#include "command/command_runner.h"

namespace braid::test {
namespace {

using nlohmann::json;

class BenchCommandTest : public CommandTest {};

TEST_F(BenchCommandTest, TheReportIsAPageOfTheResults) {
  const std::string page_path = Path("report.html");
  const std::string json_path = Path("result.json");
  const std::string out =
      Out({"bench", Pool(), "--benchmarks=fillrandom,readrandom,seekrandom", "--num=20000",
           "--reads=500", "--threads=2", "--pin=0", "--force_media_class=cache_line",
           "--report=" + page_path, "--json=" + json_path});
  EXPECT_NE(out.find("fillrandom"), std::string::npos);
  const json result = json::parse(ReadFileText(json_path));
  const json& fill = result.at("results").at(0);
  const auto puts = fill.at("samples").at("fields").at("puts").get<std::vector<uint64_t>>();
  EXPECT_EQ(puts.back(), 20000u);
  EXPECT_GE(fill.at("settle_samples").at("seconds").size(), 2u) << "settling is watched, too";

  const std::string page = ReadFileText(page_path);
  EXPECT_EQ(bench::XmlProblem(page), "");
  EXPECT_NE(page.find("20,000 records, 16-byte keys, 100-byte values, 2 threads"),
            std::string::npos);
  // Three over time, writes, gets, scans, lines and fences; background work and space of the one
  // that writes; what else there was of stalls and work depends on the machine.
  EXPECT_GE(bench::TextsBetween(page, "<svg ", "</svg>").size(), 9u);
  for (const char* heading : {"Throughput over time", "Latency", "Background work", "Space"}) {
    EXPECT_NE(page.find(std::string("<h3>") + heading + "</h3>"), std::string::npos) << heading;
  }
  EXPECT_EQ(page.find("no values"), std::string::npos);
  EXPECT_FALSE(Exists(Pool())) << "a benchmark leaves no pool behind";
}

TEST_F(BenchCommandTest, AReportThatCannotBeWrittenIsRefusedBeforeMeasuring) {
  const CommandResult result = ExpectError(
      {"bench", Pool(), "--num=1000", "--report=" + Path("none-such/a.html")}, "--report");
  EXPECT_EQ(result.out, "") << "nothing was measured";
  ExpectError({"bench", Pool(), "--num=1000", "--json=" + folder_.path()}, "is a folder");
}

TEST_F(BenchCommandTest, PeersMustSuitTheRun) {
  const std::string peers = File("peers.json", R"({"schema":"braid-compare/1","summary":[
      {"engine":"lmdb","benchmark":"fillrandom","ops_per_second":{"median":1000}}],
      "parameters":{"key_size":16,"value_size":100,"threads":1},"machine":{"time":"yesterday"}})");
  const std::vector<std::string> run = {"bench",
                                        Pool(),
                                        "--benchmarks=fillrandom",
                                        "--pin=0",
                                        "--num=1000",
                                        "--peers=" + peers,
                                        "--report=" + Path("a.html")};
  Out(run);
  EXPECT_NE(ReadFileText(Path("a.html")).find("Beside other stores"), std::string::npos);
  std::vector<std::string> wrong = run;
  wrong.push_back("--threads=2");
  ExpectError(wrong, "2 threads");
  ExpectError({"bench", Pool(), "--peers=" + peers}, "--peers needs --report");
  ExpectError({"bench", Pool(), "--peers=none.json", "--report=" + Path("a.html")}, "none.json");
}

}  // namespace
}  // namespace braid::test
