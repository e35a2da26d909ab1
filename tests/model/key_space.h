// Where the keys and values of random operations come from.
#pragma once

#include <cstdint>
#include <string>

#include "support/environment.h"

namespace braid::test {

/// The shape of the keys.
enum class KeyShape {
  kShortRandom,  ///< 0 to 6 bytes, any byte: many prefixes of each other
  kLongPrefix,   ///< 40 to 200 bytes in common, then a few that differ
  kDecimal,      ///< "000042", as counters and timestamps look
  kMade,         ///< by a function
};

/// A fixed set of keys, drawn at random with a bias to a hot tenth, and values that name their
/// write.
class KeySpace {
 public:
  KeySpace(KeyShape shape, uint64_t keys, uint64_t salt)
      : shape_(shape), keys_(keys), salt_(salt) {}
  /// Keys as `make` draws them from that many.
  KeySpace(std::string (*make)(Random*, uint64_t), uint64_t keys)
      : shape_(KeyShape::kMade), keys_(keys), salt_(0), make_(make) {}

  std::string Key(uint64_t n) const {
    Random bytes(n * 7919 + salt_);
    switch (shape_) {
      case KeyShape::kShortRandom:
        return bytes.Bytes(bytes.Below(7));
      case KeyShape::kLongPrefix: {
        std::string key(40 + 40 * (n % 5), static_cast<char>('a' + n % 3));
        return key + std::to_string(n * 31 % keys_);
      }
      case KeyShape::kDecimal:
      case KeyShape::kMade:
        break;
    }
    char text[24];
    std::snprintf(text, sizeof(text), "%06llu", static_cast<unsigned long long>(n));
    return text;
  }
  std::string RandomKey(Random* random) const {
    const uint64_t range = random->OneIn(3) ? keys_ / 10 + 1 : keys_;
    if (make_ != nullptr) return make_(random, range);
    return Key(random->Below(range));
  }
  /// 0 to 300 bytes, once in 2,000 about 20 KB; never the same twice.
  static std::string RandomValue(Random* random, uint64_t write_number) {
    if (random->OneIn(20)) return {};
    size_t size = random->Below(301);
    if (random->OneIn(2000)) size = 16000 + random->Below(8000);
    std::string value = std::to_string(write_number) + ":";
    if (value.size() < size) value.resize(size, static_cast<char>('A' + write_number % 26));
    return value;
  }

 private:
  KeyShape shape_;
  uint64_t keys_;
  uint64_t salt_;
  std::string (*make_)(Random*, uint64_t) = nullptr;
};

}  // namespace braid::test
