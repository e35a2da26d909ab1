// The facts about machine and build that a number can't be read without.
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "bench/harness/report.h"
#include "braid/version.h"

namespace braid::bench {
namespace {

/// The value of the first line of `path` that starts with `label`, after the colon.
std::string FindLine(const char* path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(label, 0) != 0) continue;
    const size_t colon = line.find(':');
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

/// The best instruction this processor has for writing a line back; pools tell the one they use.
std::string FlushInstruction() {
  std::istringstream flags(FindLine("/proc/cpuinfo", "flags"));
  std::string best = "none";
  for (std::string flag; flags >> flag;) {
    if (flag == "clwb") return flag;
    if (flag == "clflushopt" || (flag == "clflush" && best == "none")) best = flag;
  }
  return best;
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

std::string FilesystemName(const std::string& path) {
  static const std::map<unsigned long, const char*> names = {
      {0x01021994, "tmpfs"},     {0xEF53, "ext4"},
      {0x58465342, "xfs"},       {0x9123683E, "btrfs"},
      {0x794C7630, "overlayfs"}, {0x958458F6, "hugetlbfs"},
      {0x2FC12FC1, "zfs"},       {0x6969, "nfs"}};
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) != 0) return "unknown";
  const auto magic = static_cast<unsigned long>(facts.f_type);
  const auto found = names.find(magic);
  return found != names.end() ? found->second : fmt::format("{:#x}", magic);
}

nlohmann::json MachineToJson(const std::string& directory) {
  utsname kernel{};
  ::uname(&kernel);
  const char* commit = std::getenv("BRAID_COMMIT");
#if defined(NDEBUG)
  const char* build = "release";
#else
  const char* build = "debug, with asserts";
#endif
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page_size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {{"time", Now()},
          {"processor", FindLine("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", pages * page_size},
          {"architecture", kernel.machine},
          {"kernel", std::string(kernel.sysname) + " " + kernel.release},
          {"flush_instruction", FlushInstruction()},
          {"filesystem", FilesystemName(directory)},
          {"compiler", Compiler()},
          {"build", build},
          {"braid_version", BRAID_VERSION_STRING},
          {"commit", commit != nullptr ? nlohmann::json(commit) : nlohmann::json()}};
}

std::string FormatMachine(const nlohmann::json& machine) {
  return fmt::format(
      "{}, {} cores, {:.0f} GiB, {}, {}, {} build, files on {}, flush with {}",
      machine.at("processor").get<std::string>(), machine.at("cores").get<unsigned>(),
      static_cast<double>(machine.at("memory_bytes").get<uint64_t>()) / (1u << 30),
      machine.at("kernel").get<std::string>(), machine.at("compiler").get<std::string>(),
      machine.at("build").get<std::string>(), machine.at("filesystem").get<std::string>(),
      machine.at("flush_instruction").get<std::string>());
}

}  // namespace braid::bench
