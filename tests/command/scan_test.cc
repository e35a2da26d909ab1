// scan and count: ranges, order, forms of output.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command/command_runner.h"

namespace braid::test {
namespace {

using nlohmann::json;

class ScanCommandTest : public CommandTest {
 protected:
  ScanCommandTest() {
    Out({"load", Pool(), "-"},
        "a\t1\nab\t2\nabc\t3\nb\\x00\t4\nb\\xff\t5\nc\\tt\\\\\tline\\nbreak\n\\xff\t6\n\\xff\\xff\t"
        "7\n");
  }
  std::string Keys(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"scan", Pool(), "--keys-only"});
    std::string joined;
    for (const std::string& line : Lines(Out(arguments))) joined += line + " ";
    return joined;
  }
};

TEST_F(ScanCommandTest, PrintsRecordsInByteOrderWithEscapes) {
  EXPECT_EQ(Out({"scan", Pool()}),
            "a\t1\nab\t2\nabc\t3\nb\\x00\t4\nb\\xff\t5\nc\\tt\\\\\tline\\nbreak\n"
            "\\xff\t6\n\\xff\\xff\t7\n");
}

TEST_F(ScanCommandTest, BoundsIncludeTheFirstAndExcludeTheLast) {
  EXPECT_EQ(Keys({"--from", "ab", "--to", "b"}), "ab abc ");
  EXPECT_EQ(Keys({"--to", "ab"}), "a ");
  EXPECT_EQ(Keys({"--from", "aba", "--to", "abd"}), "abc ");
  EXPECT_EQ(Keys({"--from", "b", "--to", "a"}), "");
  EXPECT_EQ(Keys({"--from", "a", "--to", "a"}), "");
}

TEST_F(ScanCommandTest, PrefixShowsEveryKeyThatStartsWithIt) {
  EXPECT_EQ(Keys({"--prefix", "ab"}), "ab abc ");
  EXPECT_EQ(Keys({"--prefix", "b"}), "b\\x00 b\\xff ");
  EXPECT_EQ(Keys({"--prefix", "zz"}), "");
  EXPECT_EQ(Keys({"--prefix", "ff", "--hex"}), "ff ffff ");
  EXPECT_EQ(Keys({"--prefix", "62ff", "--hex"}), "62ff ");
}

TEST_F(ScanCommandTest, PrefixAndBoundsTogetherMeanBoth) {
  EXPECT_EQ(Keys({"--prefix", "a", "--from", "ab"}), "ab abc ");
  EXPECT_EQ(Keys({"--prefix", "a", "--to", "abc"}), "a ab ");
  EXPECT_EQ(Keys({"--prefix", "ab", "--from", "a", "--to", "z"}), "ab abc ");
  EXPECT_EQ(Keys({"--prefix", "ab", "--from", "b"}), "");
}

TEST_F(ScanCommandTest, ReverseAndLimitGoTogether) {
  EXPECT_EQ(Keys({"--reverse", "--limit", "2"}), "\\xff\\xff \\xff ");
  EXPECT_EQ(Keys({"--limit", "3"}), "a ab abc ");
  EXPECT_EQ(Keys({"--limit", "0"}), "");
  EXPECT_EQ(Keys({"--prefix", "a", "--reverse"}), "abc ab a ");
}

TEST_F(ScanCommandTest, HexIsForKeysAndValues) {
  EXPECT_EQ(Out({"scan", Pool(), "--hex", "--from", "63"}),
            "6309745c\t6c696e650a627265616b\nff\t36\nffff\t37\n");
}

TEST_F(ScanCommandTest, JsonIsAnObjectALine) {
  const std::vector<std::string> lines = Lines(Out({"scan", Pool(), "--json"}));
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(json::parse(lines[0]), json({{"key", "a"}, {"value", "1"}}));
  EXPECT_EQ(json::parse(lines[3]), json({{"key", std::string("b\0", 2)}, {"value", "4"}}));
  EXPECT_EQ(json::parse(lines[5]), json({{"key", "c\tt\\"}, {"value", "line\nbreak"}}));
  EXPECT_EQ(json::parse(lines[7]), json({{"key_hex", "ffff"}, {"value", "7"}}));
  EXPECT_EQ(Out({"scan", Pool(), "--json", "--keys-only", "--limit", "1"}), "{\"key\":\"a\"}\n");
  EXPECT_EQ(Out({"scan", Pool(), "--json", "--hex", "--limit", "1"}),
            "{\"key_hex\":\"61\",\"value_hex\":\"31\"}\n");
}

TEST_F(ScanCommandTest, CountIsWhatScanPrints) {
  EXPECT_EQ(Out({"count", Pool()}), "8\n");
  EXPECT_EQ(Out({"count", Pool(), "--prefix", "ab"}), "2\n");
  EXPECT_EQ(Out({"count", Pool(), "--from", "b", "--to", "c"}), "2\n");
  EXPECT_EQ(Out({"count", Pool(), "--from", "c", "--to", "b"}), "0\n");
  EXPECT_EQ(json::parse(Out({"count", Pool(), "--json", "--prefix", "ff", "--hex"})),
            json({{"count", 2}}));
}

TEST_F(ScanCommandTest, FullDiskBelowTheOutputIsAnError) {
  // The shell stands between, since the harness keeps stdout to itself.
  const std::string script =
      "'" + CommandPath() + "' scan '" + Pool() + "' >/dev/full 2>'" + Path("err") + "'";
  const int status = std::system(script.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(ReadFileText(Path("err")).find("can't write the output"), std::string::npos);
}

TEST_F(ScanCommandTest, ReaderOfThePipeMayGoAway) {
  std::string records;
  for (int i = 0; i < 50000; ++i) records += "key" + std::to_string(i) + "\tsome value\n";
  Out({"load", Pool(), "-"}, records);
  const std::string script = "{ '" + CommandPath() + "' scan '" + Pool() + "' 2>'" + Path("err") +
                             "'; echo $? >'" + Path("code") + "'; } | head -n 1 >/dev/null";
  EXPECT_EQ(std::system(script.c_str()), 0);
  EXPECT_EQ(ReadFileText(Path("code")), "0\n");
  EXPECT_EQ(ReadFileText(Path("err")), "");
}

}  // namespace
}  // namespace braid::test
