#include "tools/media_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace braid::tools {
namespace {

// mountinfo writes space, TAB, newline and backslash as three octal digits.
std::string DecodeOctal(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                      (text[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool Holds(std::string_view point, std::string_view path) {
  if (point == "/") return true;
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

bool HasDax(const Mount& mount) {
  std::stringstream options(mount.options);
  std::string option;
  while (std::getline(options, option, ',')) {
    if (option == "dax" || option == "dax=always" || option == "dax=inode") return true;
  }
  return false;
}

std::string WhyPage(const Mount& mount) {
  if (mount.type.empty()) return "Writes to this path go through the page cache.";
  if (mount.type == "tmpfs" || mount.type == "ramfs") {
    return fmt::format("The pool is on {} ({}): ordinary memory that a power cut empties.",
                       mount.type, mount.point);
  }
  if (mount.type != "ext4" && mount.type != "xfs") {
    return fmt::format(
        "The pool is on {} ({}), which has no DAX: writes go through the page cache.", mount.type,
        mount.point);
  }
  if (HasDax(mount)) {
    return fmt::format(
        "{} at {} has the option dax, but the kernel gives no synchronous mapping "
        "(MAP_SYNC) there: the device below is no persistent memory, or its driver "
        "does not say so.",
        mount.type, mount.point);
  }
  return fmt::format("{} at {} is mounted without DAX: writes go through the page cache.",
                     mount.type, mount.point);
}

}  // namespace

Mount FindMount(std::string_view mountinfo, std::string_view path) {
  Mount best;
  std::stringstream lines{std::string(mountinfo)};
  std::string line;
  while (std::getline(lines, line)) {
    std::stringstream stream(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    std::string point = DecodeOctal(words[4]);
    // A later mount at the same point hides the earlier one.
    if (!Holds(point, path) || point.size() < best.point.size()) continue;
    best = Mount{std::move(point), dash[1], words[5] + "," + dash[3]};
  }
  return best;
}

std::vector<std::string> ExplainMedia(MediaClass media_class, bool forced, const Mount& mount,
                                      const std::vector<std::string>& pmem_devices) {
  if (forced) {
    return {fmt::format("The class {} was forced by an option: the medium may keep less than is "
                        "promised.",
                        MediaClassName(media_class)),
            "To see what the medium really is, leave --force-media-class out."};
  }
  if (media_class == MediaClass::kByte) {
    return {
        "The processor's caches are inside the power-fail domain (eADR), so a write needs a "
        "fence and no flush."};
  }
  if (media_class == MediaClass::kCacheLine) {
    return {
        "The pool is mapped straight from persistent memory (DAX), so flushing a write's cache "
        "lines makes it durable."};
  }
  std::vector<std::string> text{WhyPage(mount)};
  if (pmem_devices.empty()) {
    text.emplace_back(
        "This machine shows no persistent memory (/dev/pmemN). With some, put the pool on ext4 or "
        "xfs mounted from it with '-o dax=always' to get class cache_line.");
  } else {
    std::string names;
    for (const std::string& device : pmem_devices) names += (names.empty() ? "" : ", ") + device;
    text.push_back(
        fmt::format("This machine has {}: put the pool on ext4 or xfs mounted from it "
                    "with '-o dax=always' to get class cache_line.",
                    names));
  }
  if (mount.type != "tmpfs" && mount.type != "ramfs") {
    text.emplace_back("A write with sync survives power loss here as well ('braid put --sync').");
  }
  text.emplace_back(
      "To measure the flushes of real persistent memory on this medium, use --force-media-class "
      "cache_line; it makes nothing safer.");
  return text;
}

std::vector<std::string> ExplainMedia(const PoolInfo& info) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string mountinfo{std::istreambuf_iterator<char>(file), {}};
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(info.path, error);
  std::vector<std::string> devices;
  for (std::filesystem::directory_iterator it("/dev", error), end; !error && it != end;
       it.increment(error)) {
    const std::string device = it->path().string();
    if (device.starts_with("/dev/pmem")) devices.push_back(device);
  }
  std::sort(devices.begin(), devices.end());
  std::vector<std::string> text = ExplainMedia(info.media_class, info.media_class_forced,
                                               FindMount(mountinfo, path.string()), devices);
  // What the device really is, where the class promises more than it keeps.
  for (const RegionInfo& region : info.regions) {
    const bool doubtful = info.media_class != MediaClass::kPage || !region.device.provider.empty();
    if (doubtful && !region.device.power_loss_reason.empty()) {
      text.push_back(region.device.power_loss_reason + ".");
    }
    if (!region.device.bad_blocks.empty()) {
      text.push_back("The kernel knows of bad blocks on " + region.device.name +
                     ": run `braid verify`, and `braid repair` where it finds damage.");
    }
  }
  if (info.media_loss_possible) {
    text.emplace_back(
        "The pool was open when its memory was shut down dirty: acknowledged writes may be "
        "missing. "
        "The next open verifies all of it.");
  }
  return text;
}

}  // namespace braid::tools
