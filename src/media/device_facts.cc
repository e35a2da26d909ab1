// Purpose: devices as sysfs describes them.
// Thread safety, persistence: see device_facts.h.
#include "media/device_facts.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/mutex.h"

namespace braid::media {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostText = 1 << 16;
constexpr size_t kMostBadBlocks = 1024;
/// Devices that lie on devices: what is deeper is not looked at.
constexpr int kMostLayers = 4;

struct Roots {
  base::Mutex mutex;
  SystemRoots roots BRAID_GUARDED_BY(mutex);
};

/// Never destroyed: pools may be opened while the process ends.
Roots& TheRoots() {
  static auto* const roots = new Roots;
  return *roots;
}

fs::path Sysfs() {
  Roots& roots = TheRoots();
  const base::MutexLock lock(roots.mutex);
  return roots.roots.sysfs;
}

/// The text of a small file without what is behind its last line; empty where it can't be read.
std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  char piece[512];
  while (text.size() < kMostText && (file.read(piece, sizeof piece), file.gcount() > 0)) {
    text.append(piece, static_cast<size_t>(file.gcount()));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<uint64_t> ReadNumber(const fs::path& path) {
  const std::string text = ReadText(path);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// "region" and "region12", but not "regions".
bool IsNumbered(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem) || name.size() == stem.size()) return false;
  return name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

/// The folders of a block device and of what it belongs to; empty paths: there is none.
struct Places {
  fs::path block;   // of the device, of the whole disk where it is a partition
  fs::path region;  // of persistent memory
  fs::path bus;
};

Places FindPlaces(dev_t device) {
  Places places;
  std::error_code error;
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  const fs::path path = fs::canonical(Sysfs() / "dev" / "block" / number, error);
  if (error) return places;
  places.block = Exists(path / "partition") ? path.parent_path() : path;
  for (fs::path up = path; up.has_relative_path(); up = up.parent_path()) {
    const std::string name = up.filename();
    if (places.region.empty() && IsNumbered(name, "region")) places.region = up;
    if (places.bus.empty() && IsNumbered(name, "ndbus")) places.bus = up;
  }
  return places;
}

/// Folders of the memory modules that a region lies on.
std::vector<fs::path> ModulesOf(const Places& places) {
  std::vector<fs::path> modules;
  if (places.region.empty() || places.bus.empty()) return modules;
  for (int i = 0; i < 64; ++i) {
    // "nmem0,0,536870912,0": the module, and where its part lies in it.
    const std::string text = ReadText(places.region / ("mapping" + std::to_string(i)));
    const std::string name = text.substr(0, text.find(','));
    if (!IsNumbered(name, "nmem")) break;
    modules.push_back(places.bus / name);
  }
  return modules;
}

std::optional<uint64_t> DirtyShutdownsOf(const fs::path& module) {
  for (const char* kind : {"cxl", "nfit"}) {
    if (auto count = ReadNumber(module / kind / "dirty_shutdown"); count) return count;
  }
  return std::nullopt;
}

std::vector<BadBlocks> ReadBadBlocks(const fs::path& path) {
  std::vector<BadBlocks> found;
  std::stringstream lines(ReadText(path));
  BadBlocks blocks;
  while (found.size() < kMostBadBlocks && lines >> blocks.first_sector >> blocks.sectors) {
    found.push_back(blocks);
  }
  return found;
}

/// Name of the machine's maker where that is a hypervisor; empty: a real machine, as far as sysfs
/// shows.
std::string Hypervisor() {
  if (std::string type = ReadText(Sysfs() / "hypervisor" / "type"); !type.empty()) return type;
  const fs::path dmi = Sysfs() / "class" / "dmi" / "id";
  std::string vendor = ReadText(dmi / "sys_vendor");
  for (const char* known : {"QEMU", "VMware", "Xen", "innotek", "Parallels", "Red Hat", "KubeVirt",
                            "OpenStack", "Amazon EC2", "Google", "Alibaba", "Nutanix", "bhyve"}) {
    if (vendor.find(known) != std::string::npos) return vendor;
  }
  const bool hyper_v = vendor == "Microsoft Corporation" &&
                       ReadText(dmi / "product_name").find("Virtual") != std::string::npos;
  return hyper_v ? "Hyper-V" : "";
}

std::string FilesystemName(long magic) {
  static constexpr std::pair<uint64_t, const char*> kNames[] = {
      {0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0x794c7630, "overlay"}, {0x9123683e, "btrfs"},
      {0x2fc12fc1, "zfs"},   {0x6969, "nfs"},       {0x01021997, "9p"},      {0x65735546, "fuse"},
  };
  for (const auto& [number, name] : kNames) {
    if (number == (static_cast<uint64_t>(magic) & 0xffffffff)) return name;
  }
  return "";
}

void Judge(DeviceInfo* info, PowerLoss power_loss, std::string reason) {
  info->power_loss = power_loss;
  info->power_loss_reason = std::move(reason);
}

/// Of memory that the kernel's nd bus offers.
void JudgePersistentMemory(DeviceInfo* info) {
  const std::string& provider = info->provider;
  if (provider == "e820") {
    return Judge(info, PowerLoss::kGone,
                 info->name +
                     " is DRAM that was set aside at boot (provider e820, memmap=): it is "
                     "ordinary memory, gone at power loss");
  }
  if (provider.starts_with("nfit_test")) {
    return Judge(info, PowerLoss::kGone,
                 info->name +
                     " is made by a test module of the kernel: it is ordinary memory, gone "
                     "at power loss");
  }
  const std::string hypervisor = Hypervisor();
  if (provider.starts_with("virtio") || !hypervisor.empty()) {
    return Judge(info, PowerLoss::kAsHost,
                 info->name + " is a virtual device (" +
                     (hypervisor.empty() ? "virtio" : hypervisor) +
                     "): it keeps what its host keeps. Where the host backs it with memory or its "
                     "page cache it is ordinary memory, gone at power loss of the host");
  }
  const std::string domain =
      info->persistence_domain.empty()
          ? "the platform names no persistence domain"
          : "at power loss the platform saves the domain " + info->persistence_domain;
  Judge(info, PowerLoss::kKept,
        info->name + " is persistent memory (provider " +
            (provider.empty() ? std::string("not named") : provider) + "); " + domain);
}

DeviceInfo ReadLayer(dev_t device, long filesystem, int layer);

/// Of a device that lies on others: the worst of them decides.
void JudgeByLayersBelow(const std::vector<DeviceInfo>& below, DeviceInfo* info) {
  const PowerLoss worst = WorstPowerLoss(below);
  for (const DeviceInfo& device : below) {
    info->bad_blocks.insert(info->bad_blocks.end(), device.bad_blocks.begin(),
                            device.bad_blocks.end());
    if (device.dirty_shutdowns) {
      info->dirty_shutdowns = info->dirty_shutdowns.value_or(0) + *device.dirty_shutdowns;
    }
    if (device.power_loss != worst || !info->power_loss_reason.empty()) continue;
    info->provider = device.provider;
    info->persistence_domain = device.persistence_domain;
    Judge(info, worst, info->name + " lies on " + device.name + ": " + device.power_loss_reason);
  }
}

/// Numbers of the devices that a device of the mapper, or a RAID, lies on.
std::vector<dev_t> LayersBelow(const fs::path& block) {
  std::vector<dev_t> devices;
  std::error_code error;
  for (fs::directory_iterator it(block / "slaves", error), end; !error && it != end;
       it.increment(error)) {
    const std::string number = ReadText(it->path() / "dev");  // "259:0"
    unsigned first = 0;
    unsigned second = 0;
    char colon = 0;
    std::stringstream words(number);
    if (words >> first >> colon >> second && colon == ':')
      devices.push_back(makedev(first, second));
  }
  return devices;
}

/// A disk, or what only looks like one.
void JudgeBlockDevice(const Places& places, int layer, DeviceInfo* info) {
  if (IsNumbered(info->name, "ram") || IsNumbered(info->name, "zram")) {
    return Judge(info, PowerLoss::kGone,
                 info->name + " is a disk in memory: it is ordinary memory, gone at power loss");
  }
  std::vector<DeviceInfo> below;
  if (layer < kMostLayers) {
    for (const dev_t device : LayersBelow(places.block)) {
      below.push_back(ReadLayer(device, 0, layer + 1));
    }
    struct stat facts {};
    struct statfs filesystem {};
    const std::string file = ReadText(places.block / "loop" / "backing_file");
    if (!file.empty() && ::stat(file.c_str(), &facts) == 0 &&
        ::statfs(file.c_str(), &filesystem) == 0) {
      below.push_back(ReadLayer(facts.st_dev, filesystem.f_type, layer + 1));
    }
  }
  if (!below.empty()) return JudgeByLayersBelow(below, info);
  Judge(info, PowerLoss::kKept, info->name + " is a block device: it keeps what was synced to it");
}

DeviceInfo ReadLayer(dev_t device, long filesystem, int layer) {
  DeviceInfo info;
  const Places places = FindPlaces(device);
  if (places.block.empty()) {
    info.filesystem = FilesystemName(filesystem);
    info.name = info.filesystem;
    if (info.filesystem == "tmpfs" || info.filesystem == "ramfs") {
      Judge(&info, PowerLoss::kGone, info.filesystem + " is ordinary memory, gone at power loss");
    } else {
      Judge(&info, PowerLoss::kUnknown, "the kernel names no device below this folder");
    }
    return info;
  }
  info.name = places.block.filename();
  info.bad_blocks = ReadBadBlocks(places.block / "badblocks");
  if (places.bus.empty()) {
    JudgeBlockDevice(places, layer, &info);
    return info;
  }
  info.provider = ReadText(places.bus / "provider");
  info.persistence_domain = ReadText(places.region / "persistence_domain");
  if (info.bad_blocks.empty()) info.bad_blocks = ReadBadBlocks(places.region / "badblocks");
  for (const fs::path& module : ModulesOf(places)) {
    const auto count = DirtyShutdownsOf(module);
    if (count) info.dirty_shutdowns = info.dirty_shutdowns.value_or(0) + *count;
  }
  JudgePersistentMemory(&info);
  return info;
}

/// Folders of all modules below a device, through the layers between.
void CollectModules(dev_t device, int layer, std::set<fs::path>* modules) {
  const Places places = FindPlaces(device);
  if (places.block.empty()) return;
  for (fs::path& module : ModulesOf(places)) modules->insert(std::move(module));
  if (!places.bus.empty() || layer >= kMostLayers) return;
  for (const dev_t below : LayersBelow(places.block)) CollectModules(below, layer + 1, modules);
}

}  // namespace

void SetSystemRoots(SystemRoots new_roots) {
  Roots& roots = TheRoots();
  const base::MutexLock lock(roots.mutex);
  roots.roots = std::move(new_roots);
}

DeviceInfo ReadDevice(dev_t device, long filesystem) { return ReadLayer(device, filesystem, 0); }

DeviceInfo ReadDevice(const std::string& folder) {
  struct stat facts {};
  struct statfs filesystem {};
  if (::stat(folder.c_str(), &facts) != 0 || ::statfs(folder.c_str(), &filesystem) != 0) return {};
  return ReadDevice(facts.st_dev, filesystem.f_type);
}

std::optional<uint64_t> SumDirtyShutdowns(const std::vector<dev_t>& devices) {
  std::set<fs::path> modules;
  for (const dev_t device : devices) CollectModules(device, 0, &modules);
  std::optional<uint64_t> sum;
  for (const fs::path& module : modules) {
    if (const auto count = DirtyShutdownsOf(module); count) sum = sum.value_or(0) + *count;
  }
  return sum;
}

PowerLoss WorstPowerLoss(const std::vector<DeviceInfo>& devices) {
  // From the best to the worst.
  static constexpr PowerLoss kOrder[] = {PowerLoss::kKept, PowerLoss::kUnknown, PowerLoss::kAsHost,
                                         PowerLoss::kGone};
  size_t worst = 0;
  for (const DeviceInfo& device : devices) {
    const auto place = std::find(std::begin(kOrder), std::end(kOrder), device.power_loss);
    BRAID_DCHECK(place != std::end(kOrder));
    worst = std::max(worst, static_cast<size_t>(place - std::begin(kOrder)));
  }
  return devices.empty() ? PowerLoss::kUnknown : kOrder[worst];
}

}  // namespace braid::media
