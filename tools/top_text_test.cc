#include "tools/top_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace braid::tools {
namespace {

StatsSnapshot At(double seconds, uint64_t puts, uint64_t gets) {
  StatsSnapshot snapshot;
  snapshot.pid = 4711;
  snapshot.about = "design braid, media class cache_line";
  snapshot.seconds = seconds;
  snapshot.values = {{"puts", puts},
                     {"deletes", 0},
                     {"gets", gets},
                     {"iterators", 3},
                     {"lines_flushed", puts * 4},
                     {"fences", puts},
                     {"flushed_entries", puts / 2},
                     {"merged_entries", puts / 4},
                     {"stall_micros", 250'000},
                     {"memtable_entries", 1234},
                     {"memtable_bytes", 64 << 10},
                     {"immutable_memtables", 1},
                     {"l0_entries", 5678},
                     {"l0_tables", 3},
                     {"waiting_tables", 2},
                     {"l1_entries", 7'000'000},
                     {"index_entries", 900},
                     {"index_complete", 0},
                     {"memory_bytes", uint64_t{512} << 20},
                     {"memory_budget_bytes", uint64_t{1} << 30},
                     {"pool_used_bytes", uint64_t{3} << 30},
                     {"pool_bytes", uint64_t{4} << 30}};
  return snapshot;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The words of the first line that starts with `label`.
std::vector<std::string> Row(const std::string& screen, const std::string& label) {
  for (const std::string& line : LinesOf(screen)) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (!row.empty() && row[0] == label) return row;
  }
  return {};
}

using Words = std::vector<std::string>;

TEST(TopTextTest, RatesAreGrowthOverThePublishersTime) {
  const StatsSnapshot before = At(10, 1'000'000, 0);
  const StatsSnapshot now = At(12, 4'000'000, 500);
  EXPECT_EQ(RateOf("puts", now, &before), 1'500'000);
  EXPECT_EQ(RateOf("gets", now, &before), 250);
  EXPECT_EQ(RateOf("no_such", now, &before), std::nullopt);
  EXPECT_EQ(RateOf("puts", now, nullptr), std::nullopt);
  EXPECT_EQ(RateOf("puts", now, &now), std::nullopt) << "no time has passed";
  EXPECT_EQ(RateOf("puts", At(13, 5, 0), &before), std::nullopt) << "it has restarted";
}

TEST(TopTextTest, TheScreenSaysWhoIsHeldBackAndWhy) {
  StatsSnapshot before = At(10, 0, 0);
  StatsSnapshot now = At(12, 0, 0);
  EXPECT_EQ(TopScreen("/a/pool", now, &before, 200).find("held back"), std::string::npos)
      << "the program that tells is an older one";
  before.values.insert(before.values.end(), {{"stall_lock_micros", 5}, {"stall_l0_micros", 100}});
  now.values.insert(
      now.values.end(),
      {{"stall_lock_micros", 6}, {"stall_l0_micros", 500'100}, {"stalled_writers", 0}});
  EXPECT_NE(TopScreen("/a/pool", now, &before, 200)
                .find("  held back   no writer now\n              by reason: l0 25.0 %\n"),
            std::string::npos)
      << TopScreen("/a/pool", now, &before, 200);
  now.values.back().second = 3;
  now.values.insert(now.values.end(),
                    {{"stalled_writer_micros", 1'500'000}, {"stalled_writer_reason", 4}});
  const std::string screen = TopScreen("/a/pool", now, nullptr, 200);
  EXPECT_NE(screen.find("  held back   3 writers now, the first for 1.50 s: full_pool\n"),
            std::string::npos)
      << screen;
  now.values.insert(
      now.values.end(),
      {{"stalls", 1200}, {"longest_stall_micros", 31'387}, {"stall_pages_micros", 2'000'000}});
  const std::string all = TopScreen("/a/pool", now, nullptr, 200);
  EXPECT_NE(all.find("              since the open 1,200 stalls, 250.0 ms, the longest 31.4 ms\n"
                     "              pages 2.00 s, l0 500.1 ms, lock 6 us\n"),
            std::string::npos)
      << all;
}

TEST(TopTextTest, ASharedBudgetIsShownWhereThereIsOne) {
  StatsSnapshot now = At(12, 0, 0);
  now.values.insert(
      now.values.end(),
      {{"shared_memory_bytes", 0}, {"shared_budget_bytes", 0}, {"shared_databases", 0}});
  EXPECT_TRUE(Row(TopScreen("p", now, nullptr, 100), "of").empty());
  for (auto& [name, value] : now.values) {
    if (name == "shared_memory_bytes") value = uint64_t{1} << 30;
    if (name == "shared_budget_bytes") value = uint64_t{4} << 30;
    if (name == "shared_databases") value = 3;
  }
  const Words row = Row(TopScreen("p", now, nullptr, 100), "of");
  ASSERT_GE(row.size(), 8u) << TopScreen("p", now, nullptr, 100);
  EXPECT_EQ(row[1], "all");
  EXPECT_EQ(row[3], "25");
}

TEST(TopTextTest, TheScreenShowsWhatTheBackgroundDoes) {
  StatsSnapshot before = At(10, 0, 0);
  StatsSnapshot now = At(12, 0, 0);
  EXPECT_EQ(TopScreen("p", now, &before, 100).find("background"), std::string::npos);
  before.values.insert(before.values.end(), {{"work_flush_micros", 0}, {"work_merge_micros", 500}});
  now.values.insert(now.values.end(), {{"work_flush_running", 0},
                                       {"work_flush_micros", 20'000},
                                       {"work_merge_running", 0},
                                       {"work_merge_micros", 3'000'500}});
  EXPECT_NE(
      TopScreen("p", now, &before, 100)
          .find("  background  idle\n              of a thread's time flush 1 %, merge 150 %\n"),
      std::string::npos)
      << TopScreen("p", now, &before, 100);
  now.values.insert(now.values.end(), {{"work_index_running", 1}, {"work_collect_running", 2}});
  EXPECT_NE(TopScreen("p", now, nullptr, 100).find("  background  index, collect (2)\n"),
            std::string::npos);
}

TEST(TopTextTest, TheScreenShowsLatenciesOfTheTimeBetweenTheLooks) {
  const auto told = [](double seconds, uint64_t fast, uint64_t slow) {
    StatsSnapshot snapshot = At(seconds, fast + slow, 0);
    LatencyHistogram of;
    of.count = fast + slow;
    of.buckets[LatencyHistogram::BucketOf(1000)] = fast;
    of.buckets[LatencyHistogram::BucketOf(3'000'000)] = slow;
    of.max_nanos = 3'000'000;
    snapshot.latencies = {{"put", of}, {"get", {}}};
    return snapshot;
  };
  const StatsSnapshot before = told(10, 1000, 1000);
  const StatsSnapshot now = told(12, 3000, 1010);
  EXPECT_EQ(
      Row(TopScreen("p", now, &before, 100), "put"),
      (Words{"put", "1,005", "334", "4,010", "991", "ns", "991", "ns", "2.9", "ms", "3.0", "ms"}));
  EXPECT_EQ(Row(TopScreen("p", now, nullptr, 80), "put"),
            (Words{"put", "-", "4,010", "991", "ns", "2.9", "ms", "3.0", "ms"}))
      << "the first look: all; a narrow one has less";
  EXPECT_EQ(Row(TopScreen("p", now, &before, 80), "get"), (Words{"get", "0", "0", "-", "-", "-"}));
  const auto object = nlohmann::json::parse(TopJson(now, &before));
  EXPECT_EQ(object.at("latencies").at("put").at("count"), 2010);
  EXPECT_FALSE(object.at("latencies").contains("get")) << "there was none";
}

TEST(TopTextTest, TheScreenShowsWhatIsLiveObsoleteAndFree) {
  constexpr uint64_t kMiB = 1 << 20;
  StatsSnapshot now = At(12, 0, 0);
  now.values.insert(now.values.end(), {{"log_bytes", 64 * kMiB},
                                       {"l0_bytes", 16 * kMiB},
                                       {"l0_obsolete_bytes", 0},
                                       {"l1_bytes", 944 * kMiB},
                                       {"l1_obsolete_bytes", 1024 * kMiB},
                                       {"value_bytes", 0},
                                       {"uncounted_bytes", 0},
                                       {"pool_free_bytes", 2048 * kMiB}});
  const std::string screen = TopScreen("p", now, nullptr, 100);
  EXPECT_EQ(Row(screen, "L1"), (Words{"L1", "7,000,000", "944.0", "MiB", "1.0", "GiB", "900",
                                      "indexed,", "being", "built"}));
  EXPECT_EQ(Row(screen, "memtables"),
            (Words{"memtables", "1,234", "64.0", "MiB", "1", "immutable"}));
  EXPECT_NE(screen.find("[######======------------] 1.0 GiB # live, 1.0 GiB = obsolete, "
                        "2.0 GiB - free"),
            std::string::npos)
      << screen;
  EXPECT_TRUE(Row(screen, "values").empty()) << "there are none";
  EXPECT_TRUE(Row(screen, "uncounted").empty());
}

TEST(TopTextTest, TheScreenShowsRatesLevelsAndMemory) {
  const StatsSnapshot before = At(10, 1'000'000, 0);
  const std::string screen = TopScreen("/a/pool", At(12, 4'000'000, 500), &before, 100);
  EXPECT_TRUE(screen.starts_with("braid top  /a/pool\n  process 4711, open for 12.00 s\n"))
      << screen;
  EXPECT_EQ(Row(screen, "put"), (Words{"put", "1,500,000", "333,333", "4,000,000"}));
  EXPECT_EQ(Row(screen, "get"), (Words{"get", "250", "42", "500"}));
  EXPECT_EQ(Row(screen, "flush"), (Words{"flush", "750,000", "166,667", "2,000,000"}));
  EXPECT_EQ(Row(screen, "merge"), (Words{"merge", "375,000", "83,333", "1,000,000"}));
  EXPECT_NE(screen.find("a write     4.00 lines flushed, 1.00 fences; stalled 0.0 %"),
            std::string::npos)
      << screen;
  EXPECT_EQ(Row(screen, "memtables"), (Words{"memtables", "1,234", "1", "immutable"}));
  EXPECT_EQ(Row(screen, "L0"), (Words{"L0", "5,678", "3", "tables,", "2", "wait"}));
  EXPECT_EQ(Row(screen, "L1"), (Words{"L1", "7,000,000", "900", "indexed,", "being", "built"}));
  EXPECT_NE(screen.find("[############------------]  50 %  512.0 MiB of 1.0 GiB"),
            std::string::npos)
      << screen;
  EXPECT_NE(screen.find("[##################------]  75 %  3.0 GiB of 4.0 GiB"), std::string::npos);
}

TEST(TopTextTest, TheFirstLookHasNoRates) {
  const std::string screen = TopScreen("pool", At(12, 4'000'000, 500), nullptr, 100);
  EXPECT_EQ(Row(screen, "put"), (Words{"put", "-", "333,333", "4,000,000"}));
  EXPECT_NE(screen.find("- lines flushed, - fences; stalled - of"), std::string::npos);
}

TEST(TopTextTest, WhatAProcessDoesNotTellIsADashOrLeftOut) {
  StatsSnapshot bare;
  bare.values = {{"puts", 5}};
  const std::string screen = TopScreen("pool", bare, nullptr, 100);
  EXPECT_EQ(Row(screen, "put"), (Words{"put", "-", "-", "5"}));
  EXPECT_TRUE(Row(screen, "merge").empty());
  EXPECT_TRUE(Row(screen, "memory").empty());
  EXPECT_EQ(screen.find("nan"), std::string::npos);
}

TEST(TopTextTest, NoLineIsWiderThanTheTerminal) {
  const StatsSnapshot before = At(10, 0, 0);
  StatsSnapshot now = At(12, ~uint64_t{0}, ~uint64_t{0});
  now.about = std::string(300, 'x');
  const std::string pool = "/\u00e4\u00f6/" + std::string(200, 'p');
  for (const size_t columns : {1u, 20u, 80u, 200u}) {
    for (const std::string& line : LinesOf(TopScreen(pool, now, &before, columns))) {
      EXPECT_LE(line.size(), std::max<size_t>(3, columns)) << line;
    }
  }
}

TEST(TopTextTest, ControlCharactersOfAPathDoNotReachTheTerminal) {
  StatsSnapshot now = At(1, 0, 0);
  now.about = "evil \x1b[2J";
  const std::string screen = TopScreen("pool\x1b[2J", now, nullptr, 100);
  EXPECT_EQ(screen.find('\x1b'), std::string::npos);
}

TEST(TopTextTest, LinesStandBelowTheirNames) {
  const StatsSnapshot before = At(10, 1'000'000, 0);
  const std::string line = TopLine(At(12, 4'000'000, 500), &before);
  EXPECT_EQ(line.size(), TopHeader().size());
  EXPECT_EQ(Row(TopHeader() + "\n", "put/s").size(), 11u) << "'stall %' is two words";
  EXPECT_EQ(Row(line, "1,500,000"), (Words{"1,500,000", "0", "250", "0", "750,000", "375,000",
                                           "0.0", "4.00", "512.0", "MiB", "3.0", "GiB"}));
}

TEST(TopTextTest, JsonHasRatesOfCountersAndAllValues) {
  const StatsSnapshot before = At(10, 1'000'000, 0);
  const auto object = nlohmann::json::parse(TopJson(At(12, 4'000'000, 500), &before));
  EXPECT_EQ(object.at("pid"), 4711);
  EXPECT_EQ(object.at("a_second").at("puts"), 1'500'000.0);
  EXPECT_FALSE(object.at("a_second").contains("memory_bytes")) << "a size has no rate";
  EXPECT_EQ(object.at("values").at("l1_entries"), 7'000'000);
  EXPECT_TRUE(nlohmann::json::parse(TopJson(At(12, 1, 1), nullptr)).at("a_second").empty());
}

}  // namespace
}  // namespace braid::tools
