// Purpose: names of the seeded faults, taken from the enumerators themselves, so that no list can
// fall behind. Only in the crashsim build. Thread safety: constants. Persistence: none.
#pragma once

#if defined(BRAID_CRASHSIM)

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/mutants.h"

namespace braid::base {

namespace internal {

template <Mutant kMutant>
constexpr std::string_view MutantName() {
  // "... [with braid::base::Mutant kMutant = braid::base::Mutant::kName; ...]" or "... ::kName]".
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.rfind("Mutant::k") + std::string_view("Mutant::").size());
  return text.substr(0, text.find_first_of("];,"));
}

template <size_t... kNumber>
constexpr auto MutantNames(std::index_sequence<kNumber...>) {
  return std::array{MutantName<static_cast<Mutant>(kNumber)>()...};
}

}  // namespace internal

/// By number; the first is kNone.
inline constexpr auto kMutantNames =
    internal::MutantNames(std::make_index_sequence<static_cast<size_t>(Mutant::kCount)>());
static_assert(kMutantNames[0] == "kNone");

constexpr std::string_view NameOf(Mutant mutant) {
  return kMutantNames[static_cast<size_t>(mutant)];
}

constexpr std::optional<Mutant> FindMutant(std::string_view name) {
  for (size_t i = 0; i < kMutantNames.size(); ++i) {
    if (kMutantNames[i] == name) return static_cast<Mutant>(i);
  }
  return std::nullopt;
}

}  // namespace braid::base

#endif  // BRAID_CRASHSIM
