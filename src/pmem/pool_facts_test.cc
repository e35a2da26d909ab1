#include "pmem/pool_facts.h"

#include <sys/stat.h>

#include <fstream>

#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::pmem {
namespace {

TEST(PoolFactsTest, AReadErrorIsNotTakenForATruncatedFile) {
  test::TempFolder folder;
  // Reading a directory fails with EISDIR, as reading a bad page fails with EIO.
  ASSERT_EQ(::mkdir(folder.Sub("segment-000000").c_str(), 0700), 0);
  const Status status = ReadPoolFacts(folder.path()).status();
  EXPECT_TRUE(test::HasCode(status, Status::Code::kIOError));
  EXPECT_NE(status.message().find("segment-000000+0x1000"), std::string_view::npos)
      << status.ToString();
}

TEST(PoolFactsTest, AShortFileIsCalledTruncated) {
  test::TempFolder folder;
  std::ofstream(folder.Sub("segment-000000")) << "short";
  const Status status = ReadPoolFacts(folder.path()).status();
  EXPECT_TRUE(test::HasCode(status, Status::Code::kCorruption));
  EXPECT_NE(status.message().find("truncated"), std::string_view::npos) << status.ToString();
}

}  // namespace
}  // namespace braid::pmem
