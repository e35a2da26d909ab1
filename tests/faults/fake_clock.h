// Clocks that can be moved: what clock_gettime says in this program is off by so many nanoseconds.
// Waits until a moment of the steady clock are moved with it, so that a jump shows in what code
// reads and computes, and not in how long the kernel sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace braid::test {

extern std::atomic<int64_t> realtime_offset;
extern std::atomic<int64_t> steady_offset;
/// By so much the steady clock goes on with each look at it.
extern std::atomic<int64_t> steady_step;
/// Unless null, called once, when this thread looks at the steady clock for the next time.
extern constinit thread_local std::function<void()>* at_next_look;

}  // namespace braid::test
