// completion: what bash offers, asked of bash itself.
#include <nlohmann/json.hpp>
#include <set>

#include "braid/options.h"
#include "command/command_runner.h"

namespace braid::test {
namespace {

class CompletionTest : public CommandTest {
 protected:
  void SetUp() override {
    if (std::system("bash -c : 2>/dev/null") != 0) GTEST_SKIP() << "no bash";
    File("completion.bash", Out({"completion", "bash"}));
  }
  /// What is offered for the last of `words`, as bash splits them.
  std::set<std::string> Offered(const std::string& words, const std::string& breaks = "") {
    const std::string script =
        File("ask.bash",
             "set -u\nsource " + Path("completion.bash") + "\ncd " + folder_.path() + "\n" +
                 breaks + "\nCOMP_WORDS=(" + words +
                 ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_braid 2>" + Path("ask.err") +
                 "\nprintf '%s\\n' \"${COMPREPLY[@]+${COMPREPLY[@]}}\" >" + Path("ask.out") + "\n");
    EXPECT_EQ(std::system(("bash --norc " + script).c_str()), 0) << words;
    // compopt complains outside of a completion; nothing else may.
    EXPECT_EQ(ReadFileText(Path("ask.err")), "") << words;
    std::set<std::string> offered;
    for (const std::string& line : Lines(ReadFileText(Path("ask.out")))) {
      if (!line.empty()) offered.insert(line);
    }
    return offered;
  }
  using Set = std::set<std::string>;
};

TEST_F(CompletionTest, OffersEveryVerb) {
  const Set offered = Offered("braid ''");
  bool listed = false;
  size_t verbs = 0;
  for (const std::string& line : Lines(Out({"help"}))) {
    if (line.empty()) listed = false;
    if (listed) {
      ++verbs;
      EXPECT_TRUE(offered.contains(line.substr(2, line.find(' ', 2) - 2))) << line;
    }
    if (line == "Verbs:") listed = true;
  }
  EXPECT_GT(verbs, 10u);
  EXPECT_EQ(Offered("braid ver"), Set{"verify"});
  EXPECT_EQ(Offered("braid help sc"), Set{"scan"});
  EXPECT_EQ(Offered("braid nonsense ''"), Set{});
}

TEST_F(CompletionTest, OffersTheFlagsThatHelpLists) {
  const Set offered = Offered("braid scan pool --");
  EXPECT_TRUE(offered.contains("--prefix"));
  EXPECT_TRUE(offered.contains("--memory-budget"));
  EXPECT_FALSE(offered.contains("--listen"));
  for (const std::string& flag : offered) {
    EXPECT_NE(Out({"scan", "--help"}).find(flag), std::string::npos) << flag;
  }
  EXPECT_EQ(Offered("braid scan pool --pre"), Set{"--prefix"});
  // When all arguments are there.
  EXPECT_TRUE(Offered("braid scan pool ''").contains("--prefix"));
}

TEST_F(CompletionTest, OffersWhatAnOptionTakes) {
  EXPECT_EQ(Offered("braid load pool file --format ''"), (Set{"tsv", "jsonl", "deb822", "sst"}));
  EXPECT_EQ(Offered("braid load pool file --format = j"), Set{"jsonl"});
  EXPECT_EQ(Offered("braid load pool file --format=j", "COMP_WORDBREAKS=' '"),
            Set{"--format=jsonl"});
  EXPECT_EQ(Offered("braid info pool --force-media-class p"), Set{"page"});
  EXPECT_TRUE(Offered("braid info pool --design ''").contains("listdb"));
  EXPECT_TRUE(Offered("braid bench --benchmarks fillr").contains("fillrandom"));
  EXPECT_EQ(Offered("braid stat pool open_"), Set{"open_micros"});
  EXPECT_EQ(Offered("braid completion ''"), Set{"bash"});
  EXPECT_EQ(Offered("braid scan pool --from ''"), Set{});
}

TEST_F(CompletionTest, OffersOptionsByName) {
  Set names;
  for (const OptionName& option : OptionNames()) names.insert(option.name + "=");
  EXPECT_EQ(Offered("braid bench --set ''"), names);
  EXPECT_EQ(Offered("braid bench --set log.ki"), Set{"log.kind="});
  EXPECT_EQ(Offered("braid bench --set log.kind ="),
            (Set{"by-size", "index-unified", "write-ahead"}));
  EXPECT_EQ(Offered("braid bench --set log.kind = w"), Set{"write-ahead"});
  EXPECT_EQ(Offered("braid bench --set = log.kind = w"), Set{"write-ahead"});
  EXPECT_EQ(Offered("braid bench --set log.kind=w", "COMP_WORDBREAKS=' '"),
            Set{"log.kind=write-ahead"});
  EXPECT_EQ(Offered("braid bench --set cache.index ="), (Set{"true", "false"}));
  EXPECT_EQ(Offered("braid bench --set log.shards ="), Set{});
}

TEST_F(CompletionTest, OffersPaths) {
  Out({"put", Path("a pool"), "k", "v"});
  File("a file", "");
  EXPECT_EQ(Offered("braid info a"), Set{"a pool"});
  EXPECT_EQ(Offered("braid load pool 'a '"), (Set{"a file", "a pool"}));
  EXPECT_EQ(Offered("braid put pool key --value-file 'a f'"), Set{"a file"});
  // Options and their values are no arguments.
  EXPECT_EQ(Offered("braid load --format tsv --hex pool 'a f'"), Set{"a file"});
  EXPECT_EQ(Offered("braid load --format=tsv -- pool 'a f'"), Set{"a file"});
}

TEST_F(CompletionTest, OtherShellsAreRefused) {
  ExpectError({"completion", "fish"}, "bash");
  ExpectError({"completion"}, "SHELL");
}

}  // namespace
}  // namespace braid::test
