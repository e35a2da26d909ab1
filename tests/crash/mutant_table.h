// What each seeded fault is a case of, and which test to try first.
#pragma once

#include <span>

#include "base/mutants.h"

namespace braid::crash {

struct MutantFacts {
  base::Mutant mutant;
  const char* part;     ///< row of the contract table in docs/persistence.md, or what else it is of
  const char* mistake;  ///< the class of bug that it is a case of
  const char* workload;         ///< found soonest by this workload; null: not by the crash tests
  const char* tests = nullptr;  ///< "<program> <gtest filter>" of the tests that find it instead
};

/// By number, kNone left out.
std::span<const MutantFacts> AllMutants();
const MutantFacts& FactsOf(base::Mutant mutant);

}  // namespace braid::crash
