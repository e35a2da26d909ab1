// What each seeded fault is a case of, and which test to try first.
#pragma once

#include <span>
#include <string_view>

namespace braid::crash {

struct MutantFacts {
  std::string_view name;  ///< of a woven fault (sim/faults.h) or of a site (media/sites.h)
  const char* part;       ///< row of the table in docs/internals/persistence.md, or what else
  const char* mistake;    ///< the class of bug that it is a case of
  const char* workload;   ///< found soonest by this workload; null: not by the crash tests
  const char* tests;      ///< "<program> <gtest filter>" of the tests that find it instead, or null
};

/// The woven faults, by number, and behind them the sites, each of which may be dropped.
std::span<const MutantFacts> AllMutants();
/// Null: none is called so.
const MutantFacts* FactsOf(std::string_view name);

}  // namespace braid::crash
