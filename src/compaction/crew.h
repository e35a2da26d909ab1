// Purpose: runs the merges of one plan concurrently; without threads, round robin and a step at a
// time, so that the crash simulator interleaves them in a repeatable order.
// Thread safety: one caller at a time.
// Persistence: none.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/check.h"

namespace braid::compaction {

class Crew {
 public:
  /// Runs one step and returns whether there are more. Must not throw.
  using Task = std::function<bool()>;

  virtual ~Crew() = default;
  /// Returns when all tasks are done. A task stays on the thread that ran its first step.
  virtual void Run(const std::vector<Task>& tasks) = 0;
};

/// Round robin, on the calling thread.
class TurnTakers final : public Crew {
 public:
  void Run(const std::vector<Task>& tasks) override {
    std::vector<bool> ended(tasks.size());
    for (bool any = true; any;) {
      any = false;
      for (size_t i = 0; i < tasks.size(); ++i) {
        if (ended[i]) continue;
        ended[i] = !tasks[i]();
        any = any || !ended[i];
      }
    }
    BRAID_DCHECK(std::find(ended.begin(), ended.end(), false) == ended.end());
  }
};

}  // namespace braid::compaction
