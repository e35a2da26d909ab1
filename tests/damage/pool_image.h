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

  /// The bytes of the file with this name; empty when there is none.
  std::string BytesOf(const std::string& name) const {
    for (const PoolFile& file : files) {
      if (file.name == name) return file.bytes;
    }
    return {};
  }

  std::vector<PoolFile> files;
};

/// What is done to one file.
enum class Harm {
  kBitFlip,
  kLine,  ///< other bytes
  kTruncate,
  kZeroPage,
  kSwapPages,
  kSwapLines,
  kSwapChunks,
  kStalePage,  ///< what the page held earlier in the same pool: a write that never arrived
};
inline constexpr int kHarms = 8;

inline const char* HarmName(Harm harm) {
  static const char* const kNames[] = {"BitFlip",   "Line",      "Truncate",   "ZeroPage",
                                       "SwapPages", "SwapLines", "SwapChunks", "StalePage"};
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

/// Swaps two random units of `size` bytes.
inline std::string SwapUnits(std::string* bytes, uint64_t size, Random* random) {
  const uint64_t first = PickUnit(*bytes, size, random);
  const uint64_t second = PickUnit(*bytes, size, random);
  if (first + size <= bytes->size() && second + size <= bytes->size() && first != second) {
    std::swap_ranges(bytes->begin() + static_cast<std::ptrdiff_t>(first),
                     bytes->begin() + static_cast<std::ptrdiff_t>(first + size),
                     bytes->begin() + static_cast<std::ptrdiff_t>(second));
  }
  return " offsets " + std::to_string(first) + " " + std::to_string(second);
}

/// Puts a page of `earlier` in the place of one that has changed since.
inline std::string MakeStale(std::string* bytes, const std::string& earlier, Random* random) {
  const uint64_t pages = std::min(bytes->size(), earlier.size()) / kPageBytes;
  for (int tries = 0; tries < 2000 && pages > 0; ++tries) {
    const uint64_t at = random->Below(pages) * kPageBytes;
    if (bytes->compare(at, kPageBytes, earlier, at, kPageBytes) == 0) continue;
    bytes->replace(at, kPageBytes, earlier, at, kPageBytes);
    return " offset " + std::to_string(at);
  }
  return " (none has changed)";
}

/// Does `harm` to `file` at a random place and says where, for the replay line. `earlier`: the file
/// as it was, for kStalePage.
inline std::string Damage(PoolFile* file, Harm harm, Random* random, uint64_t chunk_bytes,
                          const std::string& earlier) {
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
      return text + SwapUnits(&bytes, kPageBytes, random);
    case Harm::kSwapLines:
      return text + SwapUnits(&bytes, kLineBytes, random);
    case Harm::kSwapChunks:
      return text + SwapUnits(&bytes, chunk_bytes, random);
    case Harm::kStalePage:
      break;
  }
  return text + MakeStale(&bytes, earlier, random);
}

}  // namespace braid::test
