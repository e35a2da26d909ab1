// What a process takes while it is measured. Thread safety, persistence: see process_use.h.
#include "bench/harness/process_use.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "src/base/clock.h"

namespace braid::bench {
namespace {

uint64_t NanosOf(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1000;
}

uint64_t AllocatedBytesOfOne(const std::string& path) {
  struct stat facts {};
  // st_blocks counts 512 bytes each, whatever the blocks of the file system are.
  return ::lstat(path.c_str(), &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * 512 : 0;
}

/// The first line of /proc/stat: ticks of all processors by use.
struct Ticks {
  uint64_t busy = 0;
  uint64_t steal = 0;
  bool known = false;
};

Ticks ReadTicks() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::string name;
  uint64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0;
  if (!std::getline(file, line)) return {};
  std::istringstream fields(line);
  fields >> name >> user >> nice >> system >> idle >> wait >> irq >> softirq >> steal;
  if (!fields || name != "cpu") return {};
  return {user + nice + system + irq + softirq, steal, true};
}

}  // namespace

uint64_t ProcessCpuNanos() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return NanosOf(usage.ru_utime) + NanosOf(usage.ru_stime);
}

std::optional<uint64_t> ProcessWrittenBytes() {
  std::ifstream file("/proc/self/io");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("wchar: ", 0) == 0) return std::stoull(line.substr(7));
  }
  return std::nullopt;
}

uint64_t AllocatedBytes(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return AllocatedBytesOfOne(path);
  uint64_t bytes = 0;
  fs::recursive_directory_iterator entry(path, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    std::error_code gone;
    if (!entry->is_directory(gone)) bytes += AllocatedBytesOfOne(entry->path().string());
    entry.increment(error);
  }
  return bytes;
}

MachineMoment LookAtMachine() {
  static const auto tick_nanos =
      1'000'000'000 / static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  const Ticks ticks = ReadTicks();
  return {NowNanos(), ProcessCpuNanos(), ticks.busy * tick_nanos, ticks.steal * tick_nanos,
          ticks.known};
}

MachineLoad LoadBetween(const MachineMoment& from, const MachineMoment& to) {
  MachineLoad load;
  double average[1] = {0};
  if (::getloadavg(average, 1) == 1) load.load_average = average[0];
  const double all = static_cast<double>(to.wall_nanos - from.wall_nanos) *
                     std::max(1u, std::thread::hardware_concurrency());
  if (!from.known || !to.known || all <= 0) return load;
  const auto own = static_cast<double>(to.own_nanos - from.own_nanos);
  const auto busy = static_cast<double>(to.busy_nanos - from.busy_nanos);
  load.others = std::clamp((busy - own) / all, 0.0, 1.0);
  load.steal = std::clamp(static_cast<double>(to.steal_nanos - from.steal_nanos) / all, 0.0, 1.0);
  return load;
}

}  // namespace braid::bench
