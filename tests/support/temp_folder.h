// A folder of scratch data that is gone when the test ends.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace braid::test {

/// Where scratch data goes.
enum class Medium {
  kMemory,  ///< $BRAID_TMP, else /dev/shm, else the system's temporary folder
  kFile,    ///< $BRAID_TMP_FILE, else /var/tmp, else the system's temporary folder
};

inline bool IsWritableFolder(const std::string& path) {
  struct stat facts {};
  return !path.empty() && ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         ::access(path.c_str(), W_OK | X_OK) == 0;
}

inline std::string ScratchBase(Medium medium) {
  const char* chosen = std::getenv(medium == Medium::kMemory ? "BRAID_TMP" : "BRAID_TMP_FILE");
  if (chosen != nullptr && IsWritableFolder(chosen)) return chosen;
  const std::string usual = medium == Medium::kMemory ? "/dev/shm" : "/var/tmp";
  if (IsWritableFolder(usual)) return usual;
  return std::filesystem::temp_directory_path().string();
}

/// Made by the constructor (mode 0700), removed with its content by the destructor of the process
/// that made it. BRAID_KEEP=1 keeps it, for a look after a failure.
class TempFolder {
 public:
  explicit TempFolder(Medium medium = Medium::kMemory) : owner_(::getpid()) {
    path_ = ScratchBase(medium) + "/braid-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      std::perror("cannot make a scratch folder; set BRAID_TMP to a writable folder");
      std::abort();
    }
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    if (::getpid() != owner_) return;
    if (std::getenv("BRAID_KEEP") != nullptr) {
      std::printf("[ kept     ] %s\n", path_.c_str());
      return;
    }
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string Sub(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  pid_t owner_;
};

}  // namespace braid::test
