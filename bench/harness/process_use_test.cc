#include "bench/harness/process_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/harness/scratch.h"

namespace braid::bench {
namespace {

TEST(ProcessUseTest, ProcessorTimeGrowsWithWork) {
  const uint64_t before = ProcessCpuNanos();
  volatile uint64_t sum = 0;
  while (ProcessCpuNanos() - before < 1'000'000) sum = sum + 1;
  EXPECT_GT(ProcessCpuNanos(), before);
}

TEST(ProcessUseTest, HolesOfAFileTakeNoRoomAndFoldersAreSummedUp) {
  const Result<ScratchDirectory> scratch =
      ScratchDirectory::Create(std::filesystem::temp_directory_path().string());
  ASSERT_TRUE(scratch.ok());
  const std::string folder = scratch->path() + "/store";
  std::filesystem::create_directories(folder + "/deeper");
  EXPECT_EQ(AllocatedBytes(folder), 0u);
  std::ofstream(folder + "/deeper/data") << std::string(100'000, 'x');
  ::sync();
  const uint64_t one = AllocatedBytes(folder);
  EXPECT_GE(one, 100'000u);
  EXPECT_LT(one, 1'000'000u);
  EXPECT_EQ(AllocatedBytes(folder + "/deeper/data"), one) << "a store may be one file";
  std::ofstream(folder + "/hole") << "";
  std::filesystem::resize_file(folder + "/hole", 100'000'000);
  EXPECT_LT(AllocatedBytes(folder), one + 1'000'000);
  EXPECT_EQ(AllocatedBytes(folder + "/gone"), 0u);
}

TEST(ProcessUseTest, OthersAreWhatIsBusyAndNotOurs) {
  const MachineMoment from{0, 0, 0, 0, true};
  MachineMoment to{1'000'000'000, 300'000'000, 300'000'000, 0, true};
  EXPECT_FALSE(LoadBetween(from, to).busy());
  // Every processor was taken by others for the whole second.
  to.busy_nanos += 1'000'000'000 * uint64_t{4096};
  EXPECT_DOUBLE_EQ(LoadBetween(from, to).others, 1);
  EXPECT_TRUE(LoadBetween(from, to).busy());
  to.known = false;
  EXPECT_FALSE(LoadBetween(from, to).busy()) << "what the kernel does not tell is no load";
}

TEST(ProcessUseTest, StolenTimeMakesAMachineBusy) {
  const MachineMoment from{0, 0, 0, 0, true};
  const MachineMoment to{1'000, 0, 0, 4096 * uint64_t{1'000}, true};
  EXPECT_DOUBLE_EQ(LoadBetween(from, to).steal, 1);
  EXPECT_TRUE(LoadBetween(from, to).busy());
}

}  // namespace
}  // namespace braid::bench
