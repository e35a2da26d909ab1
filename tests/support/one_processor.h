// Purpose: lets threads share one processor, whatever the machine has.
// Thread safety: the thread that makes it, and those that this one starts while it lives.
// Persistence: none.
#pragma once

#include <sched.h>

namespace braid::test {

class OneProcessor {
 public:
  OneProcessor() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &before_)) ++cpu;
    CPU_SET(cpu, &one);
    is_set_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  ~OneProcessor() {
    if (is_set_) sched_setaffinity(0, sizeof before_, &before_);
  }

  /// False where no thread may choose its processor.
  bool is_set() const noexcept { return is_set_; }

 private:
  cpu_set_t before_{};
  bool is_set_ = false;
};

}  // namespace braid::test
