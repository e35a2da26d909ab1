// The emulation of a slower medium: what waits, for how long at least, and where it is refused.
#include "media/persist.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/clock.h"

namespace braid::media {
namespace {

#if !defined(BRAID_CRASHSIM)  // where nothing waits

struct alignas(kLineBytes) Lines {
  char bytes[16 * kLineBytes] = {};
};

uint64_t NanosOfPersist(PersistOps* ops, Lines* lines, size_t n) {
  const uint64_t begin = NowNanos();
  ops->Persist(lines->bytes, n * kLineBytes, Site::kOutside);
  return NowNanos() - begin;
}

TEST(PersistEmulationTest, EachFlushedLineCostsAtTheNextFence) {
  PersistOps ops(MediaClass::kCacheLine);
  ASSERT_TRUE(ops.Emulate(100'000, 0).ok());
  Lines lines;
  EXPECT_GE(NanosOfPersist(&ops, &lines, 10), 1'000'000u);
  EXPECT_EQ(ops.lines_flushed(), 10u);
}

TEST(PersistEmulationTest, ThreadsShareTheBandwidth) {
  PersistOps ops(MediaClass::kCacheLine);
  ASSERT_TRUE(ops.Emulate(0, 1).ok());  // 64 us a line
  const uint64_t begin = NowNanos();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&ops] {
      Lines lines;
      for (int round = 0; round < 4; ++round)
        ops.Persist(lines.bytes, sizeof lines.bytes, Site::kOutside);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(NowNanos() - begin, 2u * 4 * 16 * 64'000);
}

TEST(PersistEmulationTest, AMediumWithoutWriteBacksRefusesIt) {
  PersistOps ops(MediaClass::kByte);
  const Status refused = ops.Emulate(100, 0);
  EXPECT_TRUE(refused.IsInvalidArgument());
  EXPECT_NE(refused.message().find("force_media_class"), std::string_view::npos);
  EXPECT_TRUE(ops.Emulate(0, 0).ok()) << "off is fine everywhere";
}

#endif

}  // namespace
}  // namespace braid::media
