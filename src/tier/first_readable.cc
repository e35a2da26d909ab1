// Purpose: the search for what can be read behind damage.
// Thread safety, persistence: see first_readable.h.
#include "tier/first_readable.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace braid::tier {

namespace {

/// Keys between two as numbers: the eight bytes behind what both begin with.
class KeyNumbers {
 public:
  KeyNumbers(const std::string& low, const std::string& high)
      : prefix_(low.begin(),
                std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first) {}

  uint64_t NumberOf(const std::string& key) const {
    uint64_t number = 0;
    for (size_t i = prefix_.size(); i < prefix_.size() + sizeof number; ++i) {
      number = number << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0u);
    }
    return number;
  }
  std::string KeyOf(uint64_t number) const {
    std::string key = prefix_;
    for (size_t i = 0; i < sizeof number; ++i) {
      key += static_cast<char>(number >> (56 - 8 * i) & 0xFF);
    }
    return key;
  }

 private:
  const std::string prefix_;
};

}  // namespace

std::string FirstReadable(std::string hidden, std::string shown,
                          const std::function<bool(const std::string&)>& is_readable) {
  // Keys that begin alike take some rounds, each with more bytes.
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds && hidden < shown; ++round) {
    const KeyNumbers keys(hidden, shown);
    const uint64_t first = keys.NumberOf(hidden);
    uint64_t low = first;
    uint64_t high = keys.NumberOf(shown);
    if (high - low <= 1) break;
    const auto ask = [&](uint64_t number) {
      std::string key = keys.KeyOf(number);
      const bool is_shown = is_readable(key);
      (is_shown ? high : low) = number;
      (is_shown ? shown : hidden) = std::move(key);
      return is_shown;
    };
    // Steps that double, and not halves of all: these could fall into other damage far behind, and
    // pass all that lies before it.
    for (uint64_t step = 1; step != 0 && step < high - first; step *= 2) {
      if (ask(first + step)) break;
    }
    while (high - low > 1) ask(low + (high - low) / 2);
  }
  BRAID_DCHECK(hidden <= shown);
  return shown;
}

}  // namespace braid::tier
