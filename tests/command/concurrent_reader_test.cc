// Verbs that read a pool beside a process that writes to it, and what they do when it is taken
// back.
#include <cstdio>
#include <string>
#include <vector>

#include "command/command_runner.h"

namespace braid::test {
namespace {

class ConcurrentReaderCommandTest : public CommandTest {
 protected:
  static constexpr int kRecords = 5000;
  /// More than fits the pipe and the buffers on the way.
  void LoadRecords() {
    std::string records;
    for (int i = 0; i < kRecords; ++i) {
      records += "key" + std::to_string(100'000 + i) + "\t" + std::string(100, 'v') + "\n";
    }
    Out({"load", Pool(), "-"}, records);
  }
  /// Starts a verb beside a writer, lets the next writer take back what it reads when it has
  /// printed a part, and reads the rest. Its exit code; its lines and what it said.
  int TakenBack(const std::string& verb, std::vector<std::string>* lines, std::string* err) {
    RunningCommand holder(folder_.path(),
                          {"load", Pool(), "-", "--batch", "1", "--acknowledge", Path("done")});
    EXPECT_TRUE(holder.Feed("z1\tfirst\n"));
    EXPECT_TRUE(WaitUntil([&] { return ReadFileText(Path("done")) == "z1\n"; }));
    const std::string command = CommandPath() + " " + verb + " 2>" + Path("err");
    FILE* const pipe = ::popen(command.c_str(), "re");
    EXPECT_NE(pipe, nullptr);
    if (pipe == nullptr) return -1;
    char line[512];
    EXPECT_NE(std::fgets(line, sizeof line, pipe), nullptr);
    lines->push_back(line);
    holder.Signal(SIGKILL);
    holder.Wait();
    Out({"put", Pool(), "z2", "second"});
    while (std::fgets(line, sizeof line, pipe) != nullptr) lines->push_back(line);
    const int status = ::pclose(pipe);
    *err = ReadFileText(Path("err"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(ConcurrentReaderCommandTest, AScanGoesOnInTheNewerStateAndSaysSo) {
  LoadRecords();
  std::vector<std::string> lines;
  std::string err;
  EXPECT_EQ(TakenBack("scan " + Pool(), &lines, &err), 0) << err;
  EXPECT_NE(err.find("newer state"), std::string::npos) << err;
  ASSERT_EQ(lines.size(), kRecords + 2u);
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
  EXPECT_EQ(lines.back(), "z2\tsecond\n");
}

TEST_F(ConcurrentReaderCommandTest, AScanBackwardsGoesOnToo) {
  LoadRecords();
  std::vector<std::string> lines;
  std::string err;
  EXPECT_EQ(TakenBack("scan " + Pool() + " --reverse --limit 4000", &lines, &err), 0) << err;
  EXPECT_NE(err.find("newer state"), std::string::npos) << err;
  ASSERT_EQ(lines.size(), 4000u);
  EXPECT_EQ(lines.front(), "z1\tfirst\n");
  EXPECT_TRUE(std::is_sorted(lines.rbegin(), lines.rend()));
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
}

TEST_F(ConcurrentReaderCommandTest, ADumpIsOfOneMomentOrFails) {
  LoadRecords();
  std::vector<std::string> lines;
  std::string err;
  EXPECT_EQ(TakenBack("dump " + Pool(), &lines, &err), 2);
  EXPECT_NE(err.find("merged what was being dumped"), std::string::npos) << err;
  EXPECT_LT(lines.size(), static_cast<size_t>(kRecords));
}

}  // namespace
}  // namespace braid::test
