// Purpose: the orders of keys that come with the library.
// Thread safety: immutable.
// Persistence: what Encode makes lies in pools: none of it may ever change.
#include "braid/key_order.h"

#include <algorithm>
#include <array>

namespace braid {

namespace {

/// All bytes are complemented, which turns the order of keys round where two differ in a byte.
/// Where one is the begin of the other the longer one must come first: an end mark follows, which
/// is behind all that may stand in its place. Complemented bytes from 0 to 254 stand for
/// themselves, 255 (a zero byte of the key) is 255 0, the end mark is 255 255.
class ReverseOrder final : public KeyOrder {
 public:
  std::string_view Name() const override { return "reverse-bytewise"; }

  Status Encode(Slice key, std::string* out) const override {
    const auto zeros = std::count(key.begin(), key.end(), '\0');
    out->reserve(key.size() + static_cast<size_t>(zeros) + kEndMark.size());
    for (const char byte : key) {
      out->push_back(static_cast<char>(~byte));
      if (byte == '\0') out->push_back('\0');
    }
    out->append(kEndMark);
    return Status::OK();
  }

  Status Decode(Slice encoded, std::string* out) const override {
    if (!encoded.ends_with(kEndMark)) return Wrong();
    encoded.remove_suffix(kEndMark.size());
    out->reserve(encoded.size());
    for (size_t i = 0; i < encoded.size(); ++i) {
      const char byte = static_cast<char>(~encoded[i]);
      if (byte == '\0' && (++i == encoded.size() || encoded[i] != '\0')) return Wrong();
      out->push_back(byte);
    }
    return Status::OK();
  }

 private:
  static constexpr std::string_view kEndMark = "\xff\xff";
  static Status Wrong() {
    return Status::Corruption("no key of the order \"reverse-bytewise\" has these bytes");
  }
};

/// The bytes from the most significant one on; the sign's bit is turned round, so that negative
/// numbers come first.
class LittleEndianOrder final : public KeyOrder {
 public:
  LittleEndianOrder(std::string_view name, size_t bytes, bool is_signed)
      : name_(name), bytes_(bytes), sign_(is_signed ? '\x80' : '\0') {}

  std::string_view Name() const override { return name_; }

  Status Encode(Slice key, std::string* out) const override {
    if (key.size() != bytes_) {
      return Status::InvalidArgument("the key has " + std::to_string(key.size()) +
                                     " bytes; in the order \"" + std::string(name_) +
                                     "\" keys have " + std::to_string(bytes_));
    }
    out->assign(key.rbegin(), key.rend());
    out->front() = static_cast<char>(out->front() ^ sign_);
    return Status::OK();
  }

  Status Decode(Slice encoded, std::string* out) const override {
    if (encoded.size() != bytes_) {
      return Status::Corruption("a key of the order \"" + std::string(name_) + "\" has " +
                                std::to_string(encoded.size()) + " bytes");
    }
    out->assign(encoded.rbegin(), encoded.rend());
    out->back() = static_cast<char>(out->back() ^ sign_);
    return Status::OK();
  }

 private:
  const std::string_view name_;
  const size_t bytes_;
  const char sign_;
};

using Orders = std::array<std::shared_ptr<const KeyOrder>, 5>;

/// IntegerKind counts through those behind the first.
const Orders& BuiltIn() {
  static const Orders orders = {std::make_shared<ReverseOrder>(),
                                std::make_shared<LittleEndianOrder>("uint32-le", 4, false),
                                std::make_shared<LittleEndianOrder>("int32-le", 4, true),
                                std::make_shared<LittleEndianOrder>("uint64-le", 8, false),
                                std::make_shared<LittleEndianOrder>("int64-le", 8, true)};
  return orders;
}

}  // namespace

std::shared_ptr<const KeyOrder> ReverseBytewiseOrder() { return BuiltIn()[0]; }

std::shared_ptr<const KeyOrder> IntegerOrder(IntegerKind kind) {
  const auto number = static_cast<size_t>(kind);
  return number + 1 < BuiltIn().size() ? BuiltIn()[number + 1] : nullptr;
}

std::shared_ptr<const KeyOrder> FindKeyOrder(std::string_view name) {
  for (const auto& order : BuiltIn()) {
    if (order->Name() == name) return order;
  }
  return nullptr;
}

std::vector<std::string_view> KeyOrderNames() {
  std::vector<std::string_view> names;
  for (const auto& order : BuiltIn()) names.push_back(order->Name());
  return names;
}

}  // namespace braid
