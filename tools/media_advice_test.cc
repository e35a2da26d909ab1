#include "tools/media_advice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace braid::tools {
namespace {

constexpr const char* kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "23 22 0:20 / /dev/shm rw,nosuid shared:3 - tmpfs tmpfs rw\n"
    "24 22 259:0 / /mnt/pmem rw,relatime - xfs /dev/pmem0 rw,dax=always\n"
    "25 22 0:44 / /mnt/my\\040disk rw - btrfs /dev/sdb rw\n"
    "a line that is none\n"
    "26 22 0:45 / /mnt/twice rw - ext4 /dev/sdc rw\n"
    "27 26 0:46 / /mnt/twice rw - tmpfs tmpfs rw\n";

std::string Explained(const Mount& mount, const std::vector<std::string>& devices = {}) {
  std::string text;
  for (const std::string& line : ExplainMedia(MediaClass::kPage, false, mount, devices)) {
    text += line + "\n";
  }
  return text;
}

TEST(MediaAdviceTest, TheDeepestMountHoldsThePath) {
  EXPECT_EQ(FindMount(kMounts, "/home/pool").type, "ext4");
  EXPECT_EQ(FindMount(kMounts, "/dev/shm/pool").type, "tmpfs");
  EXPECT_EQ(FindMount(kMounts, "/dev/shmother").type, "ext4");
  EXPECT_EQ(FindMount(kMounts, "/mnt/my disk/pool").type, "btrfs");
  EXPECT_EQ(FindMount(kMounts, "/mnt/twice/pool").type, "tmpfs");
  EXPECT_EQ(FindMount("", "/home").type, "");
}

TEST(MediaAdviceTest, ReasonOfClassPageIsThatOfTheFilesystem) {
  EXPECT_NE(Explained(FindMount(kMounts, "/dev/shm/p")).find("power cut"), std::string::npos);
  EXPECT_NE(Explained(FindMount(kMounts, "/p")).find("mounted without DAX"), std::string::npos);
  EXPECT_NE(Explained(FindMount(kMounts, "/mnt/my disk/p")).find("has no DAX"), std::string::npos);
  EXPECT_NE(Explained(FindMount(kMounts, "/mnt/pmem/p")).find("MAP_SYNC"), std::string::npos);
}

TEST(MediaAdviceTest, NoSyncIsPromisedToKeepOrdinaryMemory) {
  EXPECT_EQ(Explained(FindMount(kMounts, "/dev/shm/p")).find("sync survives"), std::string::npos);
  EXPECT_NE(Explained(FindMount(kMounts, "/p")).find("sync survives"), std::string::npos);
}

TEST(MediaAdviceTest, WhatTheDeviceIsComesAfterTheClass) {
  PoolInfo info;
  info.path = "/";
  info.media_class = MediaClass::kCacheLine;
  info.media_loss_possible = true;
  info.regions.resize(1);
  info.regions[0].device.provider = "e820";
  info.regions[0].device.name = "pmem0";
  info.regions[0].device.power_loss_reason = "pmem0 is ordinary memory, gone at power loss";
  info.regions[0].device.bad_blocks = {{8, 1}};
  const std::vector<std::string> text = ExplainMedia(info);
  ASSERT_EQ(text.size(), 4u);
  EXPECT_EQ(text[1], "pmem0 is ordinary memory, gone at power loss.");
  EXPECT_NE(text[2].find("bad blocks on pmem0"), std::string::npos);
  EXPECT_NE(text[3].find("may be missing"), std::string::npos);
}

TEST(MediaAdviceTest, DevicesOfTheMachineAreNamed) {
  const std::string with = Explained(FindMount(kMounts, "/p"), {"/dev/pmem0", "/dev/pmem1"});
  EXPECT_NE(with.find("/dev/pmem0, /dev/pmem1"), std::string::npos) << with;
  const std::string without = Explained(FindMount(kMounts, "/p"));
  EXPECT_NE(without.find("no persistent memory"), std::string::npos) << without;
}

TEST(MediaAdviceTest, ForcedClassIsNoPromise) {
  const auto text = ExplainMedia(MediaClass::kCacheLine, true, Mount(), {});
  ASSERT_FALSE(text.empty());
  EXPECT_NE(text[0].find("forced"), std::string::npos);
}

}  // namespace
}  // namespace braid::tools
