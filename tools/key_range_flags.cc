#include "tools/key_range_flags.h"

#include "tools/text_format.h"

namespace braid::tools {
namespace {

void RaiseLower(std::string bound, ReadOptions* options) {
  if (!options->lower_bound || *options->lower_bound < bound) {
    options->lower_bound = std::move(bound);
  }
}

void DropUpper(std::string bound, ReadOptions* options) {
  if (!options->upper_bound || bound < *options->upper_bound) {
    options->upper_bound = std::move(bound);
  }
}

}  // namespace

std::optional<std::string> PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xFF') end.pop_back();
  if (end.empty()) return std::nullopt;
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

void RangeFlags::AddTo(CLI::App& app) {
  app.add_option("--from", from_, "first key (inclusive)")->type_name("KEY");
  app.add_option("--to", to_, "last key (exclusive)")->type_name("KEY");
  app.add_option("--prefix", prefix_, "only keys that start with this")->type_name("KEY");
}

const char* RangeFlags::empty_flag() const {
  if (from_ && from_->empty()) return "--from";
  if (to_ && to_->empty()) return "--to";
  return prefix_ && prefix_->empty() ? "--prefix" : nullptr;
}

KeyRange RangeOf(const std::optional<std::string>& from, const std::optional<std::string>& to,
                 const std::optional<std::string>& prefix, const KeyOrder* order) {
  KeyRange range;
  if (from) RaiseLower(*from, &range.options);
  if (to) DropUpper(*to, &range.options);
  if (prefix) {
    RaiseLower(*prefix, &range.options);
    if (auto end = PrefixEnd(*prefix)) DropUpper(std::move(*end), &range.options);
  }
  if (order != nullptr) return range;  // the store knows which bounds exclude each other
  const ReadOptions& options = range.options;
  range.empty =
      options.upper_bound && *options.upper_bound <= options.lower_bound.value_or(std::string());
  return range;
}

Status CheckPrefix(const KeyOrder* order) {
  if (order == nullptr) return Status::OK();
  return Status::InvalidArgument("keys with a prefix don't lie together in the order \"" +
                                 std::string(order->Name()) +
                                 "\" of this pool: give --from and --to");
}

Result<KeyRange> RangeFlags::MakeRange(bool hex, const KeyOrder* order) const {
  if (prefix_) {
    if (Status status = CheckPrefix(order); !status.ok()) return status;
  }
  std::optional<std::string> bounds[3] = {from_, to_, prefix_};
  for (std::optional<std::string>& bound : bounds) {
    if (!bound) continue;
    const std::string argument = *bound;
    if (Status status = ParseBytes(argument, hex, &*bound); !status.ok()) return status;
  }
  return RangeOf(bounds[0], bounds[1], bounds[2], order);
}

}  // namespace braid::tools
