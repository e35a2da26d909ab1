#include "tools/stats_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "braid/db.h"
#include "support/temp_folder.h"

namespace braid::tools {
namespace {

using std::chrono::milliseconds;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

StatsSnapshot Some() {
  StatsSnapshot snapshot;
  snapshot.pid = 4711;
  snapshot.about = "design braid \"\\\n\xff";
  snapshot.seconds = 1.25;
  snapshot.values = {{"puts", 0}, {"gets", ~uint64_t{0}}};
  return snapshot;
}

template <class Condition>
bool WaitUntil(Condition condition) {
  for (int i = 0; i < 24'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

TEST(StatsFileTest, WhatIsWrittenIsRead) {
  Result<StatsSnapshot> read = ParseSnapshot(FormatSnapshot(Some()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->pid, 4711);
  EXPECT_EQ(read->about, "design braid \"\\\n\uFFFD") << "JSON takes UTF-8 alone";
  EXPECT_EQ(read->seconds, 1.25);
  EXPECT_EQ(read->values, Some().values);
  EXPECT_EQ(read->Value("gets"), ~uint64_t{0});
  EXPECT_EQ(read->Value("no such"), std::nullopt);
}

TEST(StatsFileTest, LatenciesAreReadAsTheyWere) {
  Statistics statistics;
  LatencyHistogram& of = statistics.latencies[static_cast<size_t>(LatencyKind::kSeek)];
  of = {.count = 9, .sum_nanos = 12'345, .max_nanos = 5000, .buckets = {}};
  of.buckets[LatencyHistogram::BucketOf(900)] = 8;
  of.buckets[LatencyHistogram::kBuckets - 1] = 1;
  Result<StatsSnapshot> read = ParseSnapshot(FormatSnapshot(MakeSnapshot(statistics)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->latencies.size(), kLatencyKinds);
  const LatencyHistogram* seek = read->Latency("seek");
  ASSERT_NE(seek, nullptr);
  EXPECT_EQ(seek->count, 9u);
  EXPECT_EQ(seek->sum_nanos, 12'345u);
  EXPECT_EQ(seek->max_nanos, 5000u);
  EXPECT_EQ(seek->buckets, of.buckets);
  EXPECT_EQ(read->Latency("get")->count, 0u);
  EXPECT_EQ(read->Latency("no such"), nullptr);
  read = ParseSnapshot(R"({"schema":"braid-stats/1","pid":1,"about":"","seconds":1,"values":{}})");
  ASSERT_TRUE(read.ok()) << "of an earlier version";
  EXPECT_TRUE(read->latencies.empty());
  for (const char* bad :
       {R"("get":1)", R"("get":{})", R"("get":{"sum_nanos":1,"max_nanos":1,"buckets":[[1]]})",
        R"("get":{"sum_nanos":1,"max_nanos":1,"buckets":[["x",1]]})"}) {
    EXPECT_TRUE(ParseSnapshot(std::string(R"({"schema":"braid-stats/1","pid":1,"about":"",)") +
                              R"("seconds":1,"values":{},"latencies":{)" + bad + "}}")
                    .status()
                    .IsCorruption())
        << bad;
  }
}

TEST(StatsFileTest, WhatALibraryPublishesIsReadAsATool) {
  test::TempFolder folder;
  Options options;
  auto db = DB::Open(options, folder.Sub("pool"));
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE((*db)->Put(std::to_string(i), "value").ok());
  ASSERT_TRUE((*db)->PublishStatistics(true).ok());
  StatsSnapshot snapshot;
  std::string why;
  ASSERT_EQ(ReadStatsFile(folder.Sub("pool"), &snapshot, &why), Seen::kSnapshot) << why;
  ASSERT_NE(snapshot.Latency("put"), nullptr);
  EXPECT_EQ(snapshot.Latency("put")->count, 50u);
  EXPECT_EQ(snapshot.Latency("put")->max_nanos, snapshot.Value("latency_put_max_nanos"));
  EXPECT_GT(snapshot.Value("pool_free_bytes"), 0u);
}

TEST(StatsFileTest, WhatIsNotOursIsRefused) {
  const std::string text = FormatSnapshot(Some());
  for (const std::string& bad :
       {std::string(), std::string("{}"), text.substr(0, text.size() / 2), std::string("[1]"),
        std::string(R"({"schema":"braid-stats/2"})"),
        std::string(R"({"schema":"braid-stats/1","pid":1,"about":"","seconds":1,)"
                    R"("values":{"puts":"x"}})")}) {
    EXPECT_TRUE(ParseSnapshot(bad).status().IsCorruption()) << bad;
  }
}

TEST(StatsFileTest, AllFieldsOfTheStatisticsAreTold) {
  Statistics statistics;
  statistics.design = "braid";
  statistics.media_class = MediaClass::kCacheLine;
  statistics.media_class_forced = true;
  statistics.puts = 17;
  const StatsSnapshot snapshot = MakeSnapshot(statistics);
  EXPECT_EQ(snapshot.about, "design braid, media class cache_line (forced)");
  EXPECT_EQ(snapshot.values.size(), ListFields(statistics).size());
  EXPECT_EQ(snapshot.Value("puts"), 17u);
}

TEST(StatsFileTest, AllWaysToAPoolLeadToOneFileBesideIt) {
  test::TempFolder folder;
  std::filesystem::create_directory(folder.Sub("pool"));
  std::filesystem::create_directory_symlink(folder.Sub("pool"), folder.Sub("link"));
  const std::string path = StatsFilePath(folder.Sub("pool"));
  EXPECT_TRUE(path.ends_with("/pool.stats.json")) << path;
  EXPECT_EQ(StatsFilePath(folder.Sub("pool/")), path);
  EXPECT_EQ(StatsFilePath(folder.Sub("link")), path);
  EXPECT_EQ(StatsFilePath(folder.Sub("none/../pool")), path);
  EXPECT_TRUE(StatsFilePath(folder.Sub("none/")).ends_with("/none.stats.json"));
}

TEST(StatsPublisherTest, TheFileIsThereAtOnceIsRenewedAndGoesAway) {
  test::TempFolder folder;
  std::atomic<uint64_t> puts{7};
  const std::string pool = folder.Sub("pool");
  const std::string path = StatsFilePath(pool);
  {
    auto started = StatsPublisher::Start(
        pool,
        [&puts] {
          StatsSnapshot snapshot;
          snapshot.values = {{"puts", puts.load()}};
          return snapshot;
        },
        milliseconds(5));
    ASSERT_TRUE(started.ok()) << started.status().message();
    Result<StatsSnapshot> first = ParseSnapshot(ReadText(path));
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_EQ(first->pid, ::getpid());
    puts = 8;
    bool ascends = true;
    double before = first->seconds;
    // Renaming shows all of a file or none: every look must find a whole one.
    EXPECT_TRUE(WaitUntil([&] {
      Result<StatsSnapshot> now = ParseSnapshot(ReadText(path));
      EXPECT_TRUE(now.ok()) << now.status().message();
      if (!now.ok()) return true;
      ascends = ascends && now->seconds >= before;
      before = now->seconds;
      return now->Value("puts") == 8u;
    }));
    EXPECT_TRUE(ascends);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "no half-written file is left";
}

TEST(StatsPublisherTest, AFolderThatCannotBeWrittenIsTold) {
  test::TempFolder folder;
  auto started = StatsPublisher::Start(folder.Sub("none/pool"), [] { return StatsSnapshot(); });
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.status().message().find("--publish-stats"), std::string_view::npos);
}

TEST(StatsPublisherTest, AFolderThatGoesAwayDoesNotEndTheWork) {
  test::TempFolder folder;
  std::filesystem::create_directory(folder.Sub("parent"));
  std::atomic<int> calls{0};
  auto started = StatsPublisher::Start(
      folder.Sub("parent/pool"),
      [&calls] {
        ++calls;
        return StatsSnapshot();
      },
      milliseconds(1));
  ASSERT_TRUE(started.ok());
  // In one step: while a folder is being emptied, the publisher may make its next file there.
  std::filesystem::rename(folder.Sub("parent"), folder.Sub("gone"));
  const int before = calls;
  EXPECT_TRUE(WaitUntil([&] { return calls > before + 3; })) << "it goes on trying";
}

TEST(StatsFileTest, WhatAProgramPublishesIsRead) {
  const test::TempFolder folder;
  auto db = DB::Open({}, folder.Sub("pool"));
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  ASSERT_TRUE((*db)->Put("key", "value").ok());
  ASSERT_TRUE((*db)->PublishStatistics(true).ok());
  StatsSnapshot snapshot;
  std::string why;
  ASSERT_EQ(ReadStatsFile(folder.Sub("pool"), &snapshot, &why), Seen::kSnapshot) << why;
  EXPECT_EQ(snapshot.Value("puts"), 1u);
  EXPECT_EQ(snapshot.about, MakeSnapshot((*db)->GetStatistics()).about);
  EXPECT_EQ(snapshot.pid, ::getpid());
}

}  // namespace
}  // namespace braid::tools
