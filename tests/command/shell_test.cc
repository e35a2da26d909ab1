// shell: from a pipe, and on a terminal as a person types.
#include <pty.h>
#include <sys/stat.h>

#include <optional>

#include "command/command_runner.h"

namespace braid::test {
namespace {

class ShellTest : public CommandTest {
 protected:
  void SetUp() override { Out({"put", Pool(), "apple", "red"}); }
  std::string Shell(const std::string& input) { return Out({"shell", Pool()}, input); }
};

TEST_F(ShellTest, DoesLinesOfAPipe) {
  EXPECT_EQ(Shell("get apple\nput \"a key\" \"its value\"\n# a remark\n\nscan\ncount a\n"),
            "red\na key\tits value\napple\tred\n2\n");
  EXPECT_EQ(Out({"get", Pool(), "a key"}), "its value\n");
  EXPECT_EQ(Shell("delete apple\nscan\nquit\nput never done\n"), "a key\tits value\n");
  EXPECT_EQ(Shell("stat puts"), "0\n") << "the last line needs no newline";
}

TEST_F(ShellTest, KeysAreWrittenAsOtherVerbsPrintThem) {
  Shell("put \\x00\\xff\\t 1\nhex on\nput 00 0a\n");
  EXPECT_EQ(Out({"scan", Pool()}), "\\x00\t\\n\n\\x00\\xff\\t\t1\napple\tred\n");
  EXPECT_EQ(Shell("hex on\nget 00\nscan 00ff --keys-only\nhex off\nget \\x00\\xff\\t\n"),
            "0a\n00ff09\n1\n");
}

TEST_F(ShellTest, ScanTakesTheBoundsOfTheVerb) {
  Shell("put b 1\nput c 2\n");
  EXPECT_EQ(Shell("scan --from b --keys-only\n"), "b\nc\n");
  EXPECT_EQ(Shell("scan --to b --keys-only\n"), "apple\n");
  EXPECT_EQ(Shell("scan --reverse --limit 1 --keys-only\n"), "c\n");
  EXPECT_EQ(Shell("count --from b --to c\n"), "1\n");
  EXPECT_EQ(Shell("scan --from c --to b\n"), "");
}

TEST_F(ShellTest, ABatchIsThereAsAWholeOrNotAtAll) {
  EXPECT_EQ(Shell("begin\nput b 1\ndelete apple\ncount\nwrite\nscan\n"), "1\nb\t1\n");
  EXPECT_EQ(Shell("begin\nput c 1\nabort\ncount\n"), "1\n");
  ExpectError({"shell", Pool()}, "1 update gathered", "begin\nput c 1\n");
  EXPECT_EQ(Shell("count\n"), "1\n");
}

TEST_F(ShellTest, TheFirstErrorEndsAScript) {
  ExpectError({"shell", Pool()}, "line 2 of the input: unknown command 'bogus'",
              "put b 1\nbogus\nput c 1\n");
  EXPECT_EQ(Shell("count\n"), "2\n");
  for (const char* line :
       {"get", "get a b", "put a", "scan --nope", "scan --limit x", "scan --from",
        "scan a --prefix b", "hex", "write", "abort x", "stat nope", "get \"a", "get \\q"}) {
    ExpectError({"shell", Pool()}, "line 1 of the input: ", std::string(line) + "\n");
  }
  ExpectError({"shell", Path("none")}, "no pool at");
}

TEST_F(ShellTest, AMissingKeyIsExitCodeOne) {
  const CommandResult result = Run({"shell", Pool()}, "get nokey\nget apple\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "red\n");
  EXPECT_NE(result.err.find("no key 'nokey'"), std::string::npos);
}

/// A shell on a terminal of its own.
class TerminalShell {
 public:
  TerminalShell(const std::string& pool, const std::string& state,
                const std::vector<std::string>& options = {}) {
    winsize size{24, 80, 0, 0};
    pid_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::setenv("XDG_STATE_HOME", state.c_str(), 1);
      ::setenv("TERM", "xterm", 1);
      ::setenv("HOME", state.c_str(), 1);
      std::vector<std::string> words = {CommandPath(), "shell", pool};
      words.insert(words.end(), options.begin(), options.end());
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~TerminalShell() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(fd_);
  }
  TerminalShell(const TerminalShell&) = delete;
  TerminalShell& operator=(const TerminalShell&) = delete;

  /// Types and waits until `expected` shows behind what was there.
  bool Type(const std::string& text, const std::string& expected) {
    const size_t before = screen_.size();
    EXPECT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return WaitUntil([&] {
      Read();
      return screen_.find(expected, before) != std::string::npos;
    });
  }
  /// Types a line, and waits for what it shows and for the next prompt: before that the terminal is
  /// not the editor's yet, and would take Ctrl-C and Ctrl-D for itself.
  bool Enter(const std::string& line, const std::string& expected,
             const std::string& prompt = "braid> ") {
    const size_t before = screen_.size();
    if (!Type(line + "\n", expected)) return false;
    return WaitUntil([&] {
      Read();
      const size_t shown = screen_.find(expected, before);
      return screen_.find(prompt, shown + expected.size()) != std::string::npos;
    });
  }
  /// Ctrl-D at a prompt, and the exit code.
  int Leave() {
    EXPECT_EQ(::write(fd_, "\x04", 1), 1);
    int status = 0;
    WaitUntil([&] {
      Read();
      return ::waitpid(pid_, &status, WNOHANG) == pid_;
    });
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& screen() const { return screen_; }

 private:
  void Read() {
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(fd_, bytes, sizeof bytes)) > 0;) {
      screen_.append(bytes, static_cast<size_t>(count));
    }
  }
  int fd_ = -1;
  pid_t pid_ = 0;
  std::string screen_;
};

TEST_F(ShellTest, APersonSeesErrorsAndGoesOn) {
  TerminalShell shell(Pool(), Path("state"));
  ASSERT_TRUE(shell.Type("", "braid> ")) << shell.screen();
  EXPECT_TRUE(shell.Enter("bogus", "unknown command 'bogus'")) << shell.screen();
  EXPECT_TRUE(shell.Enter("get nokey", "no key 'nokey'")) << shell.screen();
  EXPECT_TRUE(shell.Type("begin\n", "braid (0)> ")) << shell.screen();
  EXPECT_TRUE(shell.Type("abort\n", "braid> ")) << shell.screen();
  EXPECT_TRUE(shell.Enter("help", "print this list")) << shell.screen();
  // A line that is given up is not done.
  EXPECT_TRUE(shell.Type("put given up\x03", "given up")) << shell.screen();
  EXPECT_TRUE(shell.Enter("get apple", "red")) << shell.screen();
  EXPECT_EQ(shell.Leave(), 1) << "a key was not there";
  EXPECT_EQ(Out({"count", Pool()}), "1\n");
}

TEST_F(ShellTest, TabCompletesCommandsAndKeys) {
#if !defined(BRAID_HAVE_LIBEDIT)
  GTEST_SKIP() << "built without libedit";
#endif
  std::string records;
  for (int i = 100; i < 200; ++i) records += "user/" + std::to_string(i) + "\tvalue\n";
  Out({"load", Pool(), File("records", records + "z \"q\"\tquoted\n")});
  TerminalShell shell(Pool(), Path("state"));
  ASSERT_TRUE(shell.Type("", "braid> "));
  // Only what changes is drawn.
  ASSERT_TRUE(shell.Type("ge\t", "t ")) << shell.screen();
  EXPECT_TRUE(shell.Type("u\t", "ser/1")) << "what all keys share is inserted: " << shell.screen();
  EXPECT_TRUE(shell.Type("\t", "...")) << "then some are listed: " << shell.screen();
  EXPECT_NE(shell.screen().find("user/119"), std::string::npos);
  EXPECT_EQ(shell.screen().find("user/120"), std::string::npos) << "not all of them";
  EXPECT_TRUE(shell.Enter("50", "value")) << shell.screen();
  EXPECT_TRUE(shell.Enter("get z\t", "quoted")) << shell.screen();
  EXPECT_EQ(shell.Leave(), 0);
  // Both lines are kept, for their owner alone.
  EXPECT_EQ(ReadFileText(Path("state/braid/history")), "get user/150\nget \"z \\\"q\\\"\" \n");
  struct stat facts {};
  ASSERT_EQ(::stat(Path("state/braid/history").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  // The next shell has them.
  TerminalShell next(Pool(), Path("state"));
  ASSERT_TRUE(next.Type("", "braid> "));
  EXPECT_TRUE(next.Enter("\x10\x10", "value")) << next.screen();
  EXPECT_EQ(next.Leave(), 0);
}

TEST_F(ShellTest, NoHistoryKeepsNothing) {
  TerminalShell shell(Pool(), Path("state"), {"--no-history"});
  ASSERT_TRUE(shell.Type("", "braid> "));
  EXPECT_TRUE(shell.Enter("get apple", "red"));
  EXPECT_EQ(shell.Leave(), 0);
  EXPECT_FALSE(Exists(Path("state/braid")));
}

}  // namespace
}  // namespace braid::test
