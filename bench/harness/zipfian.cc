#include "bench/harness/zipfian.h"

#include <algorithm>
#include <cmath>

namespace braid::bench {

double Zeta(uint64_t n, double theta) {
  constexpr uint64_t kExactTerms = 1000;
  double sum = 0;
  const uint64_t exact = std::min(n, kExactTerms);
  for (uint64_t i = 1; i <= exact; ++i) sum += std::pow(static_cast<double>(i), -theta);
  if (n <= kExactTerms) return sum;
  const auto from = static_cast<double>(kExactTerms);
  const auto to = static_cast<double>(n);
  const double integral = (std::pow(to, 1 - theta) - std::pow(from, 1 - theta)) / (1 - theta);
  const double ends = (std::pow(to, -theta) - std::pow(from, -theta)) / 2;
  const double slope = theta * (std::pow(from, -theta - 1) - std::pow(to, -theta - 1)) / 12;
  return sum + integral + ends + slope;
}

ZipfianGenerator::ZipfianGenerator(uint64_t n, double theta)
    : theta_(theta), zeta2_(Zeta(2, theta)), alpha_(1 / (1 - theta)) {
  Resize(n);
}

void ZipfianGenerator::Resize(uint64_t n) {
  n_ = n;
  zeta_n_ = Zeta(n, theta_);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(n), 1 - theta_)) / (1 - zeta2_ / zeta_n_);
}

uint64_t ZipfianGenerator::Next(Random& random) noexcept {
  const double u = random.NextDouble();
  const double scaled = u * zeta_n_;
  if (scaled < 1 || n_ == 1) return 0;
  if (scaled < zeta2_ || n_ == 2) return 1;
  const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_);
  return std::min(static_cast<uint64_t>(rank), n_ - 1);
}

}  // namespace braid::bench
