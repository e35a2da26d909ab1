// A file or stdin, line by line, in bounded memory.
//
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "braid/status.h"

namespace braid::tools {

class LineSource {
 public:
  enum class Outcome : uint8_t { kLine, kEnd, kStopped, kError };
  /// Longer lines are refused, so that a file without newlines can't take all memory. Leaves room
  /// for the longest escapes of a record of 256 MiB.
  static constexpr size_t kMaxLineBytes = size_t{1} << 30;

  /// "-" is stdin.
  static Result<LineSource> Open(const std::string& path);
  LineSource(LineSource&& other) noexcept;
  LineSource& operator=(LineSource&&) = delete;
  ~LineSource();

  /// The next line without its newline; stays valid until the next call. The last line may lack the
  /// newline. kStopped: a signal asked to stop (interrupt.h). kError: see status().
  Outcome Next(std::string_view* line);
  /// Skips `lines` lines. Fewer when the file is shorter.
  Outcome Skip(uint64_t lines);

  const Status& status() const { return status_; }
  /// Name for messages: the path, or "stdin".
  const std::string& name() const { return name_; }
  /// Number of the line that Next returned last, from 1; 0 before.
  uint64_t line_number() const { return line_number_; }
  /// Share of the file that was read, 0 to 1; negative when its size is unknown.
  double Share() const;

 private:
  LineSource(int fd, std::string name, std::optional<uint64_t> size);
  Outcome Fill();

  int fd_;
  std::string name_;
  std::optional<uint64_t> size_;
  std::string buffer_;
  size_t begin_ = 0;  // of the bytes in buffer_ that were not returned yet
  bool at_end_ = false;
  uint64_t line_number_ = 0;
  uint64_t consumed_ = 0;
  Status status_;
};

}  // namespace braid::tools
