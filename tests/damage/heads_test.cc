// Pages and lines of a pool in the place of those that hold heads of tables: a list that begins
// elsewhere must not pass for a shorter one.
#include <algorithm>
#include <cstring>
#include <vector>

#include "examiner.h"
#include "format/layout.h"
#include "pool_map.h"
#include "support/child_process.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class HeadsTest : public ::testing::TestWithParam<int> {
 protected:
  PoolState state() const { return static_cast<PoolState>(GetParam()); }

  /// Whether almost all of the unit are links: a line with those of a tall entry passes for a head
  /// (docs/guide/limitations.md).
  static bool IsOfLinks(const std::string& bytes, uint64_t at, uint64_t size) {
    uint64_t others = 0;
    for (uint64_t word = at; word < at + size; word += sizeof(format::EntryPtr)) {
      format::EntryPtr link{};
      std::memcpy(&link, &bytes[word], sizeof link);
      if (!link.IsValid()) ++others;
    }
    return others <= 1;
  }

  /// Puts units of `size` bytes of the first segment, one after the other, where the head of the
  /// last level's list lies. None that holds heads itself.
  void TakeTheirPlace(uint64_t size, uint64_t part) {
    const uint64_t most = Sized(100, 10'000, 100'000);
    TempFolder folder;
    part += static_cast<uint64_t>(GetParam());
    const BuiltPool pool = BuildPool(state(), folder.Sub("sound"), DeriveSeed(part));
    ASSERT_FALSE(HasFailure()) << ReplayLine();
    const auto first = std::find_if(pool.image.files.begin(), pool.image.files.end(),
                                    [](const PoolFile& f) { return f.name == "segment-000000"; });
    ASSERT_NE(first, pool.image.files.end());
    const std::string& sound = first->bytes;
    const uint64_t head = PoolMap(pool.image).OffsetOfLastHead();
    ASSERT_LT(head, sound.size());
    std::vector<uint64_t> units;
    for (uint64_t at = 0; at < sound.size(); at += size) {
      const bool is_head = at >= format::kTableHeadsOffset && at < format::kFirstStateTableOffset;
      if (!is_head && !IsZero(sound, at, size) && !IsOfLinks(sound, at, size)) units.push_back(at);
    }
    ASSERT_FALSE(units.empty());
    Random random(DeriveSeed(part + 20));
    for (const uint64_t at : units) {
      if (random.Below(units.size()) >= most) continue;
      PoolImage harmed = pool.image;
      std::string* bytes =
          &harmed.files[static_cast<size_t>(first - pool.image.files.begin())].bytes;
      std::memcpy(&(*bytes)[head - head % size], &sound[at], size);
      Options options = DamageOptions();
      options.background_threads = random.OneIn(2);
      ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
      const ChildOutcome outcome = RunInChild(
          kAlarmSeconds, [&](int fd) { return Examine(pool, options, folder.Sub("harmed"), fd); });
      EXPECT_TRUE(outcome.exit_code == kOpenFailed || outcome.exit_code == kError)
          << "offset " << at << ": " << outcome.ToString() << "\n  " << ReplayLine();
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Pools, HeadsTest, ::testing::Range(0, kPoolStates),
                         [](const ::testing::TestParamInfo<int>& state) {
                           return std::string(PoolStateName(static_cast<PoolState>(state.param)));
                         });

TEST_P(HeadsTest, AnotherPageInTheirPlaceIsNoticed) { TakeTheirPlace(kPageBytes, 560); }

TEST_P(HeadsTest, AnotherLineInTheirPlaceIsNoticed) { TakeTheirPlace(kLineBytes, 530); }

}  // namespace
}  // namespace braid::test
