#include "bench/harness/values.h"

#include <algorithm>
#include <cstring>

#include "src/base/random.h"

namespace braid::bench {
namespace {

constexpr size_t kTagSize = 8;
constexpr size_t kBlockSize = size_t{32} << 10;

uint64_t LoadWord(const char* bytes, size_t size) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

uint64_t HashKey(std::string_view key) noexcept {
  uint64_t hash = key.size() * 0x9E3779B97F4A7C15u;
  const char* bytes = key.data();
  size_t left = key.size();
  for (; left >= 8; bytes += 8, left -= 8) hash = Mix64(hash ^ LoadWord(bytes, 8)) + hash;
  if (left > 0) hash = Mix64(hash ^ LoadWord(bytes, left)) + hash;
  return hash;
}

// Versions are spread over all 64 bits, so that damage to a tag shows as an impossible version.
constexpr uint64_t kSpread = 0x9E3779B97F4A7C15u;

constexpr uint64_t InverseOf(uint64_t odd) {
  uint64_t inverse = odd;  // right in the lowest 3 bits; every step of Newton's doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
static_assert(kSpread * InverseOf(kSpread) == 1);

uint64_t MakeTag(uint64_t key_hash, uint32_t version) noexcept {
  return key_hash ^ (version * kSpread);
}

uint64_t VersionOf(uint64_t key_hash, uint64_t tag) noexcept {
  return (tag ^ key_hash) * InverseOf(kSpread);
}

uint64_t HashTag(uint64_t tag) noexcept { return Mix64(tag ^ 0x56A1DE5EEDu); }

}  // namespace

ValueMaker::ValueMaker(size_t size) : size_(size), block_(kBlockSize + size) {
  Random random(0xB10C);
  for (size_t i = 0; i < block_.size(); ++i) block_[i] = static_cast<char>(random.Next() >> 56);
}

const char* ValueMaker::Slice(uint64_t tag) const noexcept {
  return block_.data() + (HashTag(~tag) & (kBlockSize - 1) & ~size_t{7});
}

void ValueMaker::Make(std::string_view key, uint32_t version, char* out) const noexcept {
  const uint64_t key_hash = HashKey(key);
  if (size_ < kTagSize) {
    std::memcpy(out, &key_hash, size_);
    return;
  }
  const uint64_t tag = MakeTag(key_hash, version);
  const uint64_t tail = HashTag(tag);
  std::memcpy(out, &tag, kTagSize);
  if (size_ < 2 * kTagSize) {
    std::memcpy(out + kTagSize, &tail, size_ - kTagSize);
    return;
  }
  std::memcpy(out + kTagSize, Slice(tag), size_ - 2 * kTagSize);
  std::memcpy(out + size_ - kTagSize, &tail, kTagSize);
}

bool ValueMaker::Check(std::string_view key, std::string_view value, VersionRange versions,
                       bool thorough) const noexcept {
  if (value.size() != size_) return false;
  const uint64_t key_hash = HashKey(key);
  if (size_ < kTagSize) return std::memcmp(value.data(), &key_hash, size_) == 0;
  const uint64_t tag = LoadWord(value.data(), kTagSize);
  const uint64_t version = VersionOf(key_hash, tag);
  if (version < versions.oldest || version > versions.newest) return false;
  const uint64_t tail = HashTag(tag);
  if (size_ < 2 * kTagSize) {
    return std::memcmp(value.data() + kTagSize, &tail, size_ - kTagSize) == 0;
  }
  if (LoadWord(value.data() + size_ - kTagSize, kTagSize) != tail) return false;
  return !thorough || std::memcmp(value.data() + kTagSize, Slice(tag), size_ - 2 * kTagSize) == 0;
}

std::string ValueMaker::Explain(std::string_view key, std::string_view value,
                                VersionRange versions) const {
  if (value.size() != size_) {
    return "the value has " + std::to_string(value.size()) + " bytes instead of " +
           std::to_string(size_);
  }
  if (size_ < kTagSize) return "the value is not the one written for this key";
  const uint64_t version = VersionOf(HashKey(key), LoadWord(value.data(), kTagSize));
  if (version > ~uint32_t{0})
    return "the value was written for another key, or its start is damaged";
  if (version < versions.oldest || version > versions.newest) {
    return "the value is of generation " + std::to_string(version) + ", expected " +
           std::to_string(versions.oldest) + " to " + std::to_string(versions.newest);
  }
  std::string expected(size_, '\0');
  Make(key, static_cast<uint32_t>(version), expected.data());
  const auto [wrong, unused] = std::mismatch(value.begin(), value.end(), expected.begin());
  return "the value differs from what was written at byte " + std::to_string(wrong - value.begin());
}

}  // namespace braid::bench
