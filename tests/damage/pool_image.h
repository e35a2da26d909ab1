// The bytes of a closed pool, kept in memory: damaged, written back, and restored for each trial.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/environment.h"

namespace braid::test {

inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kLineBytes = 64;

struct PoolFile {
  std::string name;
  std::string bytes;
};

class PoolImage {
 public:
  PoolImage() = default;
  explicit PoolImage(const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files.push_back(
          {entry.path().filename().string(), std::string(std::istreambuf_iterator<char>(in), {})});
    }
    std::sort(files.begin(), files.end(),
              [](const PoolFile& a, const PoolFile& b) { return a.name < b.name; });
  }

  /// Makes `folder` hold these files and nothing else; false when the system refuses.
  bool WriteTo(const std::string& folder) const {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    if (::mkdir(folder.c_str(), 0700) != 0) return false;
    for (const PoolFile& file : files) {
      const std::string path = folder + "/" + file.name;
      const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
      if (fd < 0) return false;
      size_t done = 0;
      while (done < file.bytes.size()) {
        const ssize_t n = ::write(fd, file.bytes.data() + done, file.bytes.size() - done);
        if (n <= 0) break;
        done += static_cast<size_t>(n);
      }
      ::close(fd);
      if (done != file.bytes.size()) return false;
    }
    return true;
  }

  std::vector<PoolFile> files;
};

/// What is done to one file.
enum class Harm { kBitFlip, kLine, kTruncate, kZeroPage, kSwapPages };
inline constexpr int kHarms = 5;

inline const char* HarmName(Harm harm) {
  static const char* const kNames[] = {"BitFlip", "Line", "Truncate", "ZeroPage", "SwapPages"};
  return kNames[static_cast<int>(harm)];
}

inline bool IsZero(const std::string& bytes, uint64_t offset, uint64_t size) {
  const uint64_t end = std::min<uint64_t>(offset + size, bytes.size());
  for (uint64_t i = offset; i < end; ++i) {
    if (bytes[i] != '\0') return false;
  }
  return true;
}

/// A random unit of `size` bytes; three times out of four one that holds something, since most of a
/// small pool is free.
inline uint64_t PickUnit(const std::string& bytes, uint64_t size, Random* random) {
  const uint64_t units = std::max<uint64_t>(bytes.size() / size, 1);
  uint64_t unit = random->Below(units);
  if (!random->OneIn(4)) {
    for (int tries = 0; tries < 2000 && IsZero(bytes, unit * size, size); ++tries) {
      unit = random->Below(units);
    }
  }
  return unit * size;
}

/// Does `harm` to `file` at a random place and says where, for the replay line.
inline std::string Damage(PoolFile* file, Harm harm, Random* random) {
  std::string& bytes = file->bytes;
  std::string text = std::string(HarmName(harm)) + " " + file->name;
  if (bytes.empty()) return text + " (empty)";
  switch (harm) {
    case Harm::kBitFlip: {
      const uint64_t line = PickUnit(bytes, kLineBytes, random);
      const uint64_t at = line + random->Below(std::min<uint64_t>(kLineBytes, bytes.size() - line));
      const uint64_t bit = random->Below(8);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      return text + " offset " + std::to_string(at) + " bit " + std::to_string(bit);
    }
    case Harm::kLine: {
      const uint64_t at = PickUnit(bytes, kLineBytes, random);
      const uint64_t size = std::min<uint64_t>(kLineBytes, bytes.size() - at);
      bytes.replace(at, size, random->Bytes(size));
      return text + " offset " + std::to_string(at);
    }
    case Harm::kTruncate: {
      uint64_t size = random->Below(bytes.size());
      if (random->OneIn(2)) size -= size % kPageBytes;
      bytes.resize(size);
      return text + " to " + std::to_string(size);
    }
    case Harm::kZeroPage: {
      const uint64_t at = PickUnit(bytes, kPageBytes, random);
      const uint64_t size = std::min<uint64_t>(kPageBytes, bytes.size() - at);
      std::memset(bytes.data() + at, 0, size);
      return text + " offset " + std::to_string(at);
    }
    case Harm::kSwapPages:
      break;
  }
  const uint64_t first = PickUnit(bytes, kPageBytes, random);
  const uint64_t second = PickUnit(bytes, kPageBytes, random);
  if (first + kPageBytes <= bytes.size() && second + kPageBytes <= bytes.size() &&
      first != second) {
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                     bytes.begin() + static_cast<std::ptrdiff_t>(first + kPageBytes),
                     bytes.begin() + static_cast<std::ptrdiff_t>(second));
  }
  return text + " offsets " + std::to_string(first) + " " + std::to_string(second);
}

}  // namespace braid::test
