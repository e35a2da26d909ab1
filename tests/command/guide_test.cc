// The commands of docs/guide/user-guide.md do what the guide says: its blocks marked "sh" are run.
#include <sys/stat.h>

#include "command/command_runner.h"
#include "support/build_paths.h"

namespace braid::test {
namespace {

using GuideTest = CommandTest;

TEST_F(GuideTest, CommandsOfTheUserGuideWork) {
  std::string script =
      "set -euo pipefail\nPATH=" + Path("bin") + ":$PATH\ncd " + folder_.path() + "\n";
  bool inside = false;
  int blocks = 0;
  const std::string guide = ReadFileText(BRAID_TEST_SOURCE_DIR "/docs/guide/user-guide.md");
  for (const std::string& line : Lines(guide)) {
    if (line.starts_with("```")) {
      inside = line == "```sh";
      blocks += inside ? 1 : 0;
    } else if (inside) {
      script += line + "\n";
    }
  }
  ASSERT_GT(blocks, 4);
  ASSERT_EQ(::mkdir(Path("bin").c_str(), 0755), 0);
  ASSERT_EQ(::symlink(CommandPath().c_str(), Path("bin/braid").c_str()), 0);
  const std::string command = "BRAID_TMP=" + folder_.path() + " bash " +
                              File("guide.bash", script) + " >" + Path("out") + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << script << ReadFileText(Path("out"));
  const std::string out = ReadFileText(Path("out"));
  for (const char* said :
       {"apple\tred\n", "no problem found", "a key\tits value\n", "nothing is lost",
        "{\"key\":\"apple\",\"value\":\"red\"}", "checkpoint at", "ingested 3"}) {
    EXPECT_NE(out.find(said), std::string::npos) << said << "\n" << out;
  }
}

}  // namespace
}  // namespace braid::test
