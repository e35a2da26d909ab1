// What writes do to leaves, and when they are refused.
#include "leaf/leaf_writer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "support/leaf_parts.h"

namespace braid::leaf {
namespace {

class LeafWriterTest : public ::testing::Test {
 protected:
  static std::string Key(int i) { return "key" + std::to_string(1000 + i); }

  test::LeafParts parts_;
};

TEST_F(LeafWriterTest, TheLastWriteOfAKeyIsFoundAndEntriesAreCounted) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  parts_.Put("a", "3");
  EXPECT_EQ(parts_.Get("a"), "3");
  EXPECT_EQ(parts_.writer.entries(), 2u);
  parts_.Delete("a");
  parts_.Delete("missing");
  EXPECT_EQ(parts_.Get("a"), "-");
  EXPECT_EQ(parts_.Get("b"), "2");
  EXPECT_EQ(parts_.writer.entries(), 1u);
  Statistics statistics;
  parts_.writer.Fill(&statistics);
  EXPECT_EQ(statistics.puts, 3u);
  EXPECT_EQ(statistics.deletes, 2u);
  EXPECT_EQ(statistics.bytes_put, 6u);
  EXPECT_EQ(statistics.l1_entries, 1u);
  EXPECT_EQ(statistics.last_sequence, 3u) << "a delete draws no number";
}

TEST_F(LeafWriterTest, AFullLeafIsSplitAndSmallOnesAreUnited) {
  constexpr int kKeys = 5 * static_cast<int>(format::kLeafSlots);
  for (int i = 0; i < kKeys; ++i) parts_.Put(Key(i), "value");
  EXPECT_GE(parts_.list.leaves(), 5u);
  for (int i = 0; i < kKeys; ++i) {
    if (i % 50 != 0) parts_.Delete(Key(i));
  }
  EXPECT_LE(parts_.list.leaves(), 3u);
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(parts_.Get(Key(i)), i % 50 == 0 ? "value" : "-") << i;
  for (int i = 0; i < kKeys; ++i) parts_.Delete(Key(i));
  EXPECT_EQ(parts_.list.leaves(), 0u);
  EXPECT_EQ(parts_.writer.entries(), 0u);
  EXPECT_EQ(parts_.Problems(), "");
}

TEST_F(LeafWriterTest, NumbersGoOnFromThoseOfRecovery) {
  parts_.writer.Begin(1000, 0);
  for (uint64_t i = 1; i <= 3; ++i) {
    parts_.Put("key", "value");
    EXPECT_EQ(parts_.writer.last_sequence(), 1000 + i);
    EXPECT_EQ(parts_.pool->As<format::EntryHeader>(parts_.Find("key"))->sequence(), 1000 + i);
  }
}

TEST_F(LeafWriterTest, WithoutANumberNothingIsWrittenAndNothingIsHeld) {
  parts_.writer.Begin(format::kMaxSequence - 1, 0);
  parts_.Put("key", "value");
  const uint64_t chunk = parts_.pool->ChunkOf(parts_.Find("key"));
  const int64_t live = parts_.usage.Live(chunk);
  const Status s = parts_.writer.Put({}, "other", std::string(20000, 'v'));
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_EQ(parts_.usage.Live(chunk), live);
  EXPECT_EQ(parts_.ChunksOf(format::ChunkKind::kExtentHead), 0u);
  EXPECT_EQ(parts_.Get("other"), "-");
  EXPECT_EQ(parts_.writer.entries(), 1u);
}

TEST_F(LeafWriterTest, AConditionIsMetByTheValueThatIsThere) {
  const auto swap = [&](std::optional<Slice> expected, Slice desired) {
    const Result<bool> swapped = parts_.writer.CompareAndSwap({}, "key", expected, desired);
    EXPECT_TRUE(swapped.ok()) << swapped.status().ToString();
    return swapped.ok() && *swapped;
  };
  EXPECT_FALSE(swap("1", "2"));
  EXPECT_TRUE(swap(std::nullopt, "1"));
  EXPECT_FALSE(swap(std::nullopt, "2"));
  const std::string large(20000, 'v');
  EXPECT_TRUE(swap("1", large));
  EXPECT_FALSE(swap("1", "3"));
  EXPECT_EQ(parts_.Get("key"), large);
  EXPECT_TRUE(swap(large, "4"));
  EXPECT_EQ(parts_.Get("key"), "4");
}

TEST_F(LeafWriterTest, NoWriteIsUnderWayDuringAPause) {
  parts_.Put("key", "old");
  auto pause = std::make_unique<LeafWriter::Pause>(&parts_.writer);
  auto written =
      std::async(std::launch::async, [&] { return parts_.writer.Put({}, "key", "new"); });
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(parts_.Get("key"), "old");
  pause.reset();
  EXPECT_TRUE(written.get().ok());
  EXPECT_EQ(parts_.Get("key"), "new");
}

TEST_F(LeafWriterTest, AfterAFailureEachWriteSaysWhyItIsRefused) {
  EXPECT_TRUE(parts_.writer.Admit().ok());
  parts_.errors.Fail(Status::IOError("it failed"));
  EXPECT_EQ(parts_.writer.Admit().message(), "it failed");
  EXPECT_EQ(parts_.writer.Put({}, "key", "value").message(), "it failed");
  EXPECT_EQ(parts_.Get("key"), "-");
  parts_.closed.store(true);
  EXPECT_TRUE(parts_.writer.Put({}, "key", "value").IsClosed());
}

TEST_F(LeafWriterTest, OnPageCacheMediaASyncIsNotPromised) {
  const WriteOptions sync{.sync = true};
  for (const MediaClass media : {MediaClass::kPage, MediaClass::kCacheLine}) {
    test::LeafParts parts([&](Options* options) { options->pool.force_media_class = media; });
    const bool page = media == MediaClass::kPage;
    EXPECT_EQ(parts.writer.Put(sync, "key", "value").IsNotSupported(), page);
    EXPECT_EQ(parts.Get("key"), page ? "-" : "value");
  }
}

TEST_F(LeafWriterTest, ABatchOfOneUpdateIsAWriteAndOneOfTwoIsRefused) {
  WriteBatch batch;
  batch.Put("a", "1");
  EXPECT_TRUE(parts_.writer.Write({}, batch).ok());
  batch.Put("b", "2");
  EXPECT_TRUE(parts_.writer.Write({}, batch).IsNotSupported());
  EXPECT_EQ(parts_.Get("a"), "1");
  EXPECT_EQ(parts_.Get("b"), "-");
}

}  // namespace
}  // namespace braid::leaf
