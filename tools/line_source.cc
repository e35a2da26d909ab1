#include "tools/line_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tools/interrupt.h"

namespace braid::tools {
namespace {

constexpr size_t kReadBytes = 256 * 1024;

}  // namespace

Result<LineSource> LineSource::Open(const std::string& path) {
  if (path == "-") return LineSource(STDIN_FILENO, "stdin", std::nullopt);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Status::IOError(fmt::format("can't read '{}': {}: check the path and its permissions",
                                       path, std::strerror(errno)));
  }
  struct stat facts {};
  std::optional<uint64_t> size;
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
    size = static_cast<uint64_t>(facts.st_size);
  }
  return LineSource(fd, path, size);
}

LineSource::LineSource(int fd, std::string name, std::optional<uint64_t> size)
    : fd_(fd), name_(std::move(name)), size_(size) {}

LineSource::LineSource(LineSource&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      size_(other.size_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      at_end_(other.at_end_),
      line_number_(other.line_number_),
      consumed_(other.consumed_),
      status_(std::move(other.status_)) {}

LineSource::~LineSource() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

double LineSource::Share() const {
  if (!size_) return -1;
  if (*size_ == 0) return 1;
  return static_cast<double>(consumed_) / static_cast<double>(*size_);
}

LineSource::Outcome LineSource::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  if (buffer_.size() > kMaxLineBytes) {
    status_ = Status::InvalidArgument(
        fmt::format("{}:{}: the line is longer than 1 GiB: is this the right file and --format?",
                    name_, line_number_ + 1));
    return Outcome::kError;
  }
  const size_t old_size = buffer_.size();
  buffer_.resize(old_size + kReadBytes);
  ssize_t count = -1;
  while (true) {
    WaitForInput(fd_);
    if (StopRequested()) break;
    count = ::read(fd_, buffer_.data() + old_size, kReadBytes);
    if (count >= 0 || errno != EINTR) break;
  }
  const int error = errno;
  buffer_.resize(old_size + (count > 0 ? static_cast<size_t>(count) : 0));
  if (StopRequested() && count < 0) return Outcome::kStopped;
  if (count < 0) {
    status_ = Status::IOError(fmt::format("can't read '{}': {}: check that it is a readable file",
                                          name_, std::strerror(error)));
    return Outcome::kError;
  }
  at_end_ = count == 0;
  return Outcome::kLine;
}

LineSource::Outcome LineSource::Next(std::string_view* line) {
  size_t searched = begin_;
  while (true) {
    const size_t newline = buffer_.find('\n', searched);
    if (newline != std::string::npos) {
      *line = std::string_view(buffer_).substr(begin_, newline - begin_);
      consumed_ += newline + 1 - begin_;
      begin_ = newline + 1;
      ++line_number_;
      return Outcome::kLine;
    }
    if (at_end_) break;
    const size_t unfinished = buffer_.size() - begin_;
    if (const Outcome outcome = Fill(); outcome != Outcome::kLine) return outcome;
    searched = unfinished;
  }
  if (begin_ == buffer_.size()) return Outcome::kEnd;
  *line = std::string_view(buffer_).substr(begin_);
  consumed_ += line->size();
  begin_ = buffer_.size();
  ++line_number_;
  return Outcome::kLine;
}

LineSource::Outcome LineSource::Skip(uint64_t lines) {
  std::string_view line;
  for (; lines > 0; --lines) {
    if (const Outcome outcome = Next(&line); outcome != Outcome::kLine) return outcome;
  }
  return Outcome::kLine;
}

}  // namespace braid::tools
