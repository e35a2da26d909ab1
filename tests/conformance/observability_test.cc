// Properties, statistics, Inspect, Verify and the log lines.
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "conformance.h"

namespace braid::test {
namespace {

class ObservabilityTest : public ConformanceTest {
 protected:
  uint64_t NumberProperty(const std::string& name) {
    std::string text;
    EXPECT_TRUE(db_->GetProperty(name, &text)) << name;
    EXPECT_FALSE(text.empty()) << name;
    return text.empty() ? 0 : std::stoull(text);
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, ObservabilityTest, ::testing::ValuesIn(StoringSetups()),
                         SetupName);

TEST_P(ObservabilityTest, KnownPropertiesHaveTextAndUnknownOnesNone) {
  Fill(0, 500, 100);
  for (const char* name :
       {"braid.stats", "braid.stats.json", "braid.num-entries", "braid.approximate-memory-usage",
        "braid.l0-tables", "braid.media-class", "braid.design"}) {
    std::string text;
    EXPECT_TRUE(db_->GetProperty(name, &text)) << name;
    EXPECT_FALSE(text.empty()) << name;
  }
  for (const char* name : {"", "braid.", "braid.stat", "braid.statsx", "leveldb.stats", "stats"}) {
    std::string text;
    EXPECT_FALSE(db_->GetProperty(name, &text)) << name;
  }
}

TEST_P(ObservabilityTest, StatsAsJsonAreAnObject) {
  std::string text;
  ASSERT_TRUE(db_->GetProperty("braid.stats.json", &text));
  ASSERT_GE(text.size(), 2u);
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.back(), '}');
  EXPECT_NE(text.find("\"puts\""), std::string::npos) << text;
}

TEST_P(ObservabilityTest, NumberOfEntriesIsPlausible) {
  Fill(0, 2000, 100);
  BRAID_ASSERT_OK(db_->Compact());
  const uint64_t entries = NumberProperty("braid.num-entries");
  EXPECT_GE(entries, 2000u);
  EXPECT_LE(entries, 2100u);
  EXPECT_EQ(NumberProperty("braid.l0-tables"), 0u) << "Compact merges every L0 table";
}

TEST_P(ObservabilityTest, CountersCountTheCalls) {
  const Statistics start = db_->GetStatistics();
  for (int i = 0; i < 100; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "12345"));
  for (int i = 0; i < 30; ++i) BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
  WriteBatch batch;
  batch.Put("x", "1");
  if (Has(&Capabilities::atomic_batches)) batch.Put("y", "1");
  for (int i = 0; i < 7; ++i) BRAID_ASSERT_OK(db_->Write(batch));
  for (int i = 0; i < 50; ++i) (void)GetText(db_.get(), NumberedKey(i));
  (void)db_->NewIterator({});
  const Statistics end = db_->GetStatistics();
  EXPECT_GE(end.puts - start.puts, 100u);
  EXPECT_LE(end.puts - start.puts, 114u) << "puts of batches may be counted, nothing else";
  EXPECT_EQ(end.deletes - start.deletes, 30u);
  EXPECT_EQ(end.batches - start.batches, 7u);
  EXPECT_EQ(end.gets - start.gets, 50u);
  EXPECT_EQ(end.gets_found - start.gets_found, 20u);
  EXPECT_EQ(end.iterators - start.iterators, 1u);
  EXPECT_GT(end.bytes_put, start.bytes_put);
  EXPECT_GT(end.last_sequence, start.last_sequence);
}

TEST_P(ObservabilityTest, FlushesAndMergesAreCounted) {
  Fill(0, 1000, 100);
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics statistics = db_->GetStatistics();
  if (GetParam().kind.design != "nvskiplist") {  // which has no tables
    EXPECT_GE(statistics.flushes, 1u);
    EXPECT_GE(statistics.merges, 1u);
  }
  EXPECT_EQ(statistics.l0_tables, 0u);
  EXPECT_EQ(statistics.immutable_memtables, 0u);
  EXPECT_EQ(statistics.memtable_entries, 0u);
  EXPECT_GE(statistics.l1_entries, 1000u);
  EXPECT_LE(statistics.l1_entries, 1100u);
}

TEST_P(ObservabilityTest, GaugesStayWithinWhatTheyMeasure) {
  Fill(0, 5000, 100);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.pool_bytes, 0u);
  EXPECT_GT(statistics.pool_used_bytes, 0u);
  EXPECT_LE(statistics.pool_used_bytes, statistics.pool_bytes);
  EXPECT_EQ(statistics.memory_budget_bytes, options_.memory_budget_bytes);
  EXPECT_LE(statistics.memory_bytes, statistics.memory_budget_bytes);
  EXPECT_GE(statistics.last_sequence, 5000u);
  EXPECT_EQ(statistics.pool_max_bytes, 0u);
}

TEST_P(ObservabilityTest, LatenciesCountTheCalls) {
  for (int i = 0; i < 300; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "12345"));
  for (int i = 0; i < 20; ++i) BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
  for (int i = 0; i < 200; ++i) (void)GetText(db_.get(), NumberedKey(i));
  if (Has(&Capabilities::atomic_batches)) {
    WriteBatch batch;
    batch.Put("x", "1");
    batch.Put("y", "1");
    for (int i = 0; i < 7; ++i) BRAID_ASSERT_OK(db_->Write(batch));
  }
  {
    const std::unique_ptr<Iterator> iterator = db_->NewIterator({});
    for (int i = 0; i < 10; ++i) iterator->Seek(NumberedKey(30 * i));
    for (iterator->SeekToFirst(); iterator->Valid();) iterator->Next();
  }
  const Statistics now = db_->GetStatistics();
  // Fewer than are sampled: each is timed.
  const auto count = [&](LatencyKind kind) { return now.latency(kind).count; };
  EXPECT_EQ(count(LatencyKind::kPut), 320u);
  EXPECT_EQ(count(LatencyKind::kGet), 200u);
  EXPECT_EQ(count(LatencyKind::kBatch), Has(&Capabilities::atomic_batches) ? 7u : 0u);
  EXPECT_EQ(count(LatencyKind::kSeek), 11u);
  EXPECT_GE(count(LatencyKind::kNext), 1u);
  EXPECT_LE(count(LatencyKind::kNext), 290u);
  EXPECT_EQ(count(LatencyKind::kStall), now.stalls);
  EXPECT_EQ(count(LatencyKind::kFlush), now.flushes);
  for (const LatencyHistogram& of : now.latencies) {
    EXPECT_LE(of.Percentile(50), of.Percentile(99));
    EXPECT_LE(of.Percentile(99), of.max_nanos);
    EXPECT_LE(of.MeanNanos(), of.max_nanos);
    EXPECT_EQ(of.max_nanos > 0, of.count > 0);
  }
}

TEST_P(ObservabilityTest, TheSpaceOfThePoolIsAllAccountedFor) {
  const auto check = [&](const char* when) {
    const Statistics s = db_->GetStatistics();
    const uint64_t sum = s.log_bytes + s.l0_bytes + s.l0_obsolete_bytes + s.l1_bytes +
                         s.l1_obsolete_bytes + s.value_bytes + s.value_obsolete_bytes +
                         s.uncounted_bytes + s.other_bytes + s.pool_free_bytes;
    EXPECT_EQ(sum, s.pool_bytes) << when;
    EXPECT_EQ(s.pool_free_bytes, s.pool_bytes - s.pool_used_bytes) << when;
    EXPECT_LE(s.retired_bytes, s.pool_bytes) << when;
    return s;
  };
  const bool has_tables = GetParam().kind.design != "nvskiplist";
  Fill(0, 2000, 100);
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics full = check("filled");
  EXPECT_GE(full.l1_bytes, 2000u * 100);
  EXPECT_LE(full.l1_bytes, 2000u * 400);
  EXPECT_EQ(full.l0_bytes, 0u) << "Compact merges every table";
  EXPECT_EQ(full.value_bytes, 0u);
  BRAID_ASSERT_OK(db_->Put("log", "1"));
  EXPECT_EQ(check("one more").log_bytes > 0, has_tables);
  if (has_tables && options_.compaction.kind == MergeKind::kNone) return;
  // What is overwritten does not count any more.
  Fill(0, 2000, 100, "again ");
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics again = check("overwritten");
  EXPECT_LE(again.l1_bytes, full.l1_bytes * 5 / 4);
  // A large value has chunks of its own.
  const std::string large(2 * options_.pool.chunk_bytes, 'v');
  BRAID_ASSERT_OK(db_->Put("large", large));
  EXPECT_GE(check("large").value_bytes, large.size());
  BRAID_ASSERT_OK(db_->Delete("large"));
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_EQ(check("large deleted").value_bytes, 0u);
}

TEST_P(ObservabilityTest, EveryNumericFieldIsListedOnce) {
  const std::vector<StatisticsField> fields = ListFields(db_->GetStatistics());
  EXPECT_GE(fields.size(), 2u);
  for (size_t i = 0; i < fields.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_STRNE(fields[i].name, fields[j].name);
  }
}

TEST_P(ObservabilityTest, InspectTellsTheFactsWhetherOpenOrClosed) {
  Fill(0, 500, 100);
  const auto open = DB::Inspect(path_);
  ASSERT_TRUE(open.ok()) << open.status().ToString();
  EXPECT_TRUE(open.value().in_use);
  EXPECT_EQ(open.value().in_use_by_pid, ::getpid());
  BRAID_ASSERT_OK(db_->Close());
  const auto closed = DB::Inspect(path_);
  ASSERT_TRUE(closed.ok()) << closed.status().ToString();
  const PoolInfo& facts = closed.value();
  EXPECT_FALSE(facts.in_use);
  EXPECT_TRUE(facts.clean);
  EXPECT_EQ(facts.design, GetParam().kind.design);
  EXPECT_GT(facts.format_version, 0u);
  EXPECT_GT(facts.segments, 0u);
  EXPECT_GT(facts.chunks, facts.chunks_free);
  EXPECT_FALSE(facts.uuid.empty());
  EXPECT_FALSE(facts.promise.empty());
  EXPECT_FALSE(facts.comparator.empty());
}

TEST_P(ObservabilityTest, InspectOfNoPoolIsAnError) {
  EXPECT_TRUE(HasCode(DB::Inspect(folder_.Sub("nothing")).status(), Status::Code::kNotFound));
  EXPECT_TRUE(HasCode(DB::Inspect(folder_.path()).status(), Status::Code::kInvalidArgument));
}

TEST_P(ObservabilityTest, VerifyCountsWhatItReadAndReportsProgress) {
  Fill(0, 3000, 100);
  BRAID_ASSERT_OK(db_->Compact());
  Fill(2000, 500, 100, "again ");
  VerifyReport report;
  double last = -1;
  bool ordered = true;
  BRAID_ASSERT_OK(db_->Verify(&report, [&](double share) {
    ordered = ordered && share >= last && share >= 0 && share <= 1;
    last = share;
  }));
  EXPECT_TRUE(ordered) << "progress goes from 0 to 1";
  EXPECT_GE(report.entries, 3000u);
  EXPECT_EQ(report.live_entries, 3000u);
  EXPECT_GT(report.bytes, 0u);
  EXPECT_GT(report.chunks, 0u);
  EXPECT_TRUE(report.problems.empty());
}

TEST_P(ObservabilityTest, LoggerLinesAreWholeLines) {
  std::mutex mutex;
  std::vector<std::string> lines;
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  options_.logger = [&](std::string_view line) {
    const std::lock_guard<std::mutex> lock(mutex);
    lines.emplace_back(line);
  };
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  Fill(0, 1000, 100);
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  for (const std::string& line : lines) {
    EXPECT_FALSE(line.empty());
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace braid::test
