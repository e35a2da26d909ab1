// Rows of the tables of seeded faults.
#pragma once

#include <span>

#include "media/sites.h"
#include "sim/faults.h"

namespace braid::crash {

template <class Enum>
struct Row {
  Enum fault;
  const char* part;
  const char* mistake;
  const char* workload;
  const char* tests = nullptr;
};

/// Every enumerator from first to last has its row, in this order.
template <class Enum, size_t kRows>
constexpr bool IsComplete(const Row<Enum> (&table)[kRows], Enum first, Enum end) {
  if (kRows != static_cast<size_t>(end) - static_cast<size_t>(first)) return false;
  for (size_t i = 0; i < kRows; ++i) {
    if (static_cast<size_t>(table[i].fault) != static_cast<size_t>(first) + i) return false;
  }
  return true;
}

/// media/sites.h but for kOutside, which the store has none of.
std::span<const Row<media::Site>> SiteTable();

}  // namespace braid::crash
