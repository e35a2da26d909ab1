// braid put POOL KEY VALUE: stores a value under a key.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "tools/pool_flags.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

Status ReadAll(int fd, const std::string& name, std::string* bytes) {
  constexpr size_t kStep = 256 * 1024;
  while (true) {
    const size_t size = bytes->size();
    bytes->resize(size + kStep);
    const ssize_t count = ::read(fd, bytes->data() + size, kStep);
    const int error = errno;
    bytes->resize(size + (count > 0 ? static_cast<size_t>(count) : 0));
    if (count == 0) return Status::OK();
    if (count < 0 && error != EINTR) {
      return Status::IOError(fmt::format("can't read '{}': {}: check that it is a readable file",
                                         name, std::strerror(error)));
    }
    if (bytes->size() > kMaxValueBytes) {
      return Status::InvalidArgument(
          fmt::format("'{}' is larger than a value may be (4 GiB - 1): split it", name));
    }
  }
}

Status ReadFile(const std::string& path, std::string* bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Status::IOError(fmt::format("can't read '{}': {}: check the path and its permissions",
                                       path, std::strerror(errno)));
  }
  Status status = ReadAll(fd, path, bytes);
  ::close(fd);
  return status;
}

class PutVerb final : public Verb {
 public:
  std::string name() const override { return "put"; }
  std::string summary() const override { return "store a value under a key"; }
  std::string description() const override {
    return "Stores a value under a key; a value that was there is replaced. When the command "
           "returns, the write is as durable as braid info says of the medium.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("KEY", key_, "the key; write -- before one that starts with a dash")
        ->required()
        ->type_name("");
    app.add_option("VALUE", value_, "the value; - reads it from stdin")->type_name("");
    app.add_option("--value-file", value_file_, "take the bytes of this file as the value")
        ->type_name("FILE");
    AddHexFlag(app, &hex_, "KEY and VALUE are hex digits (a file or stdin is bytes all the same)");
    app.add_flag("--sync", sync_, "survive power loss on page-cache media too");
    app.footer("Makes the pool when there is none.");
  }

  int Run() override {
    if (value_.has_value() == value_file_.has_value()) {
      return Fail(value_ ? "two values: give VALUE or --value-file, not both"
                         : "no value: give VALUE, - for stdin, or --value-file FILE");
    }
    std::string key;
    std::string value;
    Status status = ParseBytes(key_, hex_, &key);
    if (status.ok()) status = ReadValue(&value);
    if (!status.ok()) return Fail(status);
    auto opened = pool_.OpenOrCreate();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    status = db.Put(WriteOptions{.sync = sync_}, key, value);
    if (!status.ok()) return Fail(status);
    return CloseAndReturn(db, kExitOk);
  }

 private:
  Status ReadValue(std::string* value) const {
    if (value_file_) return ReadFile(*value_file_, value);
    if (*value_ == "-") return ReadAll(STDIN_FILENO, "stdin", value);
    return ParseBytes(*value_, hex_, value);
  }

  PoolFlags pool_;
  std::string key_;
  std::optional<std::string> value_;
  std::optional<std::string> value_file_;
  bool hex_ = false;
  bool sync_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakePutVerb() { return std::make_unique<PutVerb>(); }

}  // namespace braid::tools
