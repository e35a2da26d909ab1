// Where benchmark data goes, and how it goes away again, also after a crash or Ctrl-C.
#pragma once

#include <functional>
#include <string>

#include "braid/status.h"

namespace braid::bench {

/// A folder for scratch data and why it was chosen, for the report.
struct ScratchBase {
  std::string path;
  std::string reason;
};

/// $BRAID_TMP when it is set; else /dev/shm when it has room for `bytes`; else the system's
/// temporary folder.
ScratchBase ChooseScratchBase(uint64_t bytes);

/// A new folder below a base, removed with all its content by the destructor.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> Create(const std::string& base);
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }
  /// Leaves the folder behind.
  void Release() { path_.clear(); }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// How a child process ended.
struct ChildOutcome {
  int exit_code = 0;         ///< when it exited by itself
  int signal = 0;            ///< that ended it, or 0
  bool interrupted = false;  ///< this process was asked to stop (SIGINT, SIGTERM, SIGHUP)
  std::string output;        ///< what `body` wrote to the descriptor it got
};

/// Runs `body(descriptor)` in a child process and waits for it. The parent stays alive when the
/// child crashes, and when it is asked to stop it ends the child first, so that whoever called can
/// clean up. To be called without other threads running.
Result<ChildOutcome> RunInChild(const std::function<int(int descriptor)>& body);

/// The exit code of a program that was interrupted, as shells report it.
inline constexpr int kExitInterrupted = 130;

}  // namespace braid::bench
