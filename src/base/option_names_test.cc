// Options by name: what is set, what is refused, and that every name works.
#include <gtest/gtest.h>

#include <set>

#include "braid/options.h"

namespace braid {
namespace {

TEST(OptionNamesTest, SetsNumbersWithSuffixesSwitchesSharesAndKinds) {
  Options options;
  ASSERT_TRUE(options.Set("memtable.bytes", "3M").ok());
  EXPECT_EQ(options.memtable.bytes, 3ull << 20);
  ASSERT_TRUE(options.Set("log.kind", "write-ahead").ok());
  EXPECT_EQ(options.log.kind, LogKind::kWriteAhead);
  ASSERT_TRUE(options.Set("cache.index", "false").ok());
  EXPECT_EQ(options.cache.index, false);
  ASSERT_TRUE(options.Set("compaction.gc_live_ratio", "0.25").ok());
  EXPECT_EQ(options.compaction.gc_live_ratio, 0.25);
  ASSERT_TRUE(options.Set("pool.region_paths", "/mnt/1/pool,/mnt/2").ok());
  EXPECT_EQ(options.pool.region_paths, (std::vector<std::string>{"/mnt/1/pool", "/mnt/2"}));
  EXPECT_FALSE(options.Set("pool.region_paths", "/mnt/1,,/mnt/2").ok());
  ASSERT_TRUE(options.Set("pool.region_paths", "").ok());
  EXPECT_TRUE(options.pool.region_paths.empty());
}

TEST(OptionNamesTest, RefusesWhatItDoesNotKnowWithWhatThereIs) {
  Options options;
  const Status name = options.Set("log.knid", "write-ahead");
  EXPECT_EQ(name.code(), Status::Code::kInvalidArgument);
  EXPECT_NE(name.message().find("log.kind"), std::string::npos) << name.ToString();
  const Status value = options.Set("log.kind", "none");
  EXPECT_NE(value.message().find("index-unified, write-ahead"), std::string::npos);
  for (const char* wrong : {"", "K", "-1", "12x", "5 ", "99999999999T", "1.5"}) {
    EXPECT_FALSE(options.Set("memtable.bytes", wrong).ok()) << wrong;
  }
  EXPECT_FALSE(options.Set("log.shards", "5G").ok()) << "more than 32 bits";
  EXPECT_FALSE(options.Set("cache.index", "maybe").ok());
}

TEST(OptionNamesTest, EveryNameIsOnceThereAndTakesItsPreset) {
  std::set<std::string> seen;
  for (const OptionName& option : OptionNames()) {
    EXPECT_TRUE(seen.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.summary.empty()) << option.name;
    if (option.preset == "design's") continue;
    Options options;
    EXPECT_TRUE(options.Set(option.name, option.preset).ok()) << option.name;
    EXPECT_TRUE(options.Validate().ok()) << option.name;
  }
}

}  // namespace
}  // namespace braid
