// Purpose: what affinity and control groups leave of the machine.
// Thread safety, persistence: see processors.h.
#include "base/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string_view>
#include <thread>

namespace braid::base {

namespace {

/// Of the process's first thread; 0 where the system doesn't say.
size_t ProcessorsByAffinity() {
  cpu_set_t set;
  // Fails on machines with more processors than the set has room for.
  if (::sched_getaffinity(::getpid(), sizeof set, &set) != 0) return 0;
  return static_cast<size_t>(CPU_COUNT(&set));
}

/// Whole processors; 0 where there is no quota.
size_t Processors(double quota, double period) {
  constexpr double kMost = 1 << 20;
  if (!(quota > 0) || !(period > 0)) return 0;
  return static_cast<size_t>(std::clamp(std::ceil(quota / period), 1.0, kMost));
}

/// Version 2: "QUOTA PERIOD", the quota may be "max".
size_t QuotaByMax(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period ? Processors(quota, period) : 0;
}

/// Version 1: a file for each, the quota may be -1.
size_t QuotaByTwoFiles(const std::string& folder) {
  double quota = 0;
  double period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return Processors(quota, period);
}

size_t Smaller(size_t a, size_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

/// The least quota of a group and those above it. The group may have another path where the
/// process sees it: then that of the mount is what it sees of its own.
template <class QuotaIn>
size_t LeastQuota(const std::string& mount, std::string group, QuotaIn&& quota_in) {
  size_t least = quota_in(mount);
  while (group.size() > 1) {
    least = Smaller(least, quota_in(mount + group));
    group.resize(group.find_last_of('/'));
  }
  return least;
}

bool HasCpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

size_t ProcessorsByQuota(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  size_t least = 0;
  // "NUMBER:CONTROLLERS:PATH"; of version 2 without controllers.
  for (std::string line; std::getline(groups, line);) {
    const size_t controllers = line.find(':');
    if (controllers == std::string::npos) continue;
    const size_t path = line.find(':', controllers + 1);
    if (path == std::string::npos || path + 1 == line.size() || line[path + 1] != '/') continue;
    const std::string group = line.substr(path + 1);
    const std::string_view names(line.data() + controllers + 1, path - controllers - 1);
    if (names.empty()) {
      least = Smaller(least, LeastQuota(mounts, group, QuotaByMax));
    } else if (HasCpu(names)) {
      least = Smaller(least, LeastQuota(mounts + "/cpu", group, QuotaByTwoFiles));
    }
  }
  return least;
}

size_t ProcessorsOfProcess() {
  const size_t present = std::thread::hardware_concurrency();
  const size_t allowed = Smaller(present, ProcessorsByAffinity());
  return std::max<size_t>(1, Smaller(allowed, ProcessorsByQuota("")));
}

}  // namespace braid::base
