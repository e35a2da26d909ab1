// The injector as a library that is loaded into the braid command: $BRAID_FAULT holds the kind of
// call, the number of the first that fails, whether later ones fail too, and errno.
#include <dlfcn.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "faults/injector.h"

// The first thing that the command does: what was made before belongs to the libraries' start.
extern "C" __sighandler_t signal(int number, __sighandler_t handler) noexcept {
  using Function = __sighandler_t(int, __sighandler_t);
  static auto* const next = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "signal"));
  static bool armed = false;
  const char* plan = std::getenv("BRAID_FAULT");
  int call = 0;
  unsigned long at = 0;
  int lasting = 0;
  int error = 0;
  if (number == SIGPIPE && !armed && plan != nullptr &&
      std::sscanf(plan, "%d:%lu:%d:%d", &call, &at, &lasting, &error) == 4) {
    armed = true;
    braid::test::Inject({static_cast<braid::test::Call>(call), at, lasting != 0, error});
    static const braid::test::Armed for_good;
  }
  return next(number, handler);
}

namespace {
/// Tells the test whether anything failed: a run that nothing failed in is the last.
struct Reporter {
  ~Reporter() {
    const char* path = std::getenv("BRAID_FAULT_REPORT");
    if (path == nullptr || !braid::test::HasFailed()) return;
    if (std::FILE* file = std::fopen(path, "w")) std::fclose(file);
  }
} reporter;
}  // namespace
