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
  // Three over time, writes, gets, scans, lines and fences.
  EXPECT_EQ(bench::TextsBetween(page, "<svg ", "</svg>").size(), 7u);
  EXPECT_EQ(page.find("no values"), std::string::npos);
  EXPECT_FALSE(Exists(Pool())) << "a benchmark leaves no pool behind";
}

TEST_F(BenchCommandTest, AReportThatCannotBeWrittenIsRefusedBeforeMeasuring) {
  const CommandResult result = ExpectError(
      {"bench", Pool(), "--num=1000", "--report=" + Path("none-such/a.html")}, "--report");
  EXPECT_EQ(result.out, "") << "nothing was measured";
  ExpectError({"bench", Pool(), "--num=1000", "--json=" + folder_.path()}, "is a folder");
}

}  // namespace
}  // namespace braid::test
