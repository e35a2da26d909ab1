#include "base/thread_random.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>
#include <thread>

namespace braid::base {
namespace {

TEST(ThreadRandomTest, ThreadsThatDrawOnceEachDrawAsOneThreadDoes) {
  constexpr int kDraws = 1024;
  for (const bool own_threads : {false, true}) {
    std::set<uint64_t> different;
    std::array<int, 65> zeros{};
    for (int i = 0; i < kDraws; ++i) {
      uint64_t drawn = 0;
      const auto draw = [&drawn] { drawn = ThreadRandom(); };
      if (own_threads) {
        std::thread(draw).join();
      } else {
        draw();
      }
      different.insert(drawn);
      ++zeros[static_cast<size_t>(std::countr_zero(drawn))];
    }
    EXPECT_EQ(different.size(), size_t{kDraws}) << own_threads;
    // Half of them odd, a quarter twice an odd number, and so on; ten standard deviations apart.
    EXPECT_NEAR(zeros[0], kDraws / 2, 160) << own_threads;
    EXPECT_NEAR(zeros[1], kDraws / 4, 140) << own_threads;
    EXPECT_NEAR(zeros[2], kDraws / 8, 106) << own_threads;
  }
}

}  // namespace
}  // namespace braid::base
