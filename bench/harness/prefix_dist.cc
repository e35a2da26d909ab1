#include "bench/harness/prefix_dist.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace braid::bench {
namespace {

// Heat of range x: a e^(bx) + c e^(dx); rank of a key in its range: the inverse of u = r^power.
constexpr double kHeatA = 14.18;
constexpr double kHeatB = -2.917;
constexpr double kHeatC = 0.0164;
constexpr double kHeatD = -0.08082;
constexpr double kRankPower = 0.3467;
// The sizes' generalised Pareto distribution, its location being 0.
constexpr double kSizeShape = 0.2615;
constexpr double kSizeScale = 25.45;

constexpr size_t kBlockBytes = size_t{32} << 10;
constexpr size_t kHeadBytes = 16;

uint64_t HashOf(std::string_view key) {
  uint64_t hash = key.size();
  for (size_t at = 0; at < key.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, key.data() + at, std::min<size_t>(8, key.size() - at));
    hash = Mix64(hash ^ word) + at;
  }
  return hash;
}

}  // namespace

PrefixDistKeys::PrefixDistKeys(uint64_t count, uint64_t seed)
    : count_(count), rank_(count / kRanges, seed) {
  std::vector<double> heat;
  for (uint64_t range = 0; range < kRanges; ++range) {
    const auto x = static_cast<double>(range + 1);
    heat.push_back(kHeatA * std::exp(kHeatB * x) + kHeatC * std::exp(kHeatD * x));
  }
  // Hot and cold ranges alternate in key order as chance will have it.
  Random random(Mix64(seed));
  for (uint64_t i = kRanges - 1; i > 0; --i) std::swap(heat[i], heat[random.Uniform(i + 1)]);
  double sum = 0;
  for (const double part : heat) heat_up_to_.push_back(sum += part);
  for (double& part : heat_up_to_) part /= sum;
  heat_up_to_.back() = 1;
}

uint64_t PrefixDistKeys::RangeBegin(uint64_t range) const {
  return count_ / kRanges * range + std::min(range, count_ % kRanges);
}

double PrefixDistKeys::HeatOf(uint64_t range) const {
  return heat_up_to_[range] - (range == 0 ? 0 : heat_up_to_[range - 1]);
}

uint64_t PrefixDistKeys::RangeOf(uint64_t number) const {
  uint64_t range = 0;
  while (range + 1 < kRanges && RangeBegin(range + 1) <= number) ++range;
  return range;
}

uint64_t PrefixDistKeys::Next(Random& random) const {
  const double u = random.NextDouble();
  const auto found = std::upper_bound(heat_up_to_.begin(), heat_up_to_.end() - 1, u);
  const auto range = static_cast<uint64_t>(found - heat_up_to_.begin());
  const uint64_t size = count_ / kRanges;
  const double share = std::pow(random.NextDouble(), 1 / kRankPower);
  const uint64_t rank =
      std::min(size - 1, static_cast<uint64_t>(share * static_cast<double>(size)));
  return RangeBegin(range) + rank_(rank);
}

size_t ParetoSizes::Next(Random& random) const {
  const double u = random.NextDouble();
  const double size = kSizeScale * (std::pow(1 - u, -kSizeShape) - 1) / kSizeShape;
  return std::clamp(static_cast<size_t>(std::ceil(size)), kLeast, kMost);
}

SizedValues::SizedValues() : block_(kBlockBytes + ParetoSizes::kMost) {
  Random random(0x51ED);
  for (char& byte : block_) byte = static_cast<char>(random.Next() >> 56);
}

const char* SizedValues::Slice(uint64_t tag, uint64_t salt) const {
  return block_.data() + (Mix64(tag ^ salt) & (kBlockBytes - 1));
}

void SizedValues::Make(std::string_view key, size_t size, uint64_t salt, char* out) const {
  const uint64_t tag = HashOf(key) ^ Mix64(size);
  std::memcpy(out, &tag, 8);
  std::memcpy(out + 8, &salt, 8);
  std::memcpy(out + kHeadBytes, Slice(tag, salt), size - kHeadBytes);
}

bool SizedValues::Check(std::string_view key, std::string_view value) const {
  if (value.size() < ParetoSizes::kLeast || value.size() > ParetoSizes::kMost) return false;
  uint64_t tag = 0;
  uint64_t salt = 0;
  std::memcpy(&tag, value.data(), 8);
  std::memcpy(&salt, value.data() + 8, 8);
  if (tag != (HashOf(key) ^ Mix64(value.size()))) return false;
  const size_t body = value.size() - kHeadBytes;
  const size_t tail = std::min<size_t>(8, body);
  return std::memcmp(value.data() + value.size() - tail, Slice(tag, salt) + body - tail, tail) == 0;
}

}  // namespace braid::bench
