// Comparators for tests, and keys for them.
#pragma once

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>

#include "braid/comparator.h"

namespace braid::test {

using Compares = int (*)(Slice a, Slice b);

inline int CompareReversed(Slice a, Slice b) { return b.compare(a); }

/// Shorter keys first: of equal length by their bytes.
inline int CompareShortFirst(Slice a, Slice b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

/// "a" and "A" are one key.
inline int CompareWithoutCase(Slice a, Slice b) {
  const size_t least = std::min(a.size(), b.size());
  for (size_t i = 0; i < least; ++i) {
    const int left = std::tolower(static_cast<unsigned char>(a[i]));
    const int right = std::tolower(static_cast<unsigned char>(b[i]));
    if (left != right) return left - right;
  }
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

class FunctionComparator final : public Comparator {
 public:
  FunctionComparator(std::string name, Compares compares)
      : name_(std::move(name)), compares_(compares) {}
  std::string_view Name() const override { return name_; }
  int Compare(Slice a, Slice b) const override { return compares_(a, b); }

 private:
  const std::string name_;
  const Compares compares_;
};

inline std::shared_ptr<const Comparator> MakeComparator(const std::string& name,
                                                        Compares compares) {
  return std::make_shared<FunctionComparator>(name, compares);
}

}  // namespace braid::test
