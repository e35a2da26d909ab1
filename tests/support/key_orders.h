// Orders of keys for tests: what they mean, told by a comparison of keys, apart from how the store
// encodes them.
#pragma once

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "braid/key_order.h"
#include "support/environment.h"

namespace braid::test {

/// A comparison for std::map; byte order when it is null.
struct KeyLess {
  using Less = bool (*)(const std::string& a, const std::string& b);
  Less less = nullptr;
  bool operator()(const std::string& a, const std::string& b) const {
    return less != nullptr ? less(a, b) : a < b;
  }
};

inline bool ReverseLess(const std::string& a, const std::string& b) { return b < a; }

template <class Integer>
Integer IntegerOf(const std::string& key) {
  Integer number = 0;
  std::memcpy(&number, key.data(), sizeof number);
  return number;
}

template <class Integer>
std::string KeyOf(Integer number) {
  std::string key(sizeof number, '\0');
  std::memcpy(key.data(), &number, sizeof number);
  return key;
}

template <class Integer>
bool IntegerLess(const std::string& a, const std::string& b) {
  return IntegerOf<Integer>(a) < IntegerOf<Integer>(b);
}

/// Keys of two parts, "name/42": names ascend, of one name the highest number comes first. An order
/// as a user would write one.
class NewestFirstOrder final : public KeyOrder {
 public:
  std::string_view Name() const override { return "test.newest-first"; }
  Status Encode(Slice key, std::string* out) const override {
    const auto parts = Split(key);
    if (!parts) return Status::InvalidArgument("a key is a name, a slash and a number");
    out->assign(parts->first);
    out->push_back('\0');
    for (int shift = 56; shift >= 0; shift -= 8) {
      out->push_back(static_cast<char>(~parts->second >> shift & 0xff));
    }
    return Status::OK();
  }
  Status Decode(Slice encoded, std::string* out) const override {
    if (encoded.size() < 9 || encoded.find('\0') != encoded.size() - 9) {
      return Status::Corruption("no number ends the key");
    }
    uint64_t number = 0;
    for (const char byte : encoded.substr(encoded.size() - 8)) {
      number = number << 8 | static_cast<uint8_t>(byte);
    }
    out->assign(encoded.substr(0, encoded.size() - 9));
    out->append("/").append(std::to_string(~number));
    return Status::OK();
  }

  /// Nothing when it is no such key: its name has a zero byte, or the number has leading zeros.
  static std::optional<std::pair<std::string, uint64_t>> Split(Slice key) {
    const size_t slash = key.rfind('/');
    if (slash == Slice::npos || key.substr(0, slash).find('\0') != Slice::npos) return {};
    const Slice digits = key.substr(slash + 1);
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || std::to_string(number) != digits) return {};
    return std::pair(std::string(key.substr(0, slash)), number);
  }
};

inline bool NewestFirstLess(const std::string& a, const std::string& b) {
  const auto first = *NewestFirstOrder::Split(a);
  const auto second = *NewestFirstOrder::Split(b);
  return std::tie(first.first, second.second) < std::tie(second.first, first.second);
}

/// An order and what it takes to test it.
struct TestedOrder {
  std::string name;  ///< of the test
  std::shared_ptr<const KeyOrder> order;
  KeyLess::Less less;
  /// One of the keys; all of them are few for a small `keys`.
  std::string (*key)(Random* random, uint64_t keys);
  std::string no_key;  ///< refused; empty when the order takes all
};

inline void PrintTo(const TestedOrder& order, std::ostream* out) { *out << order.name; }

template <class Integer>
std::string SomeInteger(Random* random, uint64_t keys) {
  // Around zero, where signs change, and some anywhere.
  const uint64_t at = random->Below(keys);
  return KeyOf(static_cast<Integer>(at % 7 == 0 ? at * 0x9E3779B97F4A7C15ull : at - keys / 2));
}

inline std::string SomeBytes(Random* random, uint64_t keys) {
  static constexpr char kBytes[] = {'\0', '\x01', 'a', '\xfe', '\xff'};
  std::string key;
  for (uint64_t left = random->Below(keys); left != 0; left /= 5) key.push_back(kBytes[left % 5]);
  return key;
}

inline std::string SomeNamedNumber(Random* random, uint64_t keys) {
  const uint64_t at = random->Below(keys);
  return std::string(at % 3, 'a') + "/" + std::to_string(at % 11 == 0 ? ~at : at / 3);
}

inline const std::vector<TestedOrder>& TestedOrders() {
  static const std::vector<TestedOrder> orders = {
      {"Reverse", ReverseBytewiseOrder(), ReverseLess, SomeBytes, ""},
      {"Uint32", IntegerOrder(IntegerKind::kUint32), IntegerLess<uint32_t>, SomeInteger<uint32_t>,
       "five5"},
      {"Int32", IntegerOrder(IntegerKind::kInt32), IntegerLess<int32_t>, SomeInteger<int32_t>,
       "3_3"},
      {"Uint64", IntegerOrder(IntegerKind::kUint64), IntegerLess<uint64_t>, SomeInteger<uint64_t>,
       "seven_7"},
      {"Int64", IntegerOrder(IntegerKind::kInt64), IntegerLess<int64_t>, SomeInteger<int64_t>,
       "nine____9"},
      {"NewestFirst", std::make_shared<NewestFirstOrder>(), NewestFirstLess, SomeNamedNumber,
       "no number"},
  };
  return orders;
}

}  // namespace braid::test
