// The command as a whole: verbs, help, options, exit codes, and the verbs that read and write
// single keys.
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "braid/db.h"
#include "braid/version.h"
#include "command/command_runner.h"
#include "support/folder_state.h"

namespace braid::test {
namespace {

using nlohmann::json;

// The verbs that `braid help` lists.
std::vector<std::string> ListedVerbs(const std::string& help) {
  std::vector<std::string> verbs;
  bool listed = false;
  for (const std::string& line : Lines(help)) {
    if (line == "Verbs:") {
      listed = true;
    } else if (line.empty()) {
      listed = false;
    } else if (listed) {
      verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return verbs;
}

TEST_F(CommandTest, HelpListsEveryVerbAndEveryVerbHasHelp) {
  const std::vector<std::string> verbs = ListedVerbs(Out({"help"}));
  const std::set<std::string> found(verbs.begin(), verbs.end());
  for (const char* verb : {"info", "stat", "get", "put", "delete", "scan", "count", "load",
                           "verify", "repair", "bench", "top"}) {
    EXPECT_TRUE(found.contains(verb)) << verb;
  }
  for (const std::string& verb : verbs) {
    const std::string help = Out({verb, "--help"});
    EXPECT_NE(help.find("Usage: braid " + verb), std::string::npos) << help;
    EXPECT_NE(help.find("--help"), std::string::npos) << help;
    EXPECT_EQ(Out({"help", verb}), help);
  }
  EXPECT_EQ(Out({"--help"}), Out({"help"}));
}

TEST_F(CommandTest, VersionIsThatOfTheHeaders) {
  EXPECT_TRUE(Out({"--version"}).starts_with("braid " BRAID_VERSION_STRING " "));
}

TEST_F(CommandTest, NoVerbIsAnError) { ExpectError({}, "no verb"); }

TEST_F(CommandTest, UnknownVerbSuggestsTheNearest) {
  ExpectError({"gte", Pool()}, "did you mean 'get'?");
  ExpectError({"delte", Pool()}, "did you mean 'delete'?");
  ExpectError({"verfy", Pool()}, "did you mean 'verify'?");
  ExpectError({"help", "scna"}, "did you mean 'scan'?");
}

TEST_F(CommandTest, UnknownVerbFarFromAllSuggestsNone) {
  const CommandResult result = ExpectError({"frobnicate", Pool()}, "unknown verb 'frobnicate'");
  EXPECT_EQ(result.err.find("did you mean"), std::string::npos) << result.err;
}

TEST_F(CommandTest, OptionBeforeTheVerbIsExplained) {
  ExpectError({"--json", "get", Pool(), "k"}, "before the verb");
}

TEST_F(CommandTest, UnknownOptionAndMissingArgumentPointToTheHelp) {
  ExpectError({"get", Pool(), "k", "--frob"}, "'braid get --help'");
  ExpectError({"get", Pool()}, "KEY is required");
  ExpectError({"scan"}, "POOL is required");
  ExpectError({"get", Pool(), "k", "surplus"}, "'braid get --help'");
}

TEST_F(CommandTest, ReadingVerbsNeverMakeAPool) {
  const std::vector<std::vector<std::string>> commands = {
      {"info", Pool()}, {"stat", Pool()},  {"get", Pool(), "k"}, {"delete", Pool(), "k"},
      {"scan", Pool()}, {"count", Pool()}, {"verify", Pool()},   {"info", Pool(), "--json"}};
  for (const auto& command : commands) {
    ExpectError(command, "no pool at '" + Pool() + "'");
    EXPECT_FALSE(Exists(Pool())) << Join(command);
  }
}

TEST_F(CommandTest, FolderThatIsNoPoolIsRefusedAndLeftAlone) {
  ASSERT_EQ(::mkdir(Pool().c_str(), 0700), 0);
  WriteFileText(Pool() + "/letter.txt", "dear reader");
  for (const char* verb : {"info", "stat", "scan", "count", "verify"}) {
    EXPECT_EQ(Run({verb, Pool()}).exit_code, 2) << verb;
  }
  EXPECT_EQ(Run({"put", Pool(), "k", "v"}).exit_code, 2);
  EXPECT_EQ(ReadFileText(Pool() + "/letter.txt"), "dear reader");
}

TEST_F(CommandTest, PutGetDeleteGoTogether) {
  EXPECT_EQ(Out({"put", Pool(), "apple", "red"}), "");
  EXPECT_EQ(Out({"get", Pool(), "apple"}), "red\n");
  EXPECT_EQ(Out({"put", Pool(), "apple", "green", "--sync"}), "");
  EXPECT_EQ(Out({"get", Pool(), "apple"}), "green\n");
  EXPECT_EQ(Out({"delete", Pool(), "apple"}), "");
  EXPECT_EQ(Run({"get", Pool(), "apple"}).exit_code, 1);
}

TEST_F(CommandTest, DeleteTakesARange) {
  for (const char* key : {"a", "b/1", "b/2", "c", "d"}) Out({"put", Pool(), key, "value"});
  EXPECT_EQ(Out({"delete", Pool(), "--prefix", "b/"}), "2 keys deleted\n");
  EXPECT_EQ(Out({"delete", Pool(), "--from", "63", "--to", "64", "--hex", "--json"}),
            "{\"deleted\":1}\n");
  EXPECT_EQ(Out({"count", Pool()}), "2\n");
  const CommandResult none = Run({"delete", Pool(), "--prefix", "b/"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out, "0 keys deleted\n");
  EXPECT_EQ(Run({"delete", Pool(), "--from", "z", "--to", "b"}).exit_code, 1);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"delete", Pool()},
                                                {"delete", Pool(), "a", "--prefix", "a"},
                                                {"delete", Pool(), "a", "--all"},
                                                {"delete", Pool(), "--all", "--from", "a"}}) {
    const CommandResult result = Run(wrong);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("--from, --to"), std::string::npos) << result.err;
  }
  EXPECT_EQ(Out({"delete", Pool(), "--all"}), "2 keys deleted\n");
  EXPECT_EQ(Out({"count", Pool()}), "0\n");
}

TEST_F(CommandTest, DeleteTakesNoEmptyBound) {
  for (const char* key : {"a", "b"}) Out({"put", Pool(), key, "value"});
  for (const char* flag : {"--prefix", "--from", "--to"}) {
    ExpectError({"delete", Pool(), flag, ""}, "is empty");
    ExpectError({"delete", Pool(), std::string(flag) + "="}, flag);
    ExpectError({"delete", Pool(), "--hex", flag, ""}, "--all");
  }
  ExpectError({"delete", Pool(), "--from", "", "--to", "b"}, "--from is empty");
  ExpectError({"delete", Pool(), "--from", "a", "--to", ""}, "--to is empty");
  EXPECT_EQ(Out({"count", Pool()}), "2\n");
  EXPECT_EQ(Out({"count", Pool(), "--prefix", ""}), "2\n");
}

TEST_F(CommandTest, KeyThatIsNotThereIsExitCodeOne) {
  Out({"put", Pool(), "apple", "red"});
  for (const char* verb : {"get", "delete"}) {
    const CommandResult result = Run({verb, Pool(), "pear"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("no key 'pear'"), std::string::npos) << result.err;
  }
  EXPECT_EQ(Out({"get", Pool(), "apple"}), "red\n");
}

TEST_F(CommandTest, GetPrintsBytesAsTheyAre) {
  const std::string value("a\0\xFF\n\tb", 6);
  Out({"put", Pool(), "k", "-"}, value);
  EXPECT_EQ(Out({"get", Pool(), "k", "--raw"}), value);
  EXPECT_EQ(Out({"get", Pool(), "k"}), value + "\n");
  EXPECT_EQ(Out({"get", Pool(), "6b", "--hex"}), "6100ff0a0962\n");
}

TEST_F(CommandTest, GetJsonNamesHexFieldsForBytesThatAreNotUtf8) {
  Out({"put", Pool(), "k", "ü\n"});
  Out({"put", Pool(), "ff00", "80", "--hex"});
  EXPECT_EQ(json::parse(Out({"get", Pool(), "k", "--json"})),
            json({{"key", "k"}, {"value", "ü\n"}}));
  EXPECT_EQ(json::parse(Out({"get", Pool(), "ff00", "--hex", "--json"})),
            json({{"key_hex", "ff00"}, {"value_hex", "80"}}));
}

TEST_F(CommandTest, PutTakesItsValueFromOnePlace) {
  const std::string bytes("file\0bytes\n", 11);
  const std::string file = File("value", bytes);
  Out({"put", Pool(), "file", "--value-file", file});
  EXPECT_EQ(Out({"get", Pool(), "file", "--raw"}), bytes);
  Out({"put", Pool(), "empty", ""});
  EXPECT_EQ(Out({"get", Pool(), "empty", "--raw"}), "");
  ExpectError({"put", Pool(), "k", "v", "--value-file", file}, "two values");
  ExpectError({"put", Pool(), "k"}, "no value");
}

TEST_F(CommandTest, PutThatCantReadItsValueMakesNoPool) {
  ExpectError({"put", Pool(), "k", "--value-file", Path("nowhere")}, "can't read");
  ExpectError({"put", Pool(), "k", "--value-file", folder_.path()}, "can't read");
  EXPECT_FALSE(Exists(Pool()));
}

TEST_F(CommandTest, KeyMayStartWithADashOrBeEmpty) {
  Out({"put", Pool(), "--", "-dash", "v"});
  EXPECT_EQ(Out({"get", Pool(), "--", "-dash"}), "v\n");
  Out({"put", Pool(), "", "of the empty key"});
  EXPECT_EQ(Out({"get", Pool(), ""}), "of the empty key\n");
}

TEST_F(CommandTest, HexThatIsNoneIsAnError) {
  Out({"put", Pool(), "k", "v"});
  ExpectError({"get", Pool(), "6", "--hex"}, "odd number of hex digits");
  ExpectError({"get", Pool(), "zz", "--hex"}, "not hex");
  ExpectError({"put", Pool(), "6b", "x", "--hex"}, "odd number");
  ExpectError({"scan", Pool(), "--hex", "--prefix", "q0"}, "not hex");
  ExpectError({"count", Pool(), "--hex", "--from", "0"}, "odd number");
}

TEST_F(CommandTest, CountsAreWholeNumbers) {
  for (const char* key : {"a", "b"}) Out({"put", Pool(), key, "value"});
  for (const char* count : {"-1", "+1", "1.5", "1k", "0x1", " 1", "18446744073709551616"}) {
    ExpectError({"scan", Pool(), std::string("--limit=") + count}, "whole number");
    ExpectError({"load", Pool(), "-", std::string("--from-line=") + count}, "whole number");
  }
  ExpectError({"load", Pool(), "-", "--from-line", "0"}, "from 1 on");
  EXPECT_EQ(Out({"scan", Pool(), "--limit", "1"}), "a\tvalue\n");
  EXPECT_EQ(Out({"scan", Pool(), "--limit", "0"}), "");
  EXPECT_EQ(Out({"scan", Pool(), "--limit", "18446744073709551615"}), "a\tvalue\nb\tvalue\n");
}

TEST_F(CommandTest, ALimitBelowTheUsualFirstSizeMakesASmallerPool) {
  Out({"put", Pool(), "k", "v", "--max-size", "16M"});
  EXPECT_EQ(json::parse(Out({"info", Pool(), "--json"}))["pool_bytes"], 16u << 20);
  EXPECT_EQ(Out({"get", Pool(), "k", "--max-size", "1M"}), "v\n");
  const std::string small = Path("small");
  for (const char* size : {"1", "64K", "1M"}) {
    const CommandResult refused = Run({"put", small, "k", "v", "--max-size", size});
    EXPECT_EQ(refused.exit_code, 2) << size;
    EXPECT_NE(refused.err.find("pool.max_bytes is "), std::string::npos) << refused.err;
    EXPECT_EQ(refused.err.find("initial_bytes"), std::string::npos) << refused.err;
    EXPECT_EQ(Run({"get", small, "k"}).exit_code, 2) << size;
  }
}

TEST_F(CommandTest, SizesAreCheckedAndReachTheStore) {
  Out({"put", Pool(), "k", "v"});
  EXPECT_EQ(Out({"stat", Pool(), "memory_budget_bytes", "--memory-budget", "128M"}), "134217728\n");
  ExpectError({"stat", Pool(), "--memory-budget", "many"}, "'many' is not a size");
  ExpectError({"stat", Pool(), "--memory-budget", "-1"}, "--memory-budget");
  ExpectError({"stat", Pool(), "--max-size", "5Q"}, "'5Q' is not a size");
}

TEST_F(CommandTest, ForcedMediaClassIsReported) {
  Out({"put", Pool(), "k", "v", "--force-media-class", "cache_line"});
  const json stat =
      json::parse(Out({"stat", Pool(), "--json", "--force-media-class", "cache_line"}));
  EXPECT_EQ(stat["media_class"], "cache_line");
  EXPECT_EQ(stat["media_class_forced"], true);
  const std::string info = Out({"info", Pool(), "--force-media-class", "cache_line"});
  EXPECT_NE(info.find("cache_line (forced)"), std::string::npos) << info;
  ExpectError({"stat", Pool(), "--force-media-class", "tape"}, "tape");
}

TEST_F(CommandTest, UnknownDesignIsAnError) {
  EXPECT_EQ(Run({"put", Pool(), "k", "v", "--design", "nonsense"}).exit_code, 2);
}

TEST_F(CommandTest, InfoExplainsTheMediaClass) {
  Out({"put", Pool(), "k", "v"});
  const json info = json::parse(Out({"info", Pool(), "--json"}));
  EXPECT_EQ(info["path"], Pool());
  EXPECT_EQ(info["design"], "braid");
  EXPECT_EQ(info["format_version"], kFormatVersion);
  EXPECT_EQ(info["in_use"], false);
  EXPECT_FALSE(info["promise"].get<std::string>().empty());
  EXPECT_FALSE(info["explanation"].empty());
  const std::string text = Out({"info", Pool()});
  EXPECT_NE(text.find(info["promise"].get<std::string>()), std::string::npos) << text;
  EXPECT_NE(text.find(info["explanation"][0].get<std::string>()), std::string::npos) << text;
}

TEST_F(CommandTest, StatTextShowsEveryFieldOfItsJson) {
  Out({"put", Pool(), "k", "v"});
  const json stat = json::parse(Out({"stat", Pool(), "--json"}));
  const std::string text = Out({"stat", Pool()});
  ASSERT_GT(stat.size(), 30u);
  for (const auto& [name, value] : stat.items()) {
    if (!value.is_number()) continue;
    // The histogram is one line, and so is each kind of latency.
    std::string shown = name.starts_with("lookup_paths_") ? "lookup_paths" : name;
    for (size_t i = 0; i < kLatencyKinds; ++i) {
      const std::string kind = LatencyKindName(static_cast<LatencyKind>(i));
      if (name.starts_with("latency_" + kind + "_")) shown = kind;
    }
    EXPECT_NE(text.find("\n  " + shown + " "), std::string::npos) << name;
  }
  EXPECT_EQ(text.find("\nother"), std::string::npos) << "name a group for the new field:\n" << text;
}

TEST_F(CommandTest, StatOfOneFieldPrintsItsValueAlone) {
  Out({"put", Pool(), "k", "v"});
  EXPECT_EQ(Out({"stat", Pool(), "puts"}), "0\n");
  EXPECT_TRUE(json::parse(Out({"stat", Pool(), "open_micros", "--json"}))["open_micros"]
                  .is_number_unsigned());
  ExpectError({"stat", Pool(), "frobs"}, "unknown field 'frobs'");
}

TEST_F(CommandTest, PoolInUseIsNamedAndInfoStillWorks) {
  RunningCommand holder(
      folder_.path(), {"load", Pool(), "-", "--batch", "1", "--acknowledge", Path("acknowledged")});
  ASSERT_TRUE(holder.Feed("k\tv\n"));
  ASSERT_TRUE(WaitUntil([&] { return ReadFileText(Path("acknowledged")) == "k\n"; }));
  // Verbs that read do so beside it, but for the one that looks at all chunks.
  EXPECT_EQ(Out({"get", Pool(), "k"}), "v\n");
  EXPECT_EQ(Out({"scan", Pool()}), "k\tv\n");
  EXPECT_EQ(Out({"count", Pool()}), "1\n");
  EXPECT_EQ(Out({"stat", Pool(), "puts"}), "0\n");
  ExpectError({"verify", Pool()}, "open for writing in another process");
  ExpectError({"put", Pool(), "l", "w"}, "by process " + std::to_string(holder.pid()));
  const json info = json::parse(Out({"info", Pool(), "--json"}));
  EXPECT_EQ(info["in_use"], true);
  EXPECT_EQ(info["in_use_by_pid"], holder.pid());
  EXPECT_EQ(holder.Finish().exit_code, 0);
  EXPECT_EQ(Out({"get", Pool(), "k"}), "v\n");
}

TEST_F(CommandTest, VerbsThatOnlyReadChangeNothingAlsoAfterACrash) {
  {
    RunningCommand writer(folder_.path(), {"load", Pool(), "-", "--batch", "1", "--acknowledge",
                                           Path("acknowledged")});
    ASSERT_TRUE(writer.Feed("k\tv\nl\tw\n"));
    ASSERT_TRUE(WaitUntil([&] { return ReadFileText(Path("acknowledged")) == "k\nl\n"; }));
    writer.Signal(SIGKILL);
    EXPECT_EQ(writer.Wait().signal, SIGKILL);
  }
  const FolderState before = StateOfFolder(Pool());
  EXPECT_EQ(Out({"get", Pool(), "k"}), "v\n");
  EXPECT_EQ(Out({"scan", Pool()}), "k\tv\nl\tw\n");
  EXPECT_EQ(Out({"count", Pool()}), "2\n");
  EXPECT_EQ(Out({"stat", Pool(), "recovered_entries"}), "2\n");
  EXPECT_NE(Out({"verify", Pool()}).find("no problem found"), std::string::npos);
  EXPECT_EQ(json::parse(Out({"info", Pool(), "--json"}))["clean"], false);
  EXPECT_EQ(FirstDifference(before, StateOfFolder(Pool())), "");
  Out({"put", Pool(), "m", "x"});
  EXPECT_EQ(Out({"count", Pool()}), "3\n");
}

TEST_F(CommandTest, InfoTellsThatAPoolIsOpenForReading) {
  Out({"put", Pool(), "k", "v"});
  Options options;
  options.read_only = true;
  auto reader = DB::Open(options, Pool());
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  const json info = json::parse(Out({"info", Pool(), "--json"}));
  EXPECT_EQ(info["in_use"], true);
  EXPECT_EQ(info["in_use_for_reading"], true);
  const std::string text = Out({"info", Pool()});
  EXPECT_NE(text.find("for reading by process " + std::to_string(::getpid())), std::string::npos)
      << text;
  EXPECT_EQ(Out({"get", Pool(), "k"}), "v\n");
  ExpectError({"put", Pool(), "k", "w"}, "for reading in process " + std::to_string(::getpid()));
  ExpectError({"top", Pool()}, "no process has the pool open");
}

TEST_F(CommandTest, VerifyOfASoundPoolFindsNothing) {
  Out({"put", Pool(), "k", "v"});
  const json report = json::parse(Out({"verify", Pool(), "--json"}));
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["live_entries"], 1);
  EXPECT_TRUE(report["problems"].empty());
  EXPECT_NE(Out({"verify", Pool()}).find("no problem found"), std::string::npos);
}

TEST_F(CommandTest, VerifyNamesAFlippedByteAndFails) {
  const std::string mark = "a value that is easy to find";
  std::string records;
  for (int i = 0; i < 1000; ++i) {
    records += "key" + std::to_string(i) + "\t" + (i == 500 ? mark : "other") + "\n";
  }
  Out({"load", Pool(), "-"}, records);
  int flipped = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Pool())) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = ReadFileText(entry.path().string());
    for (size_t at = 0; (at = bytes.find(mark, at)) != std::string::npos; ++at) {
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(at));
      file.put('A');
      ++flipped;
    }
  }
  ASSERT_GT(flipped, 0);
  const CommandResult result = Run({"verify", Pool(), "--json"});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["ok"], false);
  ASSERT_FALSE(report["problems"].empty());
  ExpectError({"verify", Pool()}, "problem");
  EXPECT_EQ(Run({"get", Pool(), "key500"}).exit_code, 2);
  EXPECT_EQ(Out({"get", Pool(), "key501"}), "other\n");
}

}  // namespace
}  // namespace braid::test
