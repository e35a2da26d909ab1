// A tree as that of /sys, made up: what the kernel would say of devices that the machine does not
// have.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "media/device_facts.h"
#include "support/temp_folder.h"

namespace braid::test {

/// The library believes it from its making to its end.
class MadeUpSysfs {
 public:
  MadeUpSysfs() { media::SetSystemRoots({.sysfs = folder_.path()}); }
  ~MadeUpSysfs() { media::SetSystemRoots({}); }
  MadeUpSysfs(const MadeUpSysfs&) = delete;
  MadeUpSysfs& operator=(const MadeUpSysfs&) = delete;

  /// A file of the tree, which the kernel ends with a newline.
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  /// The block device with these numbers is at `path`.
  void Link(dev_t device, const std::string& path) {
    const std::string links = folder_.path() + "/dev/block/";
    std::filesystem::create_directories(links);
    std::filesystem::create_directories(folder_.path() + "/" + path);
    const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
    std::filesystem::remove(links + number);
    std::filesystem::create_symlink("../../" + path, links + number);
  }
  /// Persistent memory with one module, below the device with these numbers.
  void AddPmem(dev_t device, const std::string& provider, const std::string& domain) {
    Link(device, kBus + "/region0/namespace0.0/block/pmem0");
    Write(kBus + "/provider", provider);
    Write(kBus + "/region0/persistence_domain", domain);
    Write(kBus + "/region0/mappings", "1");
    Write(kBus + "/region0/mapping0", "nmem0,0,536870912,0");
    std::filesystem::create_directories(folder_.path() + "/" + kBus + "/nmem0");
  }
  void SetDirtyShutdowns(uint64_t count, const std::string& kind = "nfit") {
    Write(kBus + "/nmem0/" + kind + "/dirty_shutdown", std::to_string(count));
  }
  std::string Path(const std::string& path) const { return folder_.path() + "/" + path; }
  static dev_t DeviceOf(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_dev : 0;
  }

  const std::string kBus = "devices/LNXSYSTM:00/ACPI0012:00/ndbus0";

 private:
  TempFolder folder_;
};

}  // namespace braid::test
