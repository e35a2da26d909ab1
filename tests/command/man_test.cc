// Manual pages and what is installed beside the command.
#include "command/command_runner.h"
#include "support/build_paths.h"

namespace braid::test {
namespace {

class ManTest : public CommandTest {
 protected:
  std::vector<std::string> Verbs() {
    std::vector<std::string> verbs;
    bool listed = false;
    for (const std::string& line : Lines(Out({"help"}))) {
      if (line.empty()) listed = false;
      if (listed) verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
      if (line == "Verbs:") listed = true;
    }
    EXPECT_GT(verbs.size(), 20u);
    return verbs;
  }
};

TEST_F(ManTest, EveryVerbHasAPageWithItsOptions) {
  for (const std::string& verb : Verbs()) {
    const std::string page = Out({"help", "--man", verb});
    EXPECT_NE(page.find(".SH NAME\nbraid\\-" + verb + " \\- "), std::string::npos) << page;
    for (const char* part : {".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXIT STATUS\n"}) {
      EXPECT_NE(page.find(part), std::string::npos) << verb << part;
    }
    for (const std::string& line : Lines(Out({"help", verb}))) {
      if (!line.starts_with("  --")) continue;
      std::string roff = "\\fB";
      for (const char c : line.substr(2, line.find_first_of(" ,", 2) - 2)) {
        roff += c == '-' ? std::string("\\-") : std::string(1, c);
      }
      EXPECT_NE(page.find(roff + "\\fR"), std::string::npos) << verb << " " << line;
    }
  }
  const std::string page = Out({"help", "--man"});
  for (const std::string& verb : Verbs()) {
    EXPECT_NE(page.find("braid\\-" + verb + " (1)"), std::string::npos) << verb;
  }
}

TEST_F(ManTest, ManFindsNothingToWarnOf) {
  if (std::system("man --version >/dev/null 2>&1 && groff --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no man, or no groff";
  }
  std::vector<std::string> pages = Verbs();
  pages.emplace_back();
  for (const std::string& verb : pages) {
    const std::string page =
        File("page.1", verb.empty() ? Out({"help", "--man"}) : Out({"help", "--man", verb}));
    const std::string command = "LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man -l --warnings " + page +
                                " >" + Path("shown") + " 2>" + Path("warnings");
    EXPECT_EQ(std::system(command.c_str()), 0) << verb;
    EXPECT_EQ(ReadFileText(Path("warnings")), "") << verb;
    EXPECT_NE(ReadFileText(Path("shown")).find("EXIT STATUS"), std::string::npos) << verb;
  }
}

TEST_F(ManTest, TheBuildHasMadeWhatIsInstalled) {
  const std::string share = BRAID_TEST_BIN_DIR "/../share";
  if (CommandPath() != BRAID_TEST_BIN_DIR "/braid") GTEST_SKIP() << "a command of another build";
  EXPECT_EQ(ReadFileText(share + "/bash-completion/completions/braid"),
            Out({"completion", "bash"}));
  EXPECT_EQ(ReadFileText(share + "/man/man1/braid.1"), Out({"help", "--man"}));
  for (const std::string& verb : Verbs()) {
    EXPECT_EQ(ReadFileText(share + "/man/man1/braid-" + verb + ".1"), Out({"help", "--man", verb}));
  }
}

TEST_F(ManTest, HelpFitsAScreenOf80Columns) {
  for (const std::string& verb : Verbs()) {
    for (const std::string& line : Lines(Out({"help", verb}))) {
      EXPECT_LE(line.size(), 80u) << verb << ": " << line;
    }
  }
  for (const std::string& line : Lines(Out({"help"}))) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(ManTest, WrongUseIsAnError) {
  ExpectError({"help", "--man", "nonsense"}, "unknown verb");
  ExpectError({"help", "--write-pages"}, "FOLDER");
  ExpectError({"help", "--write-pages", File("file", "") + "/x"}, "choose another folder");
}

}  // namespace
}  // namespace braid::test
