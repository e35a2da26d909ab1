// Purpose: names of enumerators, taken from the enumerators themselves, so that no list of the
// seeded faults and sites can fall behind.
// Thread safety: constants.
// Persistence: none.
#pragma once

#if defined(BRAID_CRASHSIM)

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace braid::sim {

namespace internal {

template <auto kValue>
constexpr std::string_view EnumeratorName() {
  // "... [with auto kValue = braid::sim::Mutant::kName; ...]" or "... ::kName]".
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.rfind("::k") + 2);
  return text.substr(0, text.find_first_of("];,"));
}

template <class Enum, size_t... kNumber>
constexpr auto EnumeratorNames(std::index_sequence<kNumber...>) {
  return std::array{EnumeratorName<static_cast<Enum>(kNumber)>()...};
}

}  // namespace internal

/// Of an enum class without gaps that begins with kNone and ends with kCount: names by number.
template <class Enum>
inline constexpr auto kNames =
    internal::EnumeratorNames<Enum>(std::make_index_sequence<static_cast<size_t>(Enum::kCount)>());

template <class Enum>
constexpr std::string_view NameOf(Enum value) {
  static_assert(kNames<Enum>[0] == "kNone");
  return kNames<Enum>[static_cast<size_t>(value)];
}

template <class Enum>
constexpr std::optional<Enum> Find(std::string_view name) {
  for (size_t i = 0; i < kNames<Enum>.size(); ++i) {
    if (kNames<Enum>[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
