// Names of the seeded faults, taken from the enumerators themselves, so that no list can fall
// behind.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/mutants.h"

namespace braid::crash {

namespace internal {

template <base::Mutant kMutant>
constexpr std::string_view MutantName() {
  // "... [with braid::base::Mutant kMutant = braid::base::Mutant::kName; ...]" or "... ::kName]".
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.rfind("Mutant::k") + std::string_view("Mutant::").size());
  return text.substr(0, text.find_first_of("];,"));
}

template <size_t... kNumber>
constexpr auto MutantNames(std::index_sequence<kNumber...>) {
  return std::array{MutantName<static_cast<base::Mutant>(kNumber)>()...};
}

}  // namespace internal

/// By number; the first is kNone.
inline constexpr auto kMutantNames =
    internal::MutantNames(std::make_index_sequence<static_cast<size_t>(base::Mutant::kCount)>());
static_assert(kMutantNames[0] == "kNone");

inline std::optional<base::Mutant> FindMutant(std::string_view name) {
  for (size_t i = 0; i < kMutantNames.size(); ++i) {
    if (kMutantNames[i] == name) return static_cast<base::Mutant>(i);
  }
  return std::nullopt;
}

}  // namespace braid::crash
