// The part of the keys that `scan` and `count` look at.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "braid/key_order.h"
#include "braid/options.h"
#include "braid/status.h"

namespace braid::tools {

/// The first key after all keys that start with `prefix`; nothing when there is none.
std::optional<std::string> PrefixEnd(std::string_view prefix);

struct KeyRange {
  ReadOptions options;  ///< bounds for an iterator
  bool empty = false;   ///< the bounds exclude each other: nothing to read
};

/// Keys with a prefix lie together in byte order alone: InvalidArgument for another `order`.
Status CheckPrefix(const KeyOrder* order);

/// The keys that satisfy all of these, in `order`; null: in byte order, without which there is no
/// prefix (CheckPrefix).
KeyRange RangeOf(const std::optional<std::string>& from, const std::optional<std::string>& to,
                 const std::optional<std::string>& prefix, const KeyOrder* order = nullptr);

/// --from, --to and --prefix. Several together mean the keys that satisfy all.
class RangeFlags {
 public:
  void AddTo(CLI::App& app);
  bool given() const { return from_ || to_ || prefix_; }
  /// The first flag whose argument is empty; null when there is none. For a verb that destroys:
  /// there it is a shell variable that was never set, more likely than a bound.
  const char* empty_flag() const;
  /// InvalidArgument when `hex` and an argument is not hex, or --prefix and `order` is not null.
  Result<KeyRange> MakeRange(bool hex, const KeyOrder* order) const;

 private:
  std::optional<std::string> from_;
  std::optional<std::string> to_;
  std::optional<std::string> prefix_;
};

}  // namespace braid::tools
