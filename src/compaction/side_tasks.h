// Purpose: tasks that are done, in their order, while the compaction thread goes on. These are done
// at once, by that thread: where there are no others, and so that the crash simulator can repeat
// it.
// Thread safety: one caller at a time; a task may run on another thread.
// Invariants:
//   1. A task is done once, one at a time, unless the store stops before. What it did is seen by
//      who finds that it has ended.
//   2. They are found to have ended in their order.
// Persistence: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/check.h"

namespace braid::compaction {

class SideTasks {
 public:
  SideTasks() = default;
  SideTasks(const SideTasks&) = delete;
  SideTasks& operator=(const SideTasks&) = delete;
  virtual ~SideTasks() = default;

  /// The number of a task that is done from now on: the first is 1. It must not throw.
  virtual uint64_t Add(std::function<void()> task) {
    const std::function<void()> now = std::move(task);
    now();
    return ++done_;
  }
  /// Here it has when it was asked for some times, so that other steps come in between, as they do
  /// where a thread does it.
  virtual bool HasEnded(uint64_t number) {
    BRAID_DCHECK(number <= done_ && shown_ <= done_);
    if (number > shown_ && ++asked_ >= kLooks) {
      ++shown_;
      asked_ = 0;
    }
    return number <= shown_;
  }
  /// Until it has ended. Waits for a thread that is at work, never for one to become free: then
  /// what is left is done here.
  virtual void Await(uint64_t number) { shown_ = std::max(shown_, number); }

 private:
  static constexpr uint64_t kLooks = 8;  // of some steps, each of which looks several times

  uint64_t done_ = 0;
  uint64_t shown_ = 0;
  uint64_t asked_ = 0;
};

}  // namespace braid::compaction
