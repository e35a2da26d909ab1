// Purpose: the cold path of BRAID_CHECK.
// Thread safety: any thread.
// Persistence: none.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace braid::base {

void CheckFailed(const char* condition, const char* file, int line) noexcept {
  // A broken invariant must not be survived: the next store could reach persistent memory.
  std::fprintf(stderr, "braid: invariant broken: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace braid::base
