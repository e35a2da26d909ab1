#include "write/writer.h"

#include <gtest/gtest.h>

#include <string>

#include "support/store_parts.h"
#include "write/range_deleter.h"

namespace braid::write {
namespace {

Status WriteBatchTo(test::StoreParts* parts, const WriteBatch& batch,
                    const Writer::Unchanged* unchanged = nullptr) {
  RangeDeleter deleter({&parts->options, parts->pool.get(), &parts->versions, &parts->reclaimer,
                        &parts->reader, &parts->writer});
  return deleter.Write({}, batch, unchanged);
}

TEST(WriterTest, EachUpdateHasANumber) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.Delete("a");
  EXPECT_EQ(parts.sequence.load(), 2u);
  WriteBatch batch;
  batch.Put("b", "1");
  batch.Put("c", "2");
  ASSERT_TRUE(WriteBatchTo(&parts, batch).ok());
  EXPECT_EQ(parts.sequence.load(), 4u);
  EXPECT_EQ(parts.Get("a"), "-");
  EXPECT_EQ(parts.Get("c"), "2");
}

TEST(WriterTest, JobsThatRestAreWoken) {
  test::StoreParts parts;
  parts.Put("a", "1");
  EXPECT_EQ(parts.wakes, 0);
  parts.jobs_asleep.store(1);
  parts.Put("a", "2");
  EXPECT_EQ(parts.wakes, 1);
}

TEST(WriterTest, AFullMemTableIsToBeSealed) {
  test::StoreParts parts([](Options* options) { options->memtable.bytes = 4096; });
  parts.Put("a", "1");
  EXPECT_EQ(parts.seals, 0);
  parts.Put("b", std::string(5000, 'v'));
  EXPECT_EQ(parts.seals, 1);
}

TEST(WriterTest, WritesEndWithTheReason) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.errors.Fail(Status::IOError("it failed"));
  EXPECT_EQ(parts.writer.Put({}, "a", "2").message(), "it failed");
  WriteBatch batch;
  batch.Put("b", "1");
  batch.Put("c", "2");
  EXPECT_EQ(WriteBatchTo(&parts, batch).message(), "it failed");
  EXPECT_EQ(parts.writer.CompareAndSwap({}, "a", "1", "2").status().message(), "it failed");
  EXPECT_EQ(parts.Get("a"), "1") << "reads go on";
  EXPECT_EQ(parts.sequence.load(), 1u);
}

TEST(WriterTest, WhatFindsNoRoomIsSaidUntilThereIsSome) {
  test::StoreParts parts;
  parts.errors.Block(Status::OutOfSpace("no room"), 0, 0);
  EXPECT_EQ(parts.writer.Put({}, "a", "1").message(), "no room");
  EXPECT_EQ(parts.waits_for_space, 1) << "once: what a flush has not found others may have held";
  parts.errors.Unblock();
  parts.Put("a", "1");
  EXPECT_EQ(parts.Get("a"), "1");
}

TEST(WriterTest, RoomThatIsMadeForWhatAFlushHasNotFoundIsUsed) {
  test::StoreParts parts;
  parts.errors.Block(Status::OutOfSpace("no room"), 0, 0);
  parts.make_space = [&parts] { return parts.errors.Unblock(); };
  parts.Put("a", "1");
  EXPECT_EQ(parts.waits_for_space, 1);
  EXPECT_EQ(parts.Get("a"), "1");
}

TEST(WriterTest, ARangeIsDeletedWithSuchRoomToo) {
  test::StoreParts parts;
  parts.Put("a", "1");
  parts.errors.Block(Status::OutOfSpace("no room"), 0, 0);
  uint64_t deleted = 0;
  EXPECT_EQ(parts.range_deleter.Delete({}, "a", std::nullopt, &deleted).message(), "no room");
  EXPECT_EQ(deleted, 0u);
  // Nothing to delete would be durable at once.
  EXPECT_EQ(parts.range_deleter.Delete({}, "b", std::nullopt, &deleted).message(), "no room");
  WriteBatch batch;
  batch.DeleteRange("b", "c");
  EXPECT_EQ(parts.range_deleter.Write({}, batch, nullptr).message(), "no room");
  parts.make_space = [&parts] { return parts.errors.Unblock(); };
  const Status s = parts.range_deleter.Delete({}, "a", std::nullopt, &deleted);
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(deleted, 1u);
  EXPECT_EQ(parts.Get("a"), "-");
}

TEST(WriterTest, AFullPoolIsAskedForRoomOnce) {
  test::StoreParts parts([](Options* options) { options->pool.max_bytes = 4u << 20; });
  const std::string value(4000, 'v');
  Status s;
  int written = 0;
  for (; written < 5000 && s.ok(); ++written) {
    s = parts.writer.Put({}, std::to_string(written), value);
  }
  EXPECT_TRUE(s.IsOutOfSpace()) << s.ToString();
  EXPECT_EQ(parts.waits_for_space, 1);
  EXPECT_EQ(parts.Get(std::to_string(written - 1)), "-");
  EXPECT_EQ(parts.Get(std::to_string(written - 2)), value);
}

TEST(WriterTest, ASwapComparesWithTheNewestValue) {
  test::StoreParts parts;
  const auto swap = [&](std::optional<Slice> expected, Slice desired) {
    const Result<bool> swapped = parts.writer.CompareAndSwap({}, "a", expected, desired);
    test::StoreParts::ExpectOk(swapped.status());
    return swapped.ok() && *swapped;
  };
  EXPECT_FALSE(swap("0", "1")) << "there is none";
  EXPECT_TRUE(swap(std::nullopt, "1"));
  EXPECT_FALSE(swap(std::nullopt, "2"));
  parts.Flush();
  EXPECT_TRUE(swap("1", "2")) << "what is compared lies in a table";
  EXPECT_EQ(parts.Get("a"), "2");
}

TEST(WriterTest, AConditionalBatchIsWrittenUnlessAKeyHasChanged) {
  test::StoreParts parts;
  parts.Put("read", "1");
  const std::shared_ptr<const Snapshot> since = parts.reader.GetSnapshot();
  WriteBatch batch;
  batch.Put("written", "1");
  const Slice read = "read";
  const Writer::Unchanged unchanged{{&read, 1}, since.get()};
  EXPECT_TRUE(WriteBatchTo(&parts, {}, &unchanged).ok()) << "nothing to write";
  EXPECT_TRUE(WriteBatchTo(&parts, batch, &unchanged).ok());
  parts.Put("read", "2");
  batch.Put("written", "2");
  EXPECT_TRUE(WriteBatchTo(&parts, batch, &unchanged).IsBusy());
  EXPECT_TRUE(WriteBatchTo(&parts, {}, &unchanged).IsBusy());
  EXPECT_EQ(parts.Get("written"), "1");
}

TEST(RangeDeleterTest, KeysOfTheRangeGo) {
  test::StoreParts parts;
  for (const char* key : {"a", "b", "c", "d"}) parts.Put(key, "1");
  parts.Flush();
  parts.Put("b2", "1");
  RangeDeleter deleter({&parts.options, parts.pool.get(), &parts.versions, &parts.reclaimer,
                        &parts.reader, &parts.writer});
  uint64_t deleted = 0;
  ASSERT_TRUE(deleter.Delete({}, "b", "d", &deleted).ok());
  EXPECT_EQ(deleted, 3u);
  for (const char* key : {"b", "b2", "c"}) EXPECT_EQ(parts.Get(key), "-") << key;
  for (const char* key : {"a", "d"}) EXPECT_EQ(parts.Get(key), "1") << key;
  ASSERT_TRUE(deleter.Delete({}, "a", std::nullopt, &deleted).ok());
  EXPECT_EQ(deleted, 2u);
  parts.Put("b", "again");
  EXPECT_EQ(parts.Get("b"), "again") << "the range is nobody's any more";
}

TEST(RangeDeleterTest, ABatchTakesItsUpdatesInTheirOrder) {
  test::StoreParts parts;
  for (const char* key : {"a", "b", "c", "d"}) parts.Put(key, "old");
  parts.Flush();
  WriteBatch batch;
  batch.Put("b", "gone");
  batch.Put("b1", "gone");
  batch.Put("e", "stays");
  batch.DeleteRange("b", "d");
  batch.Put("c", "new");
  batch.Delete("a");
  ASSERT_TRUE(WriteBatchTo(&parts, batch).ok());
  EXPECT_EQ(parts.Get("a"), "-");
  EXPECT_EQ(parts.Get("b"), "-");
  EXPECT_EQ(parts.Get("b1"), "-");
  EXPECT_EQ(parts.Get("c"), "new");
  EXPECT_EQ(parts.Get("d"), "old");
  EXPECT_EQ(parts.Get("e"), "stays");
  EXPECT_EQ(parts.sequence.load(), 8u) << "b is deleted; e, c and a are written once each";
}

TEST(RangeDeleterTest, ABatchOfRangesIsConditionalToo) {
  test::StoreParts parts;
  for (const char* key : {"a", "b", "c"}) parts.Put(key, "1");
  const std::shared_ptr<const Snapshot> since = parts.reader.GetSnapshot();
  const Writer::Unchanged unchanged{{}, since.get()};
  WriteBatch batch;
  batch.DeleteRange("b", std::nullopt);
  batch.Put("b", "2");
  parts.Delete("c");
  EXPECT_TRUE(WriteBatchTo(&parts, batch, &unchanged).ok()) << "c is gone either way";
  EXPECT_EQ(parts.Get("b"), "2");
  parts.Put("d", "1");
  EXPECT_TRUE(WriteBatchTo(&parts, batch, &unchanged).IsBusy());
  EXPECT_EQ(parts.Get("d"), "1");
}

}  // namespace
}  // namespace braid::write
