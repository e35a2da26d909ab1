// Runs the braid command as a user does and keeps what it said.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/build_paths.h"
#include "support/temp_folder.h"

namespace braid::test {

/// The program under test: $BRAID_COMMAND, or the one of this build.
inline std::string CommandPath() {
  const char* chosen = std::getenv("BRAID_COMMAND");
  return chosen != nullptr ? chosen : BRAID_TEST_BIN_DIR "/braid";
}

inline std::string ReadFileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteFileText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.flush().good()) << "can't write " << path;
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct CommandResult {
  int exit_code = -1;  ///< -1 when a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

/// A running command. Its stdin is a pipe, or a file.
class RunningCommand {
 public:
  /// `stderr_fd` -1 keeps what is said there for Finish.
  RunningCommand(const std::string& folder, std::vector<std::string> arguments,
                 const std::string& input_path = {}, int stderr_fd = -1) {
    static int counter = 0;
    const std::string name = folder + "/run-" + std::to_string(++counter);
    out_path_ = name + ".out";
    err_path_ = name + ".err";
    arguments.insert(arguments.begin(), CommandPath());
    int ends[2] = {-1, -1};
    if (input_path.empty()) {
      EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    } else {
      ends[0] = ::open(input_path.c_str(), O_RDONLY | O_CLOEXEC);
      EXPECT_GE(ends[0], 0) << input_path;
    }
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const int out = ::open(out_path_.c_str(), kFlags, 0600);
    const int err = stderr_fd >= 0 ? stderr_fd : ::open(err_path_.c_str(), kFlags, 0600);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[0], STDIN_FILENO);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(err, STDERR_FILENO);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[0]);
    ::close(out);
    if (stderr_fd < 0) ::close(err);
    input_ = ends[1];
  }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;
  ~RunningCommand() {
    CloseInput();
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  pid_t pid() const { return pid_; }
  /// What it has printed so far.
  std::string OutSoFar() const { return ReadFileText(out_path_); }
  void Signal(int signal) const { ::kill(pid_, signal); }
  void CloseInput() {
    if (input_ >= 0) ::close(input_);
    input_ = -1;
  }
  /// False when the command does not read any more.
  bool Feed(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::write(input_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  /// Ends the input and waits for the command to end.
  CommandResult Finish() {
    CloseInput();
    return Wait();
  }
  /// Waits for the command to end by itself.
  CommandResult Wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    CommandResult result;
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    EXPECT_NE(result.exit_code, 127)
        << "can't run " << CommandPath() << ": build it, or set BRAID_COMMAND";
    result.out = ReadFileText(out_path_);
    result.err = ReadFileText(err_path_);
    return result;
  }

 private:
  std::string out_path_;
  std::string err_path_;
  pid_t pid_ = 0;
  int input_ = -1;
};

/// Waits until `condition` holds, at most two minutes.
template <class Condition>
bool WaitUntil(Condition condition) {
  for (int i = 0; i < 12'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A scratch folder with a pool path, and short ways to run verbs on it.
class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    // A command that stops reading shows as a failed write here.
    ::signal(SIGPIPE, SIG_IGN);
  }

  std::string Path(const std::string& name) const { return folder_.Sub(name); }
  std::string Pool() const { return Path("pool"); }
  std::string File(const std::string& name, const std::string& text) const {
    WriteFileText(Path(name), text);
    return Path(name);
  }
  bool Exists(const std::string& path) const { return ::access(path.c_str(), F_OK) == 0; }

  CommandResult Run(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const std::string input_path = File("input", input);
    return RunningCommand(folder_.path(), arguments, input_path).Finish();
  }
  /// What a command that must succeed prints.
  std::string Out(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const CommandResult result = Run(arguments, input);
    EXPECT_EQ(result.exit_code, 0) << Join(arguments) << "\n" << result.err;
    EXPECT_EQ(result.err, "") << Join(arguments);
    return result.out;
  }
  /// A command that must fail with one message that holds `text`.
  CommandResult ExpectError(const std::vector<std::string>& arguments, const std::string& text,
                            const std::string& input = {}) {
    CommandResult result = Run(arguments, input);
    EXPECT_EQ(result.exit_code, 2) << Join(arguments) << "\n" << result.out << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(result.err.starts_with("braid: ")) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos)
        << Join(arguments) << " said: " << result.err << "expected: " << text;
    return result;
  }

  static std::string Join(const std::vector<std::string>& words) {
    std::string text = "braid";
    for (const std::string& word : words) text += " " + word;
    return text;
  }

  TempFolder folder_;
};

}  // namespace braid::test
