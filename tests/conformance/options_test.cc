// Options: each limit is refused by name; the flags of Open do what they say.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "conformance.h"

namespace braid::test {
namespace {

/// One option outside its limits, and the word its message must hold.
struct BadOption {
  std::string test_name;
  std::string word;
  std::function<void(Options*)> set;
};

std::vector<BadOption> BadOptions() {
  return {
      {"DesignUnknown", "no-such-design", [](Options* o) { o->design = "no-such-design"; }},
      {"DesignEmpty", "design", [](Options* o) { o->design.clear(); }},
      {"ChunkNotAPowerOfTwo", "chunk_bytes", [](Options* o) { o->pool.chunk_bytes = 5000; }},
      {"ChunkZero", "chunk_bytes", [](Options* o) { o->pool.chunk_bytes = 0; }},
      {"ChunkTooSmall", "chunk_bytes", [](Options* o) { o->pool.chunk_bytes = 2048; }},
      {"ChunkTooLarge", "chunk_bytes", [](Options* o) { o->pool.chunk_bytes = 128ull << 20; }},
      {"PoolZero", "initial_bytes", [](Options* o) { o->pool.initial_bytes = 0; }},
      {"PoolOver48Bits", "initial_bytes", [](Options* o) { o->pool.initial_bytes = 1ull << 49; }},
      {"MaxBelowInitial", "max_bytes",
       [](Options* o) {
         o->pool.initial_bytes = 4ull << 20;
         o->pool.max_bytes = 2ull << 20;
       }},
      {"MediaClassUnknown", "force_media_class",
       [](Options* o) { o->pool.force_media_class = static_cast<MediaClass>(9); }},
      {"MemtableZero", "memtable.bytes", [](Options* o) { o->memtable.bytes = 0; }},
      {"ImmutableZero", "max_immutable", [](Options* o) { o->memtable.max_immutable = 0; }},
      {"TriggerZero", "l0_trigger", [](Options* o) { o->compaction.l0_trigger = 0; }},
      {"SlowdownBelowTrigger", "l0_",
       [](Options* o) {
         o->compaction.l0_trigger = 10;
         o->compaction.l0_slowdown = 5;
       }},
      {"StopBelowSlowdown", "l0_",
       [](Options* o) {
         o->compaction.l0_slowdown = 20;
         o->compaction.l0_stop = 10;
       }},
      {"BatchZero", "batch_entries", [](Options* o) { o->compaction.batch_entries = 0; }},
      {"LiveRatioNegative", "gc_live_ratio",
       [](Options* o) { o->compaction.gc_live_ratio = -0.1; }},
      {"LiveRatioOverOne", "gc_live_ratio", [](Options* o) { o->compaction.gc_live_ratio = 1.5; }},
      {"LiveRatioNotANumber", "gc_live_ratio",
       [](Options* o) { o->compaction.gc_live_ratio = std::nan(""); }},
      {"BudgetZero", "memory_budget_bytes", [](Options* o) { o->memory_budget_bytes = 0; }},
      {"ShardsTooMany", "log.shards", [](Options* o) { o->log.shards = 1u << 20; }},
      {"VerifyUnknown", "verify_on_open",
       [](Options* o) { o->verify_on_open = static_cast<VerifyOnOpen>(7); }},
  };
}

class BadOptionTest : public ::testing::TestWithParam<BadOption> {};
INSTANTIATE_TEST_SUITE_P(Options, BadOptionTest, ::testing::ValuesIn(BadOptions()),
                         [](const auto& bad) { return bad.param.test_name; });

TEST_P(BadOptionTest, IsRefusedByNameAndCreatesNothing) {
  TempFolder folder;
  Options options = TinyOptions();
  GetParam().set(&options);
  const Status opened = DB::Open(options, folder.Sub("pool")).status();
  EXPECT_TRUE(HasCode(opened, Status::Code::kInvalidArgument));
  EXPECT_NE(opened.message().find(GetParam().word), std::string_view::npos) << opened.ToString();
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("pool")));
}

TEST(OptionsTest, DefaultsAndTinyOptionsAreValid) {
  BRAID_EXPECT_OK(Options{}.Validate());
  BRAID_EXPECT_OK(TinyOptions().Validate());
}

TEST(OptionsTest, ExtremesWithinTheLimitsAreValid) {
  Random random(DeriveSeed(41));
  SCOPED_TRACE(ReplayLine());
  for (int i = 0; i < 1000; ++i) {
    const Options options = RandomTinyOptions(&random);
    ASSERT_TRUE(IsOk(options.Validate())) << Describe(options);
  }
  Options largest;
  largest.pool.chunk_bytes = 64ull << 20;
  largest.pool.initial_bytes = 1ull << 30;
  BRAID_EXPECT_OK(largest.Validate());
}

TEST(OpenTest, MissingPoolIsNotFoundUnlessCreated) {
  TempFolder folder;
  Options options = TinyOptions();
  options.create_if_missing = false;
  const Status missing = DB::Open(options, folder.Sub("pool")).status();
  EXPECT_TRUE(HasCode(missing, Status::Code::kNotFound));
  EXPECT_NE(missing.message().find("pool"), std::string_view::npos) << "the message names the path";
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("pool")));
  options.create_if_missing = true;
  EXPECT_NE(OpenOrFail(options, folder.Sub("pool")), nullptr);
}

TEST(OpenTest, ExistingPoolIsRefusedWhenAskedFor) {
  TempFolder folder;
  Options options = TinyOptions();
  { ASSERT_NE(OpenOrFail(options, folder.Sub("pool")), nullptr); }
  options.error_if_exists = true;
  EXPECT_TRUE(
      HasCode(DB::Open(options, folder.Sub("pool")).status(), Status::Code::kInvalidArgument));
  EXPECT_NE(OpenOrFail(options, folder.Sub("fresh")), nullptr);
}

TEST(OpenTest, EmptyDirectoryBecomesAPool) {
  TempFolder folder;
  std::filesystem::create_directory(folder.Sub("pool"));
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  BRAID_EXPECT_OK(db->Put("k", "v"));
}

TEST(OpenTest, TwoPoolsInOneProcessAreIndependent) {
  TempFolder folder;
  const auto first = OpenOrFail(TinyOptions(), folder.Sub("first"));
  const auto second = OpenOrFail(TinyOptions(), folder.Sub("second"));
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  for (uint64_t i = 0; i < 1000; ++i) {
    BRAID_ASSERT_OK(first->Put(NumberedKey(i), "first"));
    BRAID_ASSERT_OK(second->Put(NumberedKey(i), "second"));
  }
  BRAID_ASSERT_OK(first->Compact());
  EXPECT_EQ(GetText(first.get(), NumberedKey(500)), "first");
  EXPECT_EQ(GetText(second.get(), NumberedKey(500)), "second");
  BRAID_ASSERT_OK(first->Close());
  EXPECT_EQ(GetText(second.get(), NumberedKey(500)), "second");
}

TEST(OpenTest, ForcedMediaClassIsReported) {
  for (const MediaClass forced : {MediaClass::kPage, MediaClass::kCacheLine, MediaClass::kByte}) {
    TempFolder folder;
    Options options = TinyOptions();
    options.pool.force_media_class = forced;
    const auto db = OpenOrFail(options, folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    for (uint64_t i = 0; i < 2000; ++i)
      BRAID_ASSERT_OK(db->Put(NumberedKey(i), std::string(100, 'v')));
    const Statistics statistics = db->GetStatistics();
    EXPECT_EQ(statistics.media_class, forced);
    EXPECT_TRUE(statistics.media_class_forced);
    std::string name;
    ASSERT_TRUE(db->GetProperty("braid.media-class", &name));
    EXPECT_NE(name.find(MediaClassName(forced)), std::string::npos) << name;
    EXPECT_EQ(GetText(db.get(), NumberedKey(1999)), std::string(100, 'v'));
  }
}

TEST(DestroyTest, RemovesAClosedPool) {
  TempFolder folder;
  {
    const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    BRAID_ASSERT_OK(db->Put("k", "v"));
    EXPECT_TRUE(HasCode(DB::Destroy(folder.Sub("pool")), Status::Code::kBusy));
    EXPECT_EQ(GetText(db.get(), "k"), "v");
  }
  BRAID_EXPECT_OK(DB::Destroy(folder.Sub("pool")));
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("pool")));
  BRAID_EXPECT_OK(DB::Destroy(folder.Sub("pool")));
}

TEST(DestroyTest, RefusesWhatIsNoPool) {
  TempFolder folder;
  std::filesystem::create_directory(folder.Sub("photos"));
  std::ofstream(folder.Sub("photos") + "/holiday.jpg") << "precious";
  EXPECT_TRUE(HasCode(DB::Destroy(folder.Sub("photos")), Status::Code::kInvalidArgument));
  EXPECT_TRUE(std::filesystem::exists(folder.Sub("photos") + "/holiday.jpg"));
}

TEST(DestroyTest, LeavesFilesThatAreNotOurs) {
  TempFolder folder;
  { ASSERT_NE(OpenOrFail(TinyOptions(), folder.Sub("pool")), nullptr); }
  std::ofstream(folder.Sub("pool") + "/notes.txt") << "keep me";
  (void)DB::Destroy(folder.Sub("pool"));
  EXPECT_TRUE(std::filesystem::exists(folder.Sub("pool") + "/notes.txt"));
}

}  // namespace
}  // namespace braid::test
