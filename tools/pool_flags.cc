#include "tools/pool_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr size_t kOutputBytes = 64 * 1024;

// Says of a pool that is not there how to make one.
template <class T>
Result<T> WithHint(Result<T> opened, const std::string& path) {
  if (!opened.ok() && opened.status().IsNotFound()) {
    return Status::NotFound(
        fmt::format("no pool at '{}': check the path, or make one with 'braid put' or 'braid load'",
                    EscapeForTerminal(path)));
  }
  return opened;
}

}  // namespace

int Fail(std::string_view message) {
  // One line even if a message carries bytes of a file or a key.
  std::string line = "braid: " + EscapeForTerminal(message);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
  return kExitError;
}

int Fail(const Status& status) {
  // These two explain themselves; with the others the kind of error matters.
  const bool plain = status.IsInvalidArgument() || status.IsNotFound();
  const std::string full = status.ToString();
  return Fail(plain && !status.message().empty() ? status.message() : std::string_view(full));
}

bool Output::Write(std::string_view text) {
  if (error_ != 0) return false;
  buffer_.append(text);
  return buffer_.size() < kOutputBytes || Drain();
}

bool Output::Drain() {
  std::string_view rest = buffer_;
  while (!rest.empty() && error_ == 0) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
  return error_ == 0;
}

int Output::Finish(int exit_code) {
  Drain();
  if (error_ == 0 || error_ == EPIPE) return exit_code;
  return Fail(fmt::format("can't write the output: {}: make room or write it elsewhere",
                          std::strerror(error_)));
}

CLI::Option* AddSizeOption(CLI::App& app, const std::string& name, std::optional<uint64_t>* size,
                           const std::string& description) {
  const auto parse = [name, size](const std::string& text) {
    *size = ParseSize(text);
    if (!size->has_value()) {
      throw CLI::ValidationError(
          name,
          fmt::format("'{}' is not a size: write bytes, or a number with K, M, G or T", text));
    }
  };
  return app.add_option_function<std::string>(name, parse, description)->type_name("SIZE");
}

CLI::Option* AddCountOption(CLI::App& app, const std::string& name, uint64_t* count, uint64_t least,
                            const std::string& description) {
  const auto parse = [name, count, least](const std::string& text) {
    const char* const end = text.data() + text.size();
    uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end || number < least) {
      throw CLI::ValidationError(name,
                                 fmt::format("'{}' is not a whole number from {} on", text, least));
    }
    *count = number;
  };
  return app.add_option_function<std::string>(name, parse, description)->type_name("N");
}

void AddHexFlag(CLI::App& app, bool* hex, const std::string& description) {
  app.add_flag("--hex", *hex, description);
}

void AddJsonFlag(CLI::App& app, bool* json, const std::string& description) {
  app.add_flag("--json", *json, description);
}

void PoolFlags::AddTo(CLI::App& app) {
  app.add_option("POOL", path_, "directory of the pool")->required()->type_name("");
  AddOptionsTo(app);
}

void PoolFlags::AddOptionsTo(CLI::App& app) {
  constexpr const char* kGroup = "Options of the store";
  app.add_option("--design", design_,
                 "recipe of the pool; default: its own, and braid for a new one")
      ->type_name("NAME")
      ->group(kGroup);
  std::vector<std::string> orders;
  for (const std::string_view name : KeyOrderNames()) orders.emplace_back(name);
  app.add_option("--key-order", key_order_,
                 fmt::format("order of the keys of a new pool: {}; default: that of their bytes",
                             fmt::join(orders, ", ")))
      ->type_name("NAME")
      ->check(CLI::IsMember(orders))
      ->group(kGroup);
  AddSizeOption(app, "--memory-budget", &memory_budget_,
                "memory for memtables, indexes and filters; default: 1G")
      ->group(kGroup);
  AddSizeOption(app, "--max-size", &max_size_, "the pool never grows beyond; default: no limit")
      ->group(kGroup);
  app.add_option("--tier", tier_,
                 "folder of the pool's tier, or of the one that it is to have; to write it takes "
                 "--max-size, too")
      ->type_name("DIR")
      ->group(kGroup);
  const auto set_class = [this](const std::string& name) {
    for (const MediaClass media_class :
         {MediaClass::kPage, MediaClass::kCacheLine, MediaClass::kByte}) {
      if (name == MediaClassName(media_class)) media_class_ = media_class;
    }
  };
  app.add_option_function<std::string>("--force-media-class", set_class,
                                       "treat the medium as page, cache_line or byte; for tests")
      ->type_name("CLASS")
      ->check(CLI::IsMember({"page", "cache_line", "byte"}))
      ->group(kGroup);
  app.add_flag("--log", log_, "print what the store reports (recovery, slow-down) on stderr")
      ->group(kGroup);
}

Options PoolFlags::MakeOptions() const {
  Options options;
  if (!design_.empty()) options.design = design_;
  if (memory_budget_) options.memory_budget_bytes = *memory_budget_;
  if (max_size_) {
    options.pool.max_bytes = *max_size_;
    // A new pool need not begin with the usual size. 0 is no limit.
    if (*max_size_ != 0) {
      options.pool.initial_bytes = std::min(options.pool.initial_bytes, *max_size_);
    }
  }
  options.tier.path = tier_;
  options.pool.force_media_class = media_class_;
  if (log_) {
    options.logger = [](std::string_view line) {
      std::fprintf(stderr, "braid: %.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  return options;
}

Options PoolFlags::OptionsOfPool() const {
  Options options = MakeOptions();
  if (!design_.empty()) return options;
  // Where this fails, the open reports why.
  Result<PoolInfo> info = DB::Inspect(path_);
  if (info.ok()) options.design = info->design;
  return options;
}

std::shared_ptr<const KeyOrder> PoolFlags::KeyOrderOf(const std::string& path) const {
  if (!key_order_.empty()) return FindKeyOrder(key_order_);
  // Where this fails, the open reports why.
  Result<PoolInfo> info = DB::Inspect(path);
  return info.ok() ? FindKeyOrder(info->comparator) : nullptr;
}

Result<std::unique_ptr<DB>> OpenAsItIs(Options options, const std::string& path) {
  options.read_only = true;
  Result<PoolInfo> info = DB::Inspect(path, options);
  if (!info.ok() || info->comparator == kBytewiseOrder) return DB::Open(options, path);
  if (auto order = FindKeyOrder(info->comparator)) return DB::Open(options, path, order);
  return DB::OpenEncoded(options, path);
}

Result<std::unique_ptr<DB>> PoolFlags::OpenToRead() const {
  Options options = OptionsOfPool();
  options.read_only = true;
  if (!key_order_.empty()) {
    return WithHint(DB::Open(options, path_, FindKeyOrder(key_order_)), path_);
  }
  Result<std::unique_ptr<DB>> opened = OpenAsItIs(options, path_);
  Result<PoolInfo> info = DB::Inspect(path_);
  if (opened.ok() && info.ok() && info->comparator != kBytewiseOrder &&
      FindKeyOrder(info->comparator) == nullptr) {
    std::fputs(fmt::format("braid: note: the keys of '{}' are in the order \"{}\", which only the "
                           "program that made the pool can decode: here they are encoded\n",
                           EscapeForTerminal(path_), EscapeForTerminal(info->comparator))
                   .c_str(),
               stderr);
  }
  return WithHint(std::move(opened), path_);
}

Status PoolFlags::Read(std::unique_ptr<DB>* db, const std::function<Status(DB&)>& read) const {
  constexpr int kMostOpens = 20;  // each has the writer flush what it holds in memory
  for (int opens = 1;; ++opens) {
    Status status = read(**db);
    if (!status.IsTryAgain()) return status;
    if (opens == kMostOpens) {
      return Status::TryAgain(
          "the process that writes to the pool merges too often for this; try "
          "again when it writes less, or read a checkpoint that it makes");
    }
    db->reset();
    Result<std::unique_ptr<DB>> opened = OpenToRead();
    if (!opened.ok()) return opened.status();
    *db = std::move(opened).value();
  }
}

Result<std::unique_ptr<DB>> PoolFlags::OpenExisting() const {
  Options options = OptionsOfPool();
  options.create_if_missing = false;
  return WithHint(DB::Open(options, path_, KeyOrderOfPool()), path_);
}

Result<std::unique_ptr<DB>> PoolFlags::OpenOrCreate() const {
  return DB::Open(OptionsOfPool(), path_, KeyOrderOfPool());
}

Result<PoolInfo> PoolFlags::Inspect() const {
  return WithHint(DB::Inspect(path_, MakeOptions()), path_);
}

int CloseAndReturn(DB& db, int exit_code) {
  const Status status = db.Close();
  return status.ok() ? exit_code : Fail(status);
}

}  // namespace braid::tools
