// What every verb needs: the pool and its options, error messages, the output.
//
// Thread safety: one thread, except where a function says otherwise.
// Persistence: none of its own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "braid/db.h"
#include "tools/verb.h"

namespace braid::tools {

/// Prints "braid: MESSAGE" as one line on stderr and returns kExitError. MESSAGE ends with what to
/// do about it.
int Fail(std::string_view message);
int Fail(const Status& status);

/// Results on stdout, buffered. Writing stops quietly when the reader of a pipe has gone away
/// (`braid scan POOL | head`).
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// False when nothing more can be written: stop producing.
  bool Write(std::string_view text);
  bool WriteLine(std::string_view text) { return Write(text) && Write("\n"); }
  /// Writes what is left. `exit_code` when all went well, else kExitError after a message.
  int Finish(int exit_code);

 private:
  bool Drain();

  std::string buffer_;
  int error_ = 0;
};

/// The POOL argument and the options that all verbs share.
class PoolFlags {
 public:
  /// Adds POOL and the shared options.
  void AddTo(CLI::App& app);
  /// The shared options alone, for a verb that can do without a pool.
  void AddOptionsTo(CLI::App& app);

  const std::string& path() const { return path_; }
  /// The library's options as the command line sets them.
  Options MakeOptions() const;
  /// The same, with the design that the pool says it has when none was named.
  Options OptionsOfPool() const;

  /// Opens the pool without changing it; other processes may do the same; NotFound's message says
  /// how to make one. Keys of an order that is not built in are shown encoded, after a remark on
  /// stderr.
  Result<std::unique_ptr<DB>> OpenToRead() const;
  /// Calls `read` with `*db`, which OpenToRead has opened, and again with a reopened one when the
  /// process that writes to the pool has revoked the grant (TryAgain). Gives up after some times.
  Status Read(std::unique_ptr<DB>* db, const std::function<Status(DB&)>& read) const;
  /// Opens the pool for a verb that writes.
  Result<std::unique_ptr<DB>> OpenExisting() const;
  /// Opens the pool and makes it first when there is none, with keys in the order of --key-order.
  Result<std::unique_ptr<DB>> OpenOrCreate() const;
  /// The facts of the pool, without opening it.
  Result<PoolInfo> Inspect() const;

  /// The order that the keys of this command are in: that of --key-order, or else the pool's, if it
  /// is a built-in one. Null: bytes.
  std::shared_ptr<const KeyOrder> KeyOrderOfPool() const { return KeyOrderOf(path_); }
  /// The same of another pool.
  std::shared_ptr<const KeyOrder> KeyOrderOf(const std::string& path) const;

 private:
  std::string path_;
  std::string design_;
  std::string tier_;
  std::string key_order_;
  std::optional<uint64_t> memory_budget_;
  std::optional<uint64_t> max_size_;
  std::optional<MediaClass> media_class_;
  bool log_ = false;
};

/// Opens a pool for reading in the order of its keys, or encoded when that is not built in.
Result<std::unique_ptr<DB>> OpenAsItIs(Options options, const std::string& path);

/// Adds an option that takes a size like 64M.
CLI::Option* AddSizeOption(CLI::App& app, const std::string& name, std::optional<uint64_t>* size,
                           const std::string& description);
/// Adds an option that takes a whole number from `least` on: no sign, no unit, nothing left out.
CLI::Option* AddCountOption(CLI::App& app, const std::string& name, uint64_t* count, uint64_t least,
                            const std::string& description);
/// Adds `--hex` with the text that suits a verb.
void AddHexFlag(CLI::App& app, bool* hex, const std::string& description);
void AddJsonFlag(CLI::App& app, bool* json, const std::string& description);

/// Closes `db` and returns `exit_code`, or kExitError after a message when closing fails.
int CloseAndReturn(DB& db, int exit_code);

}  // namespace braid::tools
