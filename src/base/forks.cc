// Purpose: detects forks, with a handler that runs in the child.
// Thread safety, invariants, persistence: see forks.h.
#include "base/forks.h"

#include "base/no_throw.h"

namespace braid::base {

constinit std::atomic<uint32_t> fork_generation{0};

Status OpenedByParent() noexcept {
  return CatchToStatus([] {
    return Status::InvalidArgument(
        "the database was opened before a fork and belongs to the parent process; let the parent "
        "use it, or close it there and open it in this process");
  });
}

}  // namespace braid::base
