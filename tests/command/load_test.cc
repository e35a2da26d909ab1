// load: its formats, bad input, going on after a stop, and what a kill leaves.
#include <fcntl.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "command/command_runner.h"
#include "support/environment.h"

namespace braid::test {
namespace {

using nlohmann::json;

class LoadCommandTest : public CommandTest {
 protected:
  // Loads `text` from a file named "in" and returns the counts that --json gives.
  json Load(const std::string& text, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"load", Pool(), File("in", text), "--json"});
    const CommandResult result = Run(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out, nullptr, false);
  }
  // A load that must fail at `where` ("in:3") with a message that holds `text`.
  void ExpectBad(const std::string& input, std::vector<std::string> options, int line,
                 const std::string& text) {
    options.insert(options.begin(), {"load", Pool(), File("in", input)});
    const CommandResult result =
        ExpectError(options, Path("in") + ":" + std::to_string(line) + ": ");
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err << "expected: " << text;
  }
  std::string Get(const std::string& key) { return Out({"get", Pool(), key, "--raw"}); }
};

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

// Every byte as an escape: shares no code with the command.
std::string EscapeAll(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += "\\x" + Hex(std::string(1, c));
  return text;
}

std::map<std::string, std::string> RandomRecords(uint64_t seed, size_t count) {
  Random random(seed);
  std::map<std::string, std::string> records;
  records[std::string()] = "value of the empty key";
  records["empty value"] = "";
  while (records.size() < count) {
    // Small sizes often, so that TAB, newline, backslash and quotes stand at both ends too.
    std::string key = random.Bytes(random.Between(1, random.OneIn(10) ? 300 : 6));
    std::string value = random.Bytes(random.Below(random.OneIn(10) ? 5000 : 12));
    records[std::move(key)] = std::move(value);
  }
  return records;
}

TEST_F(LoadCommandTest, ScanAndLoadRoundTripRandomBytesInEveryFormat) {
  SCOPED_TRACE(ReplayLine());
  const auto records = RandomRecords(DeriveSeed(1), Sized(3000, 30000));
  std::string input;
  std::string expected;
  for (const auto& [key, value] : records) {
    input += EscapeAll(key) + "\t" + EscapeAll(value) + "\n";
    expected += Hex(key) + "\t" + Hex(value) + "\n";
  }
  EXPECT_EQ(Load(input)["loaded"], records.size());
  EXPECT_TRUE(Out({"scan", Pool(), "--hex"}) == expected);

  const std::vector<std::vector<std::string>> forms = {
      {}, {"--hex"}, {"--json"}, {"--json", "--hex"}};
  for (size_t i = 0; i < forms.size(); ++i) {
    std::vector<std::string> scan = {"scan", Pool()};
    scan.insert(scan.end(), forms[i].begin(), forms[i].end());
    const std::string copy = Path("copy" + std::to_string(i));
    std::vector<std::string> load = {"load", copy, "-"};
    if (i == 1) load.emplace_back("--hex");
    if (i >= 2) load.insert(load.end(), {"--format", "jsonl"});
    Out(load, Out(scan));
    EXPECT_TRUE(Out({"scan", copy, "--hex"}) == expected) << "form " << i;
  }
}

TEST_F(LoadCommandTest, TsvTakesWindowsLinesBlankLinesAndALastLineWithoutNewline) {
  EXPECT_EQ(Load("a\t1\r\n\n\r\nb\t2\\r\r\nc\t3")["loaded"], 3);
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2\r");
  EXPECT_EQ(Get("c"), "3");
}

TEST_F(LoadCommandTest, TsvTakesRawBytesThatAreNotUtf8) {
  Load("k\xFF\tv\x80\x01\n");
  EXPECT_EQ(Out({"scan", Pool(), "--hex"}), "6bff\t768001\n");
}

TEST_F(LoadCommandTest, EmptyFileLoadsNothing) {
  EXPECT_EQ(Load("")["loaded"], 0);
  EXPECT_EQ(Out({"count", Pool()}), "0\n");
}

TEST_F(LoadCommandTest, BadTsvIsNamedByFileAndLine) {
  ExpectBad("a\t1\nb\n", {}, 2, "no TAB");
  ExpectBad("a\t1\t2\n", {}, 1, "second TAB");
  ExpectBad("a\t1\n\nb\tx\\q\n", {}, 3, "'\\q' is not an escape");
  ExpectBad("a\tx\\\n", {}, 1, "not an escape");
  ExpectBad("a\tx\\x4\n", {}, 1, "not an escape");
  ExpectBad("a\\xg0\tx\n", {}, 1, "in the key");
  ExpectBad("61\t6\n", {"--hex"}, 1, "odd number");
  ExpectBad(std::string(140000, 'k') + "\tv\n", {}, 1, "the key has 140,000 bytes");
}

TEST_F(LoadCommandTest, StopKeepsWhatCameBeforeAndFromLineGoesOn) {
  const std::string input = "a\t1\nb\t2\nbroken\nd\t4\n";
  const CommandResult result = ExpectError({"load", Pool(), File("in", input)}, "--from-line 3");
  EXPECT_NE(result.out.find("loaded 2 records"), std::string::npos) << result.out;
  EXPECT_EQ(Out({"scan", Pool()}), "a\t1\nb\t2\n");
  EXPECT_EQ(Load("a\t1\nb\t2\nc\t3\nd\t4\n", {"--from-line", "3"})["loaded"], 2);
  EXPECT_EQ(Out({"scan", Pool()}), "a\t1\nb\t2\nc\t3\nd\t4\n");
}

TEST_F(LoadCommandTest, SkipNamesBadRecordsAndLoadsTheRest) {
  const std::string file = File("in", "a\t1\nbroken\nc\t3\nalso broken\n");
  const CommandResult result = Run({"load", Pool(), file, "--on-error", "skip", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(json::parse(result.out)["loaded"], 2);
  EXPECT_EQ(json::parse(result.out)["skipped"], 2);
  EXPECT_EQ(json::parse(result.out)["complete"], true);
  EXPECT_NE(result.err.find("in:2: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("in:4: "), std::string::npos) << result.err;
  EXPECT_EQ(Out({"scan", Pool()}), "a\t1\nc\t3\n");
}

TEST_F(LoadCommandTest, SkipNamesTwentyBadRecordsAndCountsAll) {
  std::string input;
  for (int i = 0; i < 100; ++i) input += "broken\n";
  const CommandResult result =
      Run({"load", Pool(), File("in", input), "--on-error", "skip", "--json"});
  EXPECT_EQ(json::parse(result.out)["skipped"], 100);
  EXPECT_EQ(Lines(result.err).size(), 21u) << result.err;
}

TEST_F(LoadCommandTest, JsonValuesThatAreNoStringsAreStoredAsTheyAreWritten) {
  const std::vector<std::string> values = {
      "1.10",       "123456789012345678901234567890",  "-0", "1e3", "true", "null",
      "[1, 2,[ ]]", R"({"b": "}]\"" , "a":{"c":[ ]}})"};
  std::string input;
  for (size_t i = 0; i < values.size(); ++i) {
    input += " { \"x\" :[{}], \"key\" : \"k" + std::to_string(i) + "\" , \"value\" : " + values[i] +
             " } \n";
  }
  EXPECT_EQ(Load(input, {"--format", "jsonl"})["loaded"], values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(Get("k" + std::to_string(i)), values[i]);
}

TEST_F(LoadCommandTest, JsonStringsAreDecoded) {
  Load(
      "{\"key\":\"\\u00fc\\n\",\"value\":\"\\ud83d\\ude00\\\\\"}\n\n"
      "{\"key_hex\":\"00fF\",\"value_hex\":\"\"}\n{\"k\\u0065y\":\"n\",\"value\":\"\"}\n",
      {"--format", "jsonl"});
  EXPECT_EQ(Get("ü\n"), "😀\\");
  EXPECT_EQ(Out({"scan", Pool(), "--hex", "--to", "01"}), "00ff\t\n");
  EXPECT_EQ(Get("n"), "");
}

TEST_F(LoadCommandTest, JsonFieldsAreChosenByName) {
  const std::string input = "{\"id\":42,\"name\":\"ada\",\"tags\":[1]}\n";
  Load(input, {"--format", "jsonl", "--key-field", "id", "--value-field", "name"});
  EXPECT_EQ(Get("42"), "ada");
  Load("  " + input,
       {"--format", "jsonl", "--key-field", "id", "--value-field", ".", "--prefix", "user/"});
  EXPECT_EQ(Get("user/42"), "{\"id\":42,\"name\":\"ada\",\"tags\":[1]}");
}

TEST_F(LoadCommandTest, BadJsonIsNamedByFileAndLine) {
  const std::vector<std::string> jsonl = {"--format", "jsonl"};
  const std::string good = "{\"key\":\"a\",\"value\":\"1\"}\n";
  ExpectBad(good + "{\"key\":\"a\",\n", jsonl, 2, "not valid JSON");
  ExpectBad(good + good + "{\"key\":\"\xFF\",\"value\":1}\n", jsonl, 3, "not valid JSON");
  ExpectBad("{\"key\":\"\\ud800\",\"value\":1}\n", jsonl, 1, "not valid JSON");
  ExpectBad(good + "{} {}\n", jsonl, 2, "not valid JSON");
  ExpectBad("[1]\n", jsonl, 1, "not a JSON object");
  ExpectBad("{\"value\":1}\n", jsonl, 1, "no field \"key\"");
  ExpectBad("{\"key\":\"a\"}\n", jsonl, 1, "no field \"value\"");
  ExpectBad("{\"key\":null,\"value\":1}\n", jsonl, 1, "can't be a key");
  ExpectBad("{\"key\":{\"a\":1},\"value\":1}\n", jsonl, 1, "can't be a key");
  ExpectBad("{\"key\":\"a\",\"key\":\"b\",\"value\":1}\n", jsonl, 1, "occurs twice");
  ExpectBad("{\"key_hex\":\"6\",\"value\":1}\n", jsonl, 1, "odd number");
  ExpectBad("{\"key_hex\":66,\"value\":1}\n", jsonl, 1, "not a string of hex digits");
}

TEST_F(LoadCommandTest, Deb822StanzasAreStoredAsTheyAreWritten) {
  const std::string one = "Package: one\nDescription: first\n goes on\n .\n here";
  const std::string two = "version: 2\npackage:  two \t\nEmpty:";
  EXPECT_EQ(Load("\n# comment\n" + one + "\n\n \n" + two + "\n#  comment in between\nLast: x\n",
                 {"--format", "deb822", "--prefix", "package/"})["loaded"],
            2);
  EXPECT_EQ(Get("package/one"), one);
  EXPECT_EQ(Get("package/two"), two + "\nLast: x");
}

TEST_F(LoadCommandTest, Deb822KeyIsChosenByFieldName) {
  Load("Source: s\nPackage: p\n", {"--format", "deb822", "--key", "source"});
  EXPECT_EQ(Get("s"), "Source: s\nPackage: p");
}

TEST_F(LoadCommandTest, BadDeb822IsNamedByFileAndLine) {
  const std::vector<std::string> deb = {"--format", "deb822"};
  ExpectBad("Package: a\n\nVersion: 1\nOther: 2\n", deb, 3, "no field 'Package'");
  ExpectBad("Package: a\nnonsense\n", deb, 2, "no 'Field: text'");
  ExpectBad(": text\nPackage: a\n", deb, 1, "no 'Field: text'");
  ExpectBad(" continued\nPackage: a\n", deb, 1, "without a field above");
  ExpectBad("Package: a\nPackage: b\n", deb, 2, "occurs twice");
  ExpectBad("Package: a\n b\n", deb, 2, "several lines");
  ExpectBad("Package:\nVersion: 1\n", deb, 1, "is empty");
}

TEST_F(LoadCommandTest, BadStanzaIsSkippedWholeAndTheNextOneLoaded) {
  const std::string input = "Package: a\nnonsense\nV: 1\n\nPackage: b\nV: 2\n";
  const CommandResult result =
      Run({"load", Pool(), File("in", input), "--format", "deb822", "--on-error", "skip"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(Out({"scan", Pool(), "--keys-only"}), "b\n");
}

TEST_F(LoadCommandTest, LaterRecordOfAKeyWinsWithManyThreads) {
  std::string input;
  for (int i = 0; i < 20000; ++i) {
    input += "key" + std::to_string(i % 50) + "\t" + std::to_string(i) + "\n";
  }
  Load(input, {"--threads", "4", "--batch", "7"});
  for (int key = 0; key < 50; ++key) {
    EXPECT_EQ(Get("key" + std::to_string(key)), std::to_string(19950 + key));
  }
}

TEST_F(LoadCommandTest, AcknowledgedKeysAreNotedOnceEach) {
  std::string input;
  std::multiset<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key" + std::to_string(i) + "\\t";
    input += key + "\tv\n";
    expected.insert(key);
  }
  Load(input, {"--threads", "3", "--batch", "10", "--acknowledge", Path("acknowledged")});
  const auto lines = Lines(ReadFileText(Path("acknowledged")));
  EXPECT_EQ(std::multiset<std::string>(lines.begin(), lines.end()), expected);
}

TEST_F(LoadCommandTest, FileThatCantBeReadIsAnErrorBeforeAPoolIsMade) {
  ExpectError({"load", Pool(), Path("nowhere")}, "can't read '" + Path("nowhere") + "'");
  ExpectError({"load", Pool(), File("in", "a\t1\n"), "--format", "csv"}, "csv");
  ExpectError({"load", Pool(), File("in", "a\t1\n"), "--format", "jsonl", "--hex"}, "--hex");
  ExpectError({"load", Pool(), File("in", "a\t1\n"), "--batch", "0"}, "--batch");
  ExpectError({"load", Pool(), File("in", "a\t1\n"), "--acknowledge", Path("no/folder")},
              "--acknowledge");
  EXPECT_FALSE(Exists(Pool()));
  ExpectError({"load", Pool(), folder_.path()}, "can't read");
}

TEST_F(LoadCommandTest, FullPoolStopsTheLoadAndKeepsWhatWasAcknowledged) {
  std::string input;
  const std::string value(100000, 'v');
  for (int i = 0; i < 2000; ++i) input += "key" + std::to_string(i) + "\t" + value + "\n";
  const std::string file = File("in", input);
  const CommandResult result = ExpectError(
      {"load", Pool(), file, "--max-size", "64M", "--batch", "1", "--acknowledge", Path("acks")},
      "pool is full");
  const std::vector<std::string> acknowledged = Lines(ReadFileText(Path("acks")));
  ASSERT_GT(acknowledged.size(), 0u);
  ASSERT_LT(acknowledged.size(), 2000u);
  EXPECT_NE(result.err.find("--from-line " + std::to_string(acknowledged.size() + 1) + ","),
            std::string::npos)
      << result.err;
  const std::vector<std::string> found =
      Lines(Out({"scan", Pool(), "--keys-only", "--max-size", "64M"}));
  const std::set<std::string> keys(found.begin(), found.end());
  for (const std::string& key : acknowledged) EXPECT_TRUE(keys.contains(key)) << key;
}

TEST_F(LoadCommandTest, SignalStopsInGoodOrderAndSaysHowToGoOn) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string pool = Path("pool" + std::to_string(signal));
    const std::string noted = Path("noted" + std::to_string(signal));
    RunningCommand load(folder_.path(),
                        {"load", pool, "-", "--batch", "2", "--acknowledge", noted});
    ASSERT_TRUE(load.Feed("a\t1\nb\t2\nc\t3\n"));
    ASSERT_TRUE(WaitUntil([&] { return ReadFileText(noted) == "a\nb\n"; }));
    load.Signal(signal);
    const CommandResult result = load.Wait();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find("go on with line 4"), std::string::npos) << result.err;
    EXPECT_NE(result.out.find("loaded 3 records"), std::string::npos) << result.out;
    EXPECT_EQ(Out({"scan", pool}), "a\t1\nb\t2\nc\t3\n");
  }
}

TEST_F(LoadCommandTest, KillLosesNoAcknowledgedRecord) {
  SCOPED_TRACE(ReplayLine());
  Random random(DeriveSeed(2));
  for (int round = 0; round < 3; ++round) {
    const std::string noted = Path("noted" + std::to_string(round));
    const std::string prefix = "round" + std::to_string(round) + "/";
    const uint64_t enough = random.Between(1, 2000);
    RunningCommand load(folder_.path(), {"load", Pool(), "-", "--batch", "1", "--threads", "2",
                                         "--prefix", prefix, "--acknowledge", noted});
    uint64_t fed = 0;
    while (Lines(ReadFileText(noted)).size() < enough) {
      std::string text;
      for (int i = 0; i < 500; ++i, ++fed) {
        text += std::to_string(fed) + "\tvalue of " + std::to_string(fed) + "\n";
      }
      ASSERT_TRUE(load.Feed(text));
    }
    load.Signal(SIGKILL);
    EXPECT_EQ(load.Wait().signal, SIGKILL);
    std::map<std::string, std::string> found;
    for (const std::string& line : Lines(Out({"scan", Pool(), "--prefix", prefix}))) {
      found[line.substr(0, line.find('\t'))] = line.substr(line.find('\t') + 1);
    }
    std::string notes = ReadFileText(noted);
    notes.erase(notes.rfind('\n') + 1);
    for (const std::string& key : Lines(notes)) {
      ASSERT_EQ(found[key], "value of " + key.substr(prefix.size())) << key;
    }
  }
}

TEST_F(LoadCommandTest, ProgressIsDrawnOnATerminalAndRemoved) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(screen, 0);
  ::setenv("TERM", "xterm", 1);
  RunningCommand load(folder_.path(), {"load", Pool(), "-"}, {}, screen);
  std::string shown;
  // True while there may be more.
  const auto look = [&] {
    char bytes[4096];
    ssize_t count = 0;
    while ((count = ::read(terminal, bytes, sizeof bytes)) > 0) {
      shown.append(bytes, static_cast<size_t>(count));
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
  };
  // It is drawn beside the work, from a tenth of a second after its begin on.
  int records = 0;
  EXPECT_TRUE(WaitUntil([&] {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += std::to_string(records++) + "\tv\n";
    look();
    return !load.Feed(text) || shown.find(" records  ") != std::string::npos;
  }));
  EXPECT_EQ(load.Finish().exit_code, 0);
  ::close(screen);
  EXPECT_TRUE(WaitUntil([&] { return !look(); })) << "the end of what was shown";
  EXPECT_NE(shown.find("\rload  "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" records  "), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("\r\x1b[K")) << shown;
  ::close(terminal);
}

}  // namespace
}  // namespace braid::test
