#include "lsm/bulk_loader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/store_parts.h"

namespace braid::lsm {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

/// Records of a list; fails behind them where it is to.
class ListedRecords final : public RecordSource {
 public:
  explicit ListedRecords(Records records, Status end = Status::OK())
      : records_(std::move(records)), end_(std::move(end)) {}

  bool Next(Slice* key, Slice* value) override {
    if (at_ == records_.size()) return false;
    *key = records_[at_].first;
    *value = records_[at_].second;
    ++at_;
    return true;
  }
  Status status() const override { return at_ == records_.size() ? end_ : Status::OK(); }

 private:
  Records records_;
  Status end_;
  size_t at_ = 0;
};

IngestOptions Sorted() {
  IngestOptions options;
  options.sorted = true;
  return options;
}

/// A host that always says that there is room again.
class Hopeful final : public test::StoreParts {
 public:
  using test::StoreParts::StoreParts;
  int waits = 0;

 private:
  bool WaitForSpace(uint64_t) override { return ++waits < 10'000; }
};

TEST(BulkLoaderTest, RoomThatIsNotEnoughIsNotWaitedForForever) {
  Hopeful parts([](Options* options) { options->pool.max_bytes = options->pool.initial_bytes; });
  while (parts.pool->free_chunks() > 3) {
    ASSERT_TRUE(
        parts.pool
            ->AllocateLogChunk({}, format::ChunkKind::kLog, pool::AllocationClass::kBackground)
            .ok());
  }
  const uint64_t before = parts.pool->free_chunks();
  ListedRecords records({{"k", std::string(100'000, 'x')}});
  IngestReport report;
  const Status s = parts.bulk_loader.Load(&records, Sorted(), &report);
  EXPECT_TRUE(s.IsOutOfSpace()) << s.ToString();
  EXPECT_LT(parts.waits, 100);
  EXPECT_EQ(parts.pool->free_chunks(), before);
}

TEST(BulkLoaderTest, SortedRecordsBecomeATableOfL0) {
  test::StoreParts parts;
  parts.Put("b", "old");
  const std::shared_ptr<const Snapshot> before = parts.reader.GetSnapshot();
  ListedRecords records({{"a", "1"}, {"b", "2"}, {"c", std::string(20'000, 'x')}});
  IngestReport report;
  ASSERT_TRUE(parts.bulk_loader.Load(&records, Sorted(), &report).ok());
  EXPECT_EQ(report.records, 3u);
  ASSERT_FALSE(parts.state().version->l0().empty());
  EXPECT_TRUE(parts.state().version->l0().front()->AsList()->is_load());
  EXPECT_EQ(parts.Get("a"), "1");
  EXPECT_EQ(parts.Get("b"), "2") << "what was written before lies below";
  EXPECT_EQ(parts.Get("c").size(), 20'000u);
  ReadOptions then;
  then.snapshot = before.get();
  std::string value;
  ASSERT_TRUE(parts.reader.Get(then, "b", &value).ok());
  EXPECT_EQ(value, "old");
  EXPECT_TRUE(parts.reader.Get(then, "a", &value).IsNotFound());
  parts.Put("b", "3");
  EXPECT_EQ(parts.Get("b"), "3") << "writes go on, with higher numbers";
  parts.Verify();
}

TEST(BulkLoaderTest, OfEqualKeysInARunTheLastCounts) {
  test::StoreParts parts;
  ListedRecords records({{"c", "1"}, {"a", "2"}, {"c", "3"}, {"b", "4"}});
  IngestReport report;
  ASSERT_TRUE(parts.bulk_loader.Load(&records, {}, &report).ok());
  EXPECT_EQ(report.records, 3u);
  EXPECT_EQ(parts.Get("a"), "2");
  EXPECT_EQ(parts.Get("b"), "4");
  EXPECT_EQ(parts.Get("c"), "3");
}

TEST(BulkLoaderTest, WhatIsNotInOrderLeavesNothing) {
  test::StoreParts parts;
  parts.Put("a", "1");
  const uint64_t free = parts.pool->free_chunks();
  ListedRecords records({{"b", "2"}, {"d", std::string(20'000, 'x')}, {"c", "4"}});
  IngestReport report;
  EXPECT_TRUE(parts.bulk_loader.Load(&records, Sorted(), &report).IsInvalidArgument());
  EXPECT_EQ(report.records, 0u);
  EXPECT_EQ(parts.pool->free_chunks(), free);
  EXPECT_TRUE(parts.state().version->l0().empty());
  EXPECT_EQ(parts.Get("b"), "-");
  parts.Put("b", "5");
  EXPECT_EQ(parts.Get("b"), "5");
}

TEST(BulkLoaderTest, ASourceThatFailsLeavesNothing) {
  test::StoreParts parts;
  const uint64_t free = parts.pool->free_chunks();
  ListedRecords records({{"a", "1"}, {"b", "2"}}, Status::IOError("the file has ended"));
  IngestReport report;
  const Status s = parts.bulk_loader.Load(&records, Sorted(), &report);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_EQ(parts.pool->free_chunks(), free);
  EXPECT_EQ(parts.Get("a"), "-");
}

TEST(BulkLoaderTest, NoRecordsAreNoTable) {
  test::StoreParts parts;
  ListedRecords records(Records{});
  IngestReport report;
  ASSERT_TRUE(parts.bulk_loader.Load(&records, Sorted(), &report).ok());
  EXPECT_EQ(report.records, 0u);
  EXPECT_TRUE(parts.state().version->l0().empty());
}

TEST(BulkLoaderTest, WritesThatHaveEndedEndLoads) {
  test::StoreParts parts;
  parts.errors.Fail(Status::IOError("the medium is gone"));
  ListedRecords records(Records{{"a", "1"}});
  IngestReport report;
  EXPECT_TRUE(parts.bulk_loader.Load(&records, Sorted(), &report).IsIOError());
}

}  // namespace
}  // namespace braid::lsm
