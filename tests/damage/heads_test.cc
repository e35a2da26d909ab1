// Each page of a pool in turn in the place of a page of heads of tables: a list that begins
// elsewhere must not pass for a shorter one.
#include <cstring>

#include "examiner.h"
#include "format/layout.h"
#include "support/child_process.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class HeadsTest : public ::testing::TestWithParam<int> {
 protected:
  PoolState state() const { return static_cast<PoolState>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Pools, HeadsTest, ::testing::Range(0, kPoolStates),
                         [](const ::testing::TestParamInfo<int>& state) {
                           return std::string(PoolStateName(static_cast<PoolState>(state.param)));
                         });

TEST_P(HeadsTest, AnotherPageInTheirPlaceIsNoticed) {
  const uint64_t most = Sized(100, 100'000, 100'000);
  TempFolder folder;
  const uint64_t part = 560 + static_cast<uint64_t>(GetParam());
  const BuiltPool pool = BuildPool(state(), folder.Sub("sound"), DeriveSeed(part));
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  size_t first = 0;
  while (first < pool.image.files.size() && pool.image.files[first].name != "segment-000000")
    ++first;
  ASSERT_LT(first, pool.image.files.size());
  const std::string& sound = pool.image.files[first].bytes;
  Random random(DeriveSeed(part + 20));
  uint64_t examined = 0;
  for (uint64_t page = 0; page < sound.size(); page += kPageBytes) {
    if (page == format::kTableHeadsOffset || IsZero(sound, page, kPageBytes)) continue;
    if (random.Below(sound.size() / kPageBytes) >= most) continue;
    PoolImage harmed = pool.image;
    std::memcpy(&harmed.files[first].bytes[format::kTableHeadsOffset], &sound[page], kPageBytes);
    Options options = DamageOptions();
    options.background_threads = random.OneIn(2);
    ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
    const ChildOutcome outcome = RunInChild(
        kAlarmSeconds, [&](int fd) { return Examine(pool, options, folder.Sub("harmed"), fd); });
    EXPECT_TRUE(outcome.exit_code == kOpenFailed || outcome.exit_code == kError)
        << "page " << page / kPageBytes << ": " << outcome.ToString() << "\n  " << ReplayLine();
    ++examined;
  }
  std::printf("[ heads    ] %llu pages\n", static_cast<unsigned long long>(examined));
  EXPECT_GT(examined, 0u);
}

}  // namespace
}  // namespace braid::test
