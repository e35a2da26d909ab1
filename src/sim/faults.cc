// Purpose: the switches of the seeded faults.
// Thread safety: set before any database is opened.
// Persistence: none.
#include "sim/faults.h"

#if defined(BRAID_CRASHSIM)

#include <cstdio>
#include <cstdlib>

#include "media/sites.h"
#include "sim/fault_names.h"

namespace braid::media {
Site dropped_site = Site::kNone;
}  // namespace braid::media

namespace braid::sim {
namespace {

/// BRAID_MUTANT, read once before main, so that any test program can be run under a fault.
Mutant FromEnvironment() {
  const char* name = std::getenv("BRAID_MUTANT");
  if (name == nullptr || *name == '\0') return Mutant::kNone;
  if (const std::optional<Mutant> found = Find<Mutant>(name)) return *found;
  if (const std::optional<media::Site> found = Find<media::Site>(name)) {
    media::dropped_site = *found;
    return Mutant::kNone;
  }
  std::fprintf(stderr, "BRAID_MUTANT: no fault is called %s\n", name);
  std::exit(2);
}

}  // namespace

Mutant active_mutant = FromEnvironment();

bool SwitchOn(std::string_view name) {
  if (const std::optional<Mutant> found = Find<Mutant>(name)) {
    active_mutant = *found;
    return true;
  }
  const std::optional<media::Site> site = Find<media::Site>(name);
  if (site.has_value()) media::dropped_site = *site;
  return site.has_value();
}

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
