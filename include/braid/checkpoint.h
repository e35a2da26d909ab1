// Purpose: the arguments and results of DB::CreateCheckpoint and DB::Restore.
#pragma once

#include <functional>

namespace braid {

/// How a checkpoint is made or restored.
struct CheckpointOptions {
  /// Called now and then with the share done, 0 to 1, from the thread of the call; may be empty.
  std::function<void(double share)> progress;
};

}  // namespace braid
