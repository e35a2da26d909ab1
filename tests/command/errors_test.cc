// Wrong use of each verb: exit code 2, one line that says what to do, and nothing changed.
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "command/command_runner.h"

namespace braid::test {
namespace {

using ErrorsTest = CommandTest;
using Words = std::vector<std::string>;

/// Every verb that works on a pool, with what else it needs.
std::vector<Words> VerbsOf(const std::string& pool, const std::string& free) {
  return {{"stat", pool},    {"get", pool, "a"}, {"delete", pool, "a"},      {"scan", pool},
          {"count", pool},   {"dump", pool},     {"checkpoint", pool, free}, {"verify", pool},
          {"compact", pool}, {"shell", pool},    {"metrics", pool}};
}

TEST_F(ErrorsTest, APoolThatIsNotThereIsNotMade) {
  for (const Words& words : VerbsOf(Pool(), Path("free"))) {
    ExpectError(words, "no pool at '" + Pool() + "'");
    EXPECT_FALSE(Exists(Pool())) << Join(words);
  }
  ExpectError({"info", Pool()}, "no pool at");
  ExpectError({"restore", Pool(), Path("free")}, "no pool");
  ExpectError({"top", Pool()}, "no pool");
  ExpectError({"repair", Pool(), Path("free")}, "");
  EXPECT_FALSE(Exists(Path("free")));
}

TEST_F(ErrorsTest, APoolThatIsOpenElsewhereNamesTheProcess) {
  RunningCommand load(folder_.path(), {"load", Pool(), "-", "--batch", "1"});
  ASSERT_TRUE(load.Feed("a\t1\n"));
  ASSERT_TRUE(WaitUntil([this] {
    return Run({"info", Pool()}).out.find("by process") != std::string::npos;
  }));
  const std::string process = "process " + std::to_string(load.pid());
  // Those that only read go on beside it: ConcurrentReaderCommandTest.
  const std::set<std::string> readers = {"stat", "get", "scan", "count", "dump"};
  for (const Words& words : VerbsOf(Pool(), Path("free"))) {
    if (readers.contains(words[0])) continue;
    const std::map<std::string, std::string> others = {{"metrics", "--publish-stats"},
                                                       {"verify", "when that process has closed"}};
    const auto other = others.find(words[0]);
    ExpectError(words, other != others.end() ? other->second : process);
  }
  ExpectError({"put", Pool(), "b", "1"}, process);
  ExpectError({"load", Pool(), File("f", "b\t1\n")}, process);
  ExpectError({"ingest", Pool(), File("f", "b\t1\n")}, process);
  EXPECT_FALSE(Exists(Path("free")));
  EXPECT_EQ(load.Finish().exit_code, 0);
  EXPECT_EQ(Out({"scan", Pool()}), "a\t1\n");
}

TEST_F(ErrorsTest, WhatIsNoPoolIsLeftAlone) {
  const std::string file = File("file", "mine");
  for (const Words& words : VerbsOf(file, Path("free"))) ExpectError(words, file);
  ASSERT_EQ(::mkdir(Path("folder").c_str(), 0755), 0);
  File("folder/mine", "mine");
  for (const Words& words : VerbsOf(Path("folder"), Path("free"))) ExpectError(words, "folder");
  EXPECT_EQ(ReadFileText(file), "mine");
  EXPECT_EQ(ReadFileText(Path("folder/mine")), "mine");
}

TEST_F(ErrorsTest, ATargetThatIsThereIsKept) {
  Out({"put", Pool(), "a", "1"});
  Out({"put", Path("other"), "b", "2"});
  ExpectError({"repair", Pool(), Path("other")}, Path("other"));
  const CommandResult checkpoint = Run({"checkpoint", Pool(), Path("other")});
  EXPECT_EQ(checkpoint.exit_code, 2);
  const CommandResult restore = Run({"restore", Pool(), Path("other")});
  EXPECT_EQ(restore.exit_code, 2);
  EXPECT_EQ(Out({"scan", Path("other")}), "b\t2\n");
}

TEST_F(ErrorsTest, UnknownFormatsOptionsAndValuesAreNamed) {
  Out({"put", Pool(), "a", "1"});
  const std::string file = File("f", "b\t1\n");
  for (const char* verb : {"load", "ingest"}) {
    ExpectError({verb, Pool(), file, "--format", "xml"}, "xml");
    ExpectError({verb, Pool(), Path("missing")}, "check the path");
    ExpectError({verb, Pool(), folder_.path()}, "directory");
    ExpectError({verb, Pool(), file, "--format", "jsonl", "--hex"}, "--hex is for --format tsv");
    ExpectError({verb, Pool()}, "FILE is required");
  }
  for (const Words& words : VerbsOf(Pool(), Path("free"))) {
    Words wrong = words;
    wrong.push_back("--no-such-option");
    ExpectError(wrong, "--no-such-option");
    if (words[0] == "metrics") continue;  // takes none of the options of the store
    wrong.back() = "--memory-budget=lots";
    ExpectError(wrong, "is not a size");
    wrong.back() = "--design=nonsense";
    ExpectError(wrong, "nonsense");
  }
  ExpectError({"dump", Pool(), "--hex", "--from", "xyz"}, "odd number of hex digits");
  EXPECT_EQ(Out({"scan", Pool()}), "a\t1\n");
}

TEST_F(ErrorsTest, AFolderThatMayNotBeWrittenSaysSo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Out({"put", Pool(), "a", "1"});
  ASSERT_EQ(::mkdir(Path("closed").c_str(), 0555), 0);
  ExpectError({"dump", Pool(), Path("closed/f")}, "Permission denied");
  ExpectError({"put", Path("closed/p"), "a", "1"}, "ermission");
  ExpectError({"load", Pool(), File("secret", "a\tb\n"), "--acknowledge", Path("closed/a")},
              "Permission denied");
  ASSERT_EQ(::chmod(Path("secret").c_str(), 0), 0);
  ExpectError({"load", Pool(), Path("secret")}, "Permission denied");
}

TEST_F(ErrorsTest, ADumpThatIsStoppedLeavesNothing) {
  // Enough that it is still at work when the signal comes.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i) + "\t" + std::string(20000, 'x') + "\n";
  Out({"load", Pool(), File("records", text)});
  for (int attempt = 0; attempt < 20; ++attempt) {
    RunningCommand dump(folder_.path(), {"dump", Pool(), Path("f")});
    WaitUntil([this] { return Exists(Path("f.partial")) || Exists(Path("f")); });
    dump.Signal(SIGINT);
    const CommandResult result = dump.Wait();
    EXPECT_FALSE(Exists(Path("f.partial")));
    if (result.exit_code == 0 || result.signal != 0) {
      ::unlink(Path("f").c_str());  // it was faster, or had not begun to listen
      continue;
    }
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("stopped by a signal"), std::string::npos) << result.err;
    EXPECT_FALSE(Exists(Path("f")));
    return;
  }
  GTEST_SKIP() << "the dump was always faster than the signal";
}

}  // namespace
}  // namespace braid::test
