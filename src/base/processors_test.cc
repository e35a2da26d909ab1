// How many processors are counted on, by made-up control groups.
#include "base/processors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "support/temp_folder.h"

namespace braid::base {
namespace {

class ProcessorsTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  size_t Quota() const { return ProcessorsByQuota(folder_.path()); }

  test::TempFolder folder_;
};

TEST_F(ProcessorsTest, WithoutGroupsThereIsNoQuota) { EXPECT_EQ(Quota(), 0u); }

TEST_F(ProcessorsTest, VersionTwo) {
  Write("/proc/self/cgroup", "0::/");
  EXPECT_EQ(Quota(), 0u) << "the root has none";
  Write("/sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(Quota(), 0u);
  Write("/sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(Quota(), 2u);
  Write("/sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(Quota(), 2u) << "rounded up";
  Write("/sys/fs/cgroup/cpu.max", "1000 100000");
  EXPECT_EQ(Quota(), 1u);
}

TEST_F(ProcessorsTest, TheLeastOfTheGroupsAboveCounts) {
  Write("/proc/self/cgroup", "0::/system.slice/store.service/inner");
  Write("/sys/fs/cgroup/system.slice/store.service/cpu.max", "300000 100000");
  EXPECT_EQ(Quota(), 3u) << "the group's own is missing, or max";
  Write("/sys/fs/cgroup/system.slice/store.service/inner/cpu.max", "max 100000");
  EXPECT_EQ(Quota(), 3u);
  Write("/sys/fs/cgroup/system.slice/store.service/inner/cpu.max", "500000 100000");
  EXPECT_EQ(Quota(), 3u);
  Write("/sys/fs/cgroup/system.slice/cpu.max", "100000 50000");
  EXPECT_EQ(Quota(), 2u);
}

TEST_F(ProcessorsTest, VersionOneAlsoWhereTheMountIsTheGroup) {
  Write("/proc/self/cgroup",
        "4:cpuset:/docker/abc\n3:cpu,cpuacct:/docker/abc\n2:memory:/docker/abc\n0::/docker/abc");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Quota(), 0u);
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000");
  EXPECT_EQ(Quota(), 4u);
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "250000");
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Quota(), 3u);
}

TEST_F(ProcessorsTest, NonsenseIsNoQuota) {
  for (const char* groups : {"", "nonsense", "0::", "0::no-slash", "a:b", "::::::"}) {
    Write("/proc/self/cgroup", groups);
    Write("/sys/fs/cgroup/cpu.max", "200000 100000");
    EXPECT_EQ(Quota(), 0u) << groups;
  }
  Write("/proc/self/cgroup", "0::/");
  for (const char* most : {"", "200000", "-1 100000", "0 100000", "200000 0", "x y", "nan nan"}) {
    Write("/sys/fs/cgroup/cpu.max", most);
    EXPECT_EQ(Quota(), 0u) << most;
  }
  Write("/sys/fs/cgroup/cpu.max", "1e300 1");
  EXPECT_EQ(Quota(), size_t{1} << 20);
}

TEST_F(ProcessorsTest, ThereIsAlwaysOne) {
  EXPECT_GE(ProcessorsOfProcess(), 1u);
  EXPECT_LE(ProcessorsOfProcess(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace braid::base
