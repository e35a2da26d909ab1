// Purpose: the switch of the seeded faults; only in the crashsim build. Thread safety: set before
// use. Persistence: none.
#include "base/mutants.h"

#if defined(BRAID_CRASHSIM)
namespace braid::base {
Mutant active_mutant = Mutant::kNone;
}  // namespace braid::base
#endif
