// What lies in a folder, to the byte: for tests that nothing changes there.
#pragma once

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace braid::test {

/// Size, times of change and a hash of the bytes of every file below a folder, by its path.
struct FileState {
  uint64_t bytes = 0;
  uint64_t hash = 0;
  int64_t changed_ns = 0;  ///< content
  int64_t touched_ns = 0;  ///< content, name, rights
  bool operator==(const FileState&) const = default;
};
using FolderState = std::map<std::string, FileState>;

inline void HashFile(const std::string& path, FileState* state) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return;
  std::string block(256 << 10, '\0');
  while (const size_t n = std::fread(block.data(), 1, block.size(), file)) {
    state->bytes += n;
    // In order: each block's hash is mixed into those before it.
    state->hash = state->hash * 0x9E3779B97F4A7C15ull +
                  std::hash<std::string_view>()(std::string_view(block.data(), n));
  }
  std::fclose(file);
}

inline FolderState StateOfFolder(const std::string& folder) {
  FolderState state;
  const auto add = [&](const std::filesystem::path& path, bool file) {
    FileState one;
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0) {
      one.changed_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
      one.touched_ns = facts.st_ctim.tv_sec * 1'000'000'000 + facts.st_ctim.tv_nsec;
    }
    if (file) HashFile(path.string(), &one);
    state[path.string()] = one;
  };
  add(folder, false);  // its times tell of names that came and went
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    add(entry.path(), entry.is_regular_file());
  }
  return state;
}

/// The first path where two states differ; empty when they are the same.
inline std::string FirstDifference(const FolderState& before, const FolderState& after) {
  for (const auto& [path, state] : before) {
    const auto found = after.find(path);
    if (found == after.end()) return path + " is gone";
    if (found->second == state) continue;
    return path + (found->second.hash == state.hash ? ": its times" : ": its bytes") + " changed";
  }
  for (const auto& [path, state] : after) {
    if (!before.contains(path)) return path + " is new";
  }
  return {};
}

}  // namespace braid::test
