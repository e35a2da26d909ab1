// Purpose: how DB::CompactRange is done.
#pragma once

#include <functional>

namespace braid {

struct CompactOptions {
  /// Called by the thread of the call, some twenty times a second and at least once, with the share
  /// of the work done, 0 to 1, which never falls; may be empty. False cancels: the call returns
  /// Aborted, and what was done stays. Must not call back into the database.
  std::function<bool(double share)> progress;
};

}  // namespace braid
