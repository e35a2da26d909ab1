#include "tools/record_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tools/record_text.h"

namespace braid::tools {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;

Status CantWrite(const std::string& name, int error) {
  return Status::IOError(fmt::format("can't write '{}': {}: make room, or choose another FILE",
                                     name, std::strerror(error)));
}

class TextSink final : public RecordSink {
 public:
  TextSink(int fd, std::string path, const RecordStyle& style)
      : fd_(fd), path_(std::move(path)), style_(style) {}
  ~TextSink() override {
    if (path_.empty()) return;
    ::close(fd_);
    if (!published_) ::unlink(PartialPath(path_).c_str());
  }
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  Status Add(Slice key, Slice value) override {
    AppendRecordLine(key, value, style_, &buffer_);
    return buffer_.size() < kBufferBytes ? Status::OK() : Drain();
  }
  bool reader_is_gone() const override { return gone_; }
  uint64_t bytes() const override { return written_ + buffer_.size(); }
  Status Finish() override {
    if (Status status = Drain(); !status.ok() || path_.empty()) return status;
    if (Status status = PublishFile(path_); !status.ok()) return status;
    published_ = true;
    return Status::OK();
  }

 private:
  Status Drain() {
    std::string_view rest = buffer_;
    while (!rest.empty() && !gone_) {
      const ssize_t count = ::write(fd_, rest.data(), rest.size());
      if (count >= 0) {
        rest.remove_prefix(static_cast<size_t>(count));
        written_ += static_cast<uint64_t>(count);
      } else if (errno == EPIPE && path_.empty()) {
        gone_ = true;
      } else if (errno != EINTR) {
        return CantWrite(path_.empty() ? "stdout" : path_, errno);
      }
    }
    buffer_.clear();
    return Status::OK();
  }

  const int fd_;
  const std::string path_;  // empty: stdout
  const RecordStyle style_;
  std::string buffer_;
  uint64_t written_ = 0;
  bool gone_ = false;
  bool published_ = false;
};

Status SyncPath(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  return synced ? Status::OK() : CantWrite(path, error);
}

Status CheckFree(const SinkSettings& settings) {
  std::error_code error;
  const auto kind = std::filesystem::status(settings.path, error).type();
  if (kind == std::filesystem::file_type::not_found) return Status::OK();
  if (kind == std::filesystem::file_type::regular && settings.overwrite) return Status::OK();
  if (kind == std::filesystem::file_type::regular) {
    return Status::InvalidArgument(fmt::format(
        "'{}' is there already: choose another FILE, or replace it with --force", settings.path));
  }
  // A pipe or a device would be replaced by a file.
  return Status::InvalidArgument(fmt::format(
      "'{}' is not an ordinary file: choose another FILE, or write to stdout (FILE left out)",
      settings.path));
}

}  // namespace

std::string PartialPath(const std::string& path) { return path + ".partial"; }

Status PublishFile(const std::string& path) {
  const std::string partial = PartialPath(path);
  if (Status status = SyncPath(partial, O_RDONLY); !status.ok()) return status;
  if (std::rename(partial.c_str(), path.c_str()) != 0) return CantWrite(path, errno);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return SyncPath(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

Result<std::unique_ptr<RecordSink>> MakeRecordSink(const SinkSettings& settings) {
  const bool to_stdout = settings.path == "-";
  if (settings.hex && settings.format != "tsv") {
    return Status::InvalidArgument(
        "--hex is for --format tsv: jsonl marks binary data by itself, and sst is binary");
  }
  if (settings.format == "sst" && to_stdout) {
    return Status::InvalidArgument("an SST can't go to stdout: name a FILE");
  }
  if (!to_stdout) {
    if (Status status = CheckFree(settings); !status.ok()) return status;
  }
  if (settings.format == "sst") return MakeSstSink(settings.path);
  const RecordStyle style{.json = settings.format == "jsonl", .hex = settings.hex};
  if (to_stdout) {
    return std::unique_ptr<RecordSink>(std::make_unique<TextSink>(STDOUT_FILENO, "", style));
  }
  const int fd = ::open(PartialPath(settings.path).c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return CantWrite(settings.path, errno);
  return std::unique_ptr<RecordSink>(std::make_unique<TextSink>(fd, settings.path, style));
}

}  // namespace braid::tools
