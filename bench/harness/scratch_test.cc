#include "bench/harness/scratch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

namespace braid::bench {
namespace {

namespace fs = std::filesystem;

TEST(ScratchDirectoryTest, IsRemovedWithItsContent) {
  std::string path;
  {
    Result<ScratchDirectory> scratch = ScratchDirectory::Create(fs::temp_directory_path());
    ASSERT_TRUE(scratch.ok());
    path = scratch->path();
    fs::create_directory(path + "/inner");
    std::ofstream(path + "/inner/file") << "x";
    ASSERT_TRUE(fs::exists(path + "/inner/file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchDirectoryTest, SaysWhatToDoWhenTheBaseIsMissing) {
  const Result<ScratchDirectory> scratch = ScratchDirectory::Create("/does/not/exist");
  ASSERT_FALSE(scratch.ok());
  EXPECT_NE(scratch.status().message().find("BRAID_TMP"), std::string_view::npos);
}

TEST(RunInChildTest, HandsBackOutputAndExitCode) {
  const Result<ChildOutcome> outcome =
      RunInChild([](int descriptor) { return ::write(descriptor, "hello", 5) == 5 ? 7 : 1; });
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().output, "hello");
  EXPECT_EQ(outcome.value().exit_code, 7);
  EXPECT_EQ(outcome.value().signal, 0);
  EXPECT_FALSE(outcome.value().interrupted);
}

TEST(RunInChildTest, SurvivesACrashOfTheChild) {
  const Result<ChildOutcome> outcome = RunInChild([](int) {
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().signal, SIGKILL);
  EXPECT_FALSE(outcome.value().interrupted);
}

TEST(RunInChildTest, AStopSignalEndsTheChildAndLeavesTheParentToCleanUp) {
  const Result<ChildOutcome> outcome = RunInChild([](int) {
    ::kill(::getppid(), SIGINT);
    for (;;) ::pause();
    return 0;
  });
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome.value().interrupted);
  EXPECT_NE(outcome.value().signal, 0);
}

}  // namespace
}  // namespace braid::bench
