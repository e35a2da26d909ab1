// Histories as lines of JSON, for a checker of another make (tests/porcupine).
//
// BRAID_HISTORY_FILE names the file, which is appended to; BRAID_HISTORY_COUNT how many histories
// are written at most (4,000 without it). One line a history:
//   {"keys":2,"initial":[0,7],"operations":[{"client":1,"call":3,"return":5,"kind":"put",
//    "writes":[[0,9]]}, ...]}
// `initial` holds the value of each key before the history, 0 for no such key. An operation has the
// keys and values that it read, that it wrote, and that it found not to be there (a swap that was
// refused).
// Thread safety: one thread at a time.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "linearizability.h"

namespace braid::test {

class HistoryFile {
 public:
  /// Nothing when no file was asked for.
  static void Write(const History& history, const Registers& initial, size_t keys) {
    static HistoryFile file;
    if (file.file_ == nullptr || file.left_ == 0) return;
    --file.left_;
    const std::string line = Line(history, initial, keys);
    if (std::fwrite(line.data(), 1, line.size(), file.file_) != line.size()) {
      std::perror("cannot write BRAID_HISTORY_FILE");
      std::abort();
    }
  }

 private:
  HistoryFile() {
    const char* path = std::getenv("BRAID_HISTORY_FILE");
    if (path == nullptr || *path == '\0') return;
    if (const char* count = std::getenv("BRAID_HISTORY_COUNT")) {
      left_ = std::strtoull(count, nullptr, 10);
    }
    file_ = std::fopen(path, "a");
    if (file_ == nullptr) {
      std::perror("cannot open BRAID_HISTORY_FILE");
      std::abort();
    }
  }
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;
  ~HistoryFile() {
    if (file_ != nullptr) std::fclose(file_);
  }

  static std::string List(const char* name, const Registers& registers) {
    std::string text;
    for (size_t r = 0; r < kRegisters; ++r) {
      if (registers[r] == kUntouched) continue;
      text += (text.empty() ? "[" : ",[") + std::to_string(r) + "," + std::to_string(registers[r]) +
              "]";
    }
    return text.empty() ? text : ",\"" + std::string(name) + "\":[" + text + "]";
  }

  static std::string Line(const History& history, const Registers& initial, size_t keys) {
    std::string line = "{\"keys\":" + std::to_string(keys) + ",\"initial\":[";
    for (size_t r = 0; r < keys; ++r) {
      line += (r == 0 ? "" : ",") + std::to_string(initial[r]);
    }
    line += "],\"operations\":[";
    bool first = true;
    for (const Operation& operation : history) {
      line += std::string(first ? "" : ",") + "{\"client\":" + std::to_string(operation.thread) +
              ",\"call\":" + std::to_string(operation.call) +
              ",\"return\":" + std::to_string(operation.returned) + ",\"kind\":\"" +
              NameOf(operation.kind) + "\"" + List("reads", operation.reads) +
              List("writes", operation.writes) + List("differs", operation.differs) + "}";
      first = false;
    }
    return line + "]}\n";
  }

  std::FILE* file_ = nullptr;
  uint64_t left_ = 4000;
};

}  // namespace braid::test
