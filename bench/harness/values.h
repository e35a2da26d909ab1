// Values of benchmarks: made from their key and a version, and checked whenever they are read.
//
// Layout of a value of 16 bytes and more: a tag of 8 bytes (a hash of the key, xor the version
// spread over 64 bits), a slice of a fixed random block that the tag selects, and 8 bytes hashed
// from the tag. Values of 8 to 15 bytes keep the tag and as much of its hash as fits; shorter ones
// only bytes of the hash of the key. Any reader can so tell, from key and value alone, whether the
// value was written for this key by this harness, and in which generation.
//
// Thread safety: const after construction.
// Persistence: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::bench {

/// The generations of values a reader may meet.
struct VersionRange {
  uint32_t oldest = 0;
  uint32_t newest = ~uint32_t{0};
};

/// Makes and checks values of one size. Making one costs a hash and a copy.
class ValueMaker {
 public:
  static constexpr size_t kMaxSize = size_t{64} << 20;

  /// size: 0 to kMaxSize.
  explicit ValueMaker(size_t size);

  size_t size() const noexcept { return size_; }
  /// Writes size() bytes.
  void Make(std::string_view key, uint32_t version, char* out) const noexcept;

  /// Whether `value` is what Make wrote for `key` with a version in `versions`. Always looks at
  /// the length and the first and last 8 bytes; at every byte when `thorough`.
  bool Check(std::string_view key, std::string_view value, VersionRange versions,
             bool thorough) const noexcept;

  /// Says what is wrong with a value that failed Check, for a message.
  std::string Explain(std::string_view key, std::string_view value, VersionRange versions) const;

 private:
  const char* Slice(uint64_t tag) const noexcept;

  size_t size_;
  std::vector<char> block_;  // random bytes; small enough to stay in a core's cache
};

}  // namespace braid::bench
