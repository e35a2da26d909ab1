#include "bench/harness/keys.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/random.h"

namespace braid::bench {
namespace {

constexpr uint64_t kHashSeed = 0x6B657973;  // fixed: the keys of a database do not depend on --seed
constexpr size_t kDecimalSize = 16;
constexpr uint64_t kDecimalNumbers = 10'000'000'000'000'000;
constexpr unsigned kDecimalBits = 53;  // 2^53 is the largest power of two below 10^16

constexpr uint64_t MaskOf(unsigned bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

unsigned BitsOfKeys(size_t size) {
  if (size >= kDecimalSize) return kDecimalBits;
  return static_cast<unsigned>(std::min<size_t>(size, 8)) * 8;
}

void WriteDecimal(uint64_t number, char* out) noexcept {
  for (size_t i = kDecimalSize; i-- > 0;) {
    out[i] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

}  // namespace

Permutation::Permutation(unsigned bits, uint64_t last, uint64_t seed)
    : last_(last), mask_(MaskOf(bits)), shift_((bits + 1) / 2) {
  SplitMix64 source(seed);
  add_ = source.Next() & mask_;
  for (uint64_t& factor : factor_) factor = source.Next() | 1;
}

Permutation::Permutation(uint64_t count, uint64_t seed)
    : Permutation(std::max(1u, static_cast<unsigned>(std::bit_width(count - 1))), count - 1, seed) {
}

Permutation Permutation::OfBits(unsigned bits, uint64_t seed) {
  return Permutation(bits, MaskOf(bits), seed);
}

KeyMaker::KeyMaker(size_t size, bool hashed)
    : size_(size),
      hashed_(hashed),
      bits_(BitsOfKeys(size)),
      capacity_(MaskOf(bits_)),
      hash_(Permutation::OfBits(bits_, kHashSeed)) {
  if (!hashed && size >= kDecimalSize) capacity_ = kDecimalNumbers;
}

void KeyMaker::Make(uint64_t number, char* out) const noexcept {
  if (hashed_) number = hash_(number);
  if (size_ >= kDecimalSize) {
    WriteDecimal(number, out);
    std::memset(out + kDecimalSize, '0', size_ - kDecimalSize);
    return;
  }
  const size_t binary = std::min<size_t>(size_, 8);
  for (size_t i = binary; i-- > 0;) {
    out[i] = static_cast<char>(number & 0xFF);
    number >>= 8;
  }
  std::memset(out + binary, '0', size_ - binary);
}

std::string PrintableKey(std::string_view key) {
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (printable) return "'" + std::string(key) + "'";
  std::string text = "0x";
  for (const char c : key) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

}  // namespace braid::bench
