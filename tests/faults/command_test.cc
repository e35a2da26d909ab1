// The braid command when calls fail: one message, a pool that opens, no crash; and when its
// standard streams are closed.
#include "command/command_runner.h"

#include <sys/resource.h>

#include "injector.h"
#include "support/build_paths.h"
#include "support/child_process.h"
#include "support/database.h"

namespace braid::test {
namespace {

class CommandFaultTest : public CommandTest {
 protected:
  void SetUp() override {
    if (kSanitizer) GTEST_SKIP() << "a sanitizer's runtime must be loaded first, before the shim";
    std::string text;
    for (uint64_t i = 0; i < 300; ++i)
      text += NumberedKey(i) + "\tvalue " + std::to_string(i) + "\n";
    records_ = File("records.tsv", text);
    // Made with small sizes, so that a run takes milliseconds.
    ASSERT_NE(OpenOrFail(TinyOptions(), Path("template")), nullptr);
  }

  /// Loads the records with failures. False when nothing failed any more.
  bool LoadWith(const Injection& injection) {
    std::filesystem::remove_all(Pool());
    std::filesystem::copy(Path("template"), Pool(), std::filesystem::copy_options::recursive);
    const std::string report = Path("report");
    std::filesystem::remove(report);
    const std::string plan =
        std::to_string(static_cast<int>(injection.call)) + ":" + std::to_string(injection.at) +
        ":" + std::to_string(injection.lasting ? 1 : 0) + ":" + std::to_string(injection.error);
    ::setenv("BRAID_FAULT", plan.c_str(), 1);
    ::setenv("BRAID_FAULT_REPORT", report.c_str(), 1);
    ::setenv("LD_PRELOAD", BRAID_TEST_BIN_DIR "/braid_fault_shim.so", 1);
    const CommandResult result = Run({"load", Pool(), records_, "--batch", "20"});
    ::unsetenv("LD_PRELOAD");
    ::unsetenv("BRAID_FAULT");
    EXPECT_EQ(result.signal, 0) << injection.ToString() << ": " << result.err;
    EXPECT_TRUE(result.exit_code == 0 || !result.err.empty()) << injection.ToString();
    EXPECT_EQ(result.err.find("please report"), std::string::npos)
        << injection.ToString() << ": " << result.err;
    CheckPool(result.exit_code == 0, injection);
    return Exists(report);
  }

  /// What is there is a part of the records, all of them after a success, and can be completed.
  void CheckPool(bool complete, const Injection& injection) {
    SCOPED_TRACE(injection.ToString());
    Options options = TinyOptions();
    Result<std::unique_ptr<DB>> opened = DB::Open(options, Pool());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const Pairs content = ScanForward(opened.value().get());
    ASSERT_TRUE(!complete || content.size() == 300u) << content.size();
    for (const auto& [key, value] : content) {
      ASSERT_EQ(NumberedKey(std::stoull(value.substr(6))), key);
    }
    ExpectVerified(opened.value().get());
  }

  std::string records_;
};

TEST_F(CommandFaultTest, LoadSurvivesEveryAllocationThatFails) {
  const uint64_t step = NightSize() ? 1 : 3;
  uint64_t runs = 0;
  for (uint64_t k = 1; LoadWith({Call::kNew, k, false, ENOMEM}); k += step) {
    if (HasFailure()) return;
    ++runs;
  }
  EXPECT_GT(runs, 100u);
}

TEST_F(CommandFaultTest, LoadSurvivesMemoryThatIsUsedUp) {
  const uint64_t step = NightSize() ? 1 : 17;
  for (uint64_t k = 1; LoadWith({Call::kNew, k, true, ENOMEM}); k += step) {
    if (HasFailure()) return;
  }
}

TEST_F(CommandFaultTest, LoadSurvivesEverySystemCallThatFails) {
  const std::pair<Call, int> kinds[] = {
      {Call::kMap, ENOMEM},  {Call::kOpen, EMFILE}, {Call::kAllocate, ENOSPC},
      {Call::kSync, EIO},    {Call::kRename, EIO},  {Call::kWrite, ENOSPC},
      {Call::kLock, ENOLCK}, {Call::kStat, EIO},    {Call::kThread, EAGAIN},
  };
  for (const auto& [call, error] : kinds) {
    for (uint64_t k = 1; LoadWith({call, k, false, error}); ++k) {
      if (HasFailure()) return;
    }
  }
}

class ClosedStreamsTest : public CommandTest {};

/// Runs the command with some of the streams 0 to 2 closed.
int RunWithout(const std::vector<int>& closed, std::vector<std::string> arguments) {
  return RunInChild(60,
                    [&](int) {
                      arguments.insert(arguments.begin(), CommandPath());
                      std::vector<char*> argv;
                      for (std::string& argument : arguments) argv.push_back(argument.data());
                      argv.push_back(nullptr);
                      for (const int fd : closed) ::close(fd);
                      ::execv(argv[0], argv.data());
                      return 127;
                    })
      .exit_code;
}

TEST_F(ClosedStreamsTest, OutputWithoutAStdoutIsAnErrorAndDoesNotReachThePool) {
  Out({"put", Pool(), "key", std::string(300, 'v')});
  for (const std::vector<int>& closed :
       std::vector<std::vector<int>>{{1}, {0, 1}, {1, 2}, {0, 1, 2}}) {
    EXPECT_EQ(RunWithout(closed, {"get", Pool(), "key"}), 2);
    EXPECT_EQ(RunWithout(closed, {"scan", Pool()}), 2);
  }
  EXPECT_EQ(RunWithout({2}, {"get", Pool(), "nothing"}), 1);
  EXPECT_EQ(RunWithout({0, 2}, {"put", Pool(), "other", "value"}), 0);
  EXPECT_EQ(RunWithout({0}, {"load", Pool(), "-"}), 2) << "there is no input";
  EXPECT_EQ(Out({"get", Pool(), "key", "--raw"}), std::string(300, 'v'));
  EXPECT_EQ(Run({"verify", Pool()}).exit_code, 0);
}

TEST(ClosedStreamsLibraryTest, WhatAProgramWritesToItsClosedOutputDoesNotReachThePool) {
  TempFolder folder;
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    const int say = ::fcntl(fd, F_DUPFD, 100);
    for (int stream = 0; stream <= 2; ++stream) ::close(stream);
    Result<std::unique_ptr<DB>> db = DB::Open(TinyOptions(), folder.Sub("pool"));
    if (!db.ok()) return 2;
    for (int stream = 0; stream <= 2; ++stream) {
      if (::write(stream, "output that goes nowhere", 24) != -1) return 3 + stream;
    }
    if (!db.value()->Put("k", "v").ok() || !db.value()->Close().ok()) return 6;
    SayTo(say, "done");
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

}  // namespace
}  // namespace braid::test
