// Purpose: what the kernel reports about the device below a folder: the provider of its memory,
// whether that memory survives a power loss, its bad blocks, its count of dirty shutdowns.
// Thread safety: any thread.
// Persistence: none; it only reads.
// Source: Documentation/ABI/testing/sysfs-bus-nd, sysfs-bus-nfit, sysfs-bus-cxl of Linux.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "braid/statistics.h"

namespace braid::media {

/// Where the kernel's files are; others than these in tests, which make a tree of their own.
struct SystemRoots {
  std::string sysfs = "/sys";
};

/// Those that every call below uses from now on. For tests, before a pool is opened.
void SetSystemRoots(SystemRoots roots);

/// Of the device that `folder` lies on. What the kernel does not say is left empty; never fails.
DeviceInfo ReadDevice(const std::string& folder);
/// The same by the number of the device and the magic number of the filesystem (statfs).
DeviceInfo ReadDevice(dev_t device, long filesystem);

/// How often the memory below these devices was shut down dirty, in sum; a module that several of
/// them use counts once. None where no module says.
std::optional<uint64_t> SumDirtyShutdowns(const std::vector<dev_t>& devices);

/// The worst of what becomes of the devices when power is lost.
PowerLoss WorstPowerLoss(const std::vector<DeviceInfo>& devices);

}  // namespace braid::media
