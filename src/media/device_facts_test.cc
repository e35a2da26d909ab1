// Tests of what is read of devices, on a tree that is made up.
#include "media/device_facts.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "support/made_up_sysfs.h"

namespace braid::media {
namespace {

constexpr long kTmpfs = 0x01021994;
constexpr long kExt4 = 0xef53;
const dev_t kDevice = makedev(259, 3);

class DeviceFactsTest : public ::testing::Test {
 protected:
  DeviceInfo Read() { return ReadDevice(kDevice, kExt4); }

  test::MadeUpSysfs sysfs_;
};

TEST_F(DeviceFactsTest, AModuleOfARealMachineKeepsWhatIsWritten) {
  sysfs_.AddPmem(kDevice, "ACPI.NFIT", "memory_controller");
  sysfs_.Write("class/dmi/id/sys_vendor", "Dell Inc.");
  const DeviceInfo info = Read();
  EXPECT_EQ(info.name, "pmem0");
  EXPECT_EQ(info.provider, "ACPI.NFIT");
  EXPECT_EQ(info.persistence_domain, "memory_controller");
  EXPECT_EQ(info.power_loss, PowerLoss::kKept);
  EXPECT_FALSE(info.dirty_shutdowns.has_value());
}

TEST_F(DeviceFactsTest, DramSetAsideAtBootIsOrdinaryMemory) {
  sysfs_.AddPmem(kDevice, "e820", "");
  const DeviceInfo info = Read();
  EXPECT_EQ(info.power_loss, PowerLoss::kGone);
  EXPECT_NE(info.power_loss_reason.find("ordinary memory, gone at power loss"), std::string::npos);
  EXPECT_NE(info.power_loss_reason.find("memmap="), std::string::npos);
}

TEST_F(DeviceFactsTest, AVirtualDeviceKeepsWhatItsHostKeeps) {
  sysfs_.AddPmem(kDevice, "ACPI.NFIT", "cpu_cache");
  sysfs_.Write("class/dmi/id/sys_vendor", "QEMU");
  EXPECT_EQ(Read().power_loss, PowerLoss::kAsHost);
  EXPECT_NE(Read().power_loss_reason.find("QEMU"), std::string::npos);
  sysfs_.Write("class/dmi/id/sys_vendor", "Dell Inc.");
  EXPECT_EQ(Read().power_loss, PowerLoss::kKept);
  sysfs_.AddPmem(kDevice, "virtio1", "");
  EXPECT_EQ(Read().power_loss, PowerLoss::kAsHost);
  sysfs_.AddPmem(kDevice, "ACPI.NFIT", "cpu_cache");
  sysfs_.Write("class/dmi/id/sys_vendor", "Microsoft Corporation");
  EXPECT_EQ(Read().power_loss, PowerLoss::kKept) << "they make real machines too";
  sysfs_.Write("class/dmi/id/product_name", "Virtual Machine");
  EXPECT_EQ(Read().power_loss, PowerLoss::kAsHost);
}

TEST_F(DeviceFactsTest, DirtyShutdownsOfCxlAndNvdimm) {
  sysfs_.AddPmem(kDevice, "CXL", "");
  sysfs_.SetDirtyShutdowns(7, "cxl");
  EXPECT_EQ(Read().dirty_shutdowns, 7u);
  EXPECT_EQ(SumDirtyShutdowns({kDevice}), 7u);
  // Two parts of a pool on one device: its module counts once.
  EXPECT_EQ(SumDirtyShutdowns({kDevice, kDevice}), 7u);
  sysfs_.Write(sysfs_.kBus + "/region0/mapping1", "nmem1,0,536870912,0");
  sysfs_.Write(sysfs_.kBus + "/nmem1/nfit/dirty_shutdown", "30");
  EXPECT_EQ(SumDirtyShutdowns({kDevice}), 37u);
  sysfs_.Write(sysfs_.kBus + "/nmem1/nfit/dirty_shutdown", "not a number");
  EXPECT_EQ(SumDirtyShutdowns({kDevice}), 7u);
  EXPECT_FALSE(SumDirtyShutdowns({makedev(1, 1)}).has_value());
}

TEST_F(DeviceFactsTest, BadBlocksOfTheDeviceElseOfItsRegion) {
  sysfs_.AddPmem(kDevice, "ACPI.NFIT", "memory_controller");
  EXPECT_TRUE(Read().bad_blocks.empty());
  sysfs_.Write(sysfs_.kBus + "/region0/badblocks", "4096 8");
  ASSERT_EQ(Read().bad_blocks.size(), 1u);
  const std::string disk = sysfs_.kBus + "/region0/namespace0.0/block/pmem0";
  sysfs_.Write(disk + "/badblocks", "16 8\n1024 1\nnonsense");
  ASSERT_EQ(Read().bad_blocks.size(), 2u);
  EXPECT_EQ(Read().bad_blocks[1].first_sector, 1024u);
  EXPECT_EQ(Read().bad_blocks[1].sectors, 1u);
  // A partition has those of its disk.
  sysfs_.Write(disk + "/pmem0p1/partition", "1");
  sysfs_.Link(kDevice, disk + "/pmem0p1");
  EXPECT_EQ(Read().bad_blocks.size(), 2u);
  EXPECT_EQ(Read().name, "pmem0");
  EXPECT_EQ(Read().provider, "ACPI.NFIT");
}

TEST_F(DeviceFactsTest, AMappedDeviceIsWhatItLiesOn) {
  sysfs_.AddPmem(kDevice, "e820", "");
  sysfs_.Write(sysfs_.kBus + "/region0/namespace0.0/block/pmem0/dev", "259:3");
  const dev_t mapped = makedev(253, 0);
  sysfs_.Link(mapped, "devices/virtual/block/dm-0");
  sysfs_.Write("devices/virtual/block/dm-0/slaves/pmem0/dev", "259:3");
  sysfs_.SetDirtyShutdowns(4);
  const DeviceInfo info = ReadDevice(mapped, kExt4);
  EXPECT_EQ(info.name, "dm-0");
  EXPECT_EQ(info.power_loss, PowerLoss::kGone);
  EXPECT_EQ(info.dirty_shutdowns, 4u);
  EXPECT_EQ(SumDirtyShutdowns({mapped}), 4u);
  // One that lies on itself, which no kernel says, ends all the same.
  sysfs_.Write("devices/virtual/block/dm-0/slaves/pmem0/dev", "253:0");
  EXPECT_EQ(ReadDevice(mapped, kExt4).name, "dm-0");
}

TEST_F(DeviceFactsTest, DisksAndMemoryWithoutADevice) {
  EXPECT_EQ(ReadDevice(kDevice, kTmpfs).power_loss, PowerLoss::kGone);
  EXPECT_EQ(ReadDevice(kDevice, kTmpfs).filesystem, "tmpfs");
  EXPECT_EQ(ReadDevice(kDevice, kExt4).power_loss, PowerLoss::kUnknown);
  sysfs_.Link(kDevice, "devices/pci0000:00/nvme/nvme0n1");
  EXPECT_EQ(Read().power_loss, PowerLoss::kKept);
  sysfs_.Link(kDevice, "devices/virtual/block/ram0");
  EXPECT_EQ(Read().power_loss, PowerLoss::kGone);
}

TEST_F(DeviceFactsTest, TheWorstDeviceDecides) {
  const auto worst = [](std::vector<PowerLoss> kinds) {
    std::vector<DeviceInfo> devices(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) devices[i].power_loss = kinds[i];
    return WorstPowerLoss(devices);
  };
  EXPECT_EQ(worst({}), PowerLoss::kUnknown);
  EXPECT_EQ(worst({PowerLoss::kKept}), PowerLoss::kKept);
  EXPECT_EQ(worst({PowerLoss::kKept, PowerLoss::kUnknown}), PowerLoss::kUnknown);
  EXPECT_EQ(worst({PowerLoss::kAsHost, PowerLoss::kKept}), PowerLoss::kAsHost);
  EXPECT_EQ(worst({PowerLoss::kGone, PowerLoss::kAsHost}), PowerLoss::kGone);
}

}  // namespace
}  // namespace braid::media
