// The pages of docs/ that the command makes of itself are those of this build.
#include "command/command_runner.h"
#include "support/build_paths.h"

namespace braid::test {
namespace {

class DocsTest : public CommandTest {
 protected:
  void ExpectFresh(const std::string& page) {
    EXPECT_EQ(ReadFileText(BRAID_TEST_SOURCE_DIR "/docs/guide/" + page + ".md"),
              Out({page, "--markdown"}))
        << "docs/guide/" << page << ".md is stale: renew it with scripts/docs.sh";
  }
};

TEST_F(DocsTest, OptionsAreThoseOfTheCode) { ExpectFresh("options"); }
TEST_F(DocsTest, MetricsAreThoseOfTheCode) { ExpectFresh("metrics"); }

}  // namespace
}  // namespace braid::test
