// Purpose: the switch of the seeded faults; only in the crashsim build. Thread safety: set before
// use. Persistence: none.
#include "base/mutants.h"

#if defined(BRAID_CRASHSIM)

#include <cstdio>
#include <cstdlib>

#include "base/mutant_names.h"

namespace braid::base {
namespace {

/// BRAID_MUTANT, read once before main, so that any test program can be run under a fault.
Mutant FromEnvironment() {
  const char* name = std::getenv("BRAID_MUTANT");
  if (name == nullptr || *name == '\0') return Mutant::kNone;
  if (const std::optional<Mutant> found = FindMutant(name)) return *found;
  std::fprintf(stderr, "BRAID_MUTANT: no mutant is called %s\n", name);
  std::exit(2);
}

}  // namespace

Mutant active_mutant = FromEnvironment();

}  // namespace braid::base

#endif  // BRAID_CRASHSIM
