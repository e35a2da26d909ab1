// Purpose: runs tasks of several steps side by side, on as many threads as there are for it;
// without threads they take turns, a step each, so that the crash simulator sees them interleaved
// in an order that can be repeated. Thread safety: one caller at a time. Persistence: none.
#pragma once

#include <functional>
#include <vector>

namespace braid::compaction {

class Crew {
 public:
  /// One step. False: there are no more. Throws nothing.
  using Task = std::function<bool()>;

  virtual ~Crew() = default;
  /// Returns when all tasks have come to their ends. Each is one thread's from its first step on.
  virtual void Run(const std::vector<Task>& tasks) = 0;
};

/// The calling thread alone.
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
  }
};

}  // namespace braid::compaction
