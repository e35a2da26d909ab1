// Bulk loads: all of a sorted one or nothing, newer than what was there, in any state of the store.
#include "braid/statistics.h"
#include "conformance.h"
#include "support/records.h"

namespace braid::test {
namespace {

class IngestTest : public ConformanceTest {
 protected:
  /// `count` numbered keys, every `step`-th, with values of about `value_bytes`.
  static Model Numbered(uint64_t first, uint64_t count, uint64_t step, size_t value_bytes,
                        const std::string& tag) {
    Model model;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t n = first + i * step;
      std::string value = tag + std::to_string(n);
      value.resize(std::max(value.size(), value_bytes), '_');
      model[NumberedKey(n)] = value;
    }
    return model;
  }
  void Ingest(const Model& records) {
    IngestReport report;
    BRAID_ASSERT_OK(IngestSorted(db_.get(), records, &report));
    EXPECT_EQ(report.records, records.size());
    uint64_t bytes = 0;
    for (const auto& [key, value] : records) bytes += key.size() + value.size();
    EXPECT_EQ(report.bytes, bytes);
    for (const auto& [key, value] : records) model_[key] = value;
  }
  uint64_t UsedBytes() { return db_->GetStatistics().pool_used_bytes; }
};
INSTANTIATE_TEST_SUITE_P(Designs, IngestTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::ingest)), SetupName);

TEST_P(IngestTest, IntoANewPool) {
  Ingest(Numbered(0, 3000, 1, 100, "v"));
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  Reopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, SurvivesWithoutAClose) {
  Put("a", "before");
  Ingest(Numbered(0, 500, 1, 50, "v"));
  Put("b", "after");
  Put(NumberedKey(7), "after");
  AbandonAndReopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(IngestTest, IsNewerThanWhatWasWrittenBeforeAndOlderThanWhatComesAfter) {
  Fill(0, 1200, 60, "table");
  BRAID_ASSERT_OK(db_->Compact());
  Fill(300, 600, 60, "flushed");
  BRAID_ASSERT_OK(db_->Flush());
  Fill(500, 100, 60, "memtable");
  Delete(NumberedKey(550));
  Ingest(Numbered(400, 400, 2, 60, "load"));
  ExpectContent(db_.get(), model_);
  Fill(450, 50, 60, "after");
  Delete(NumberedKey(600));
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(IngestTest, ManyOneAfterTheOther) {
  for (uint64_t i = 0; i < 12; ++i) {
    Ingest(Numbered(i * 50, 120, 1, 40, "load" + std::to_string(i) + "-"));
    Put(NumberedKey(i * 50 + 1), "put");
  }
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  Reopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, SnapshotsAndIteratorsOfBeforeDoNotSeeIt) {
  BRAID_NEEDS(snapshots);
  Fill(0, 300, 60);
  const Model before = model_;
  const auto snapshot = db_->GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  const std::unique_ptr<Iterator> it = db_->NewIterator({});
  it->SeekToFirst();
  Ingest(Numbered(100, 400, 1, 60, "load"));
  ExpectContent(db_.get(), before, snapshot.get());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), before, snapshot.get());
  Pairs seen;
  for (; it->Valid(); it->Next()) seen.emplace_back(it->key(), it->value());
  BRAID_EXPECT_OK(it->status());
  EXPECT_TRUE(SamePairs(seen, before));
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, LargeValuesAndEmptyOnes) {
  Model records;
  const size_t chunk = options_.pool.chunk_bytes;
  records[""] = "of the empty key";
  records["empty"] = "";
  for (const size_t size : {chunk / 2 - 1, chunk / 2, chunk / 2 + 1, chunk, 3 * chunk + 5}) {
    records["size" + std::to_string(size)] = std::string(size, 'x') + "end";
  }
  records["z"] = "last";
  Put("size" + std::to_string(chunk), std::string(2 * chunk, 'o'));
  Ingest(records);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  BRAID_ASSERT_OK(db_->Compact());
  ExpectVerified(db_.get());
  AbandonAndReopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(IngestTest, NothingIsLoadedOfNoRecords) {
  Put("a", "1");
  Ingest({});
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, AFailureOfTheSourceLeavesTheStoreAsItWas) {
  Fill(0, 200, 60);
  // A pool that may not grow: what is taken fast is made room for, some moments later, and the
  // headers of a new segment are in use too.
  options_.pool.max_bytes = db_->GetStatistics().pool_bytes;
  ASSERT_NO_FATAL_FAILURE(Reopen());
  BRAID_ASSERT_OK(db_->Compact());
  const uint64_t used = UsedBytes();
  PairSource source(Numbered(100, 2000, 1, 100, "load"));
  source.FailAt(1500, Status::IOError("the disk is gone"));
  IngestReport report;
  EXPECT_TRUE(HasCode(IngestSorted(db_.get(), &source, &report), Status::Code::kIOError));
  EXPECT_EQ(report.records, 0u);
  EXPECT_EQ(UsedBytes(), used);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  Ingest(Numbered(100, 500, 1, 100, "load"));
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, RecordsOutOfOrderAreNamed) {
  Put("a", "1");
  for (const std::string wrong : {"b", "c", ""}) {
    PairSource source(Pairs{{"b", "1"}, {"c", "2"}, {wrong, "3"}, {"d", "4"}});
    const Status status = IngestSorted(db_.get(), &source);
    EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
    EXPECT_NE(status.message().find("record 3, key \"" + wrong + "\""), std::string::npos)
        << status.ToString();
  }
  PairSource too_long(Pairs{{"b", "1"}, {std::string(kMaxKeyBytes + 1, 'k'), "2"}});
  const Status status = IngestSorted(db_.get(), &too_long);
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_NE(status.message().find("record 2"), std::string::npos) << status.ToString();
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, UnsortedTheLaterRecordOfAKeyCounts) {
  Fill(0, 100, 60);
  Random random(7);
  Pairs records;
  // More than one run: a run is an eighth of the memory budget.
  if (GetParam().tiny) {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
    options_.memory_budget_bytes = 4 << 20;
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }
  for (int i = 0; i < 6000; ++i) {
    records.emplace_back(NumberedKey(random.Below(4000)),
                         "u" + std::to_string(i) + std::string(random.Below(300), 'u'));
    model_[records.back().first] = records.back().second;
  }
  PairSource source(records);
  IngestReport report;
  std::vector<uint64_t> told;
  IngestOptions options;
  options.progress = [&](uint64_t count) { told.push_back(count); };
  BRAID_ASSERT_OK(db_->Ingest(&source, options, &report));
  EXPECT_GE(report.records, 1u);
  EXPECT_LE(report.records, records.size());
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), records.size());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  Reopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(IngestTest, IsClosedAfterClose) {
  BRAID_ASSERT_OK(db_->Close());
  PairSource source(Pairs{{"a", "1"}});
  EXPECT_TRUE(HasCode(IngestSorted(db_.get(), &source), Status::Code::kClosed));
}

class NoIngestTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, NoIngestTest, ::testing::ValuesIn(AllSetups()), SetupName);

TEST_P(NoIngestTest, IsNotSupportedAndChangesNothing) {
  if (db_->GetCapabilities().ingest) GTEST_SKIP() << "the design has ingest";
  PairSource source(Pairs{{"a", "1"}});
  IngestReport report;
  EXPECT_TRUE(HasCode(IngestSorted(db_.get(), &source, &report), Status::Code::kNotSupported));
  EXPECT_EQ(report.records, 0u);
  ExpectContent(db_.get(), {});
}

}  // namespace
}  // namespace braid::test
