#include "engine/reader.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "pmem/epoch.h"
#include "support/store_parts.h"

namespace braid::engine {
namespace {

/// Versions of a few keys in every kind of table.
class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() {
    for (const std::string_view key : {"a", "b", "c", "d"}) parts_.Put(key, "in L1");
    parts_.Flush();
    parts_.Merge();
    parts_.Put("b", "in L0");
    parts_.Delete("c");
    parts_.Flush();
    parts_.Put("e", "sealed");
    parts_.Seal();
    parts_.Put("a", "active");
  }

  test::StoreParts parts_;
};

TEST_F(ReaderTest, TheNewestTableThatKnowsTheKeyAnswers) {
  EXPECT_EQ(parts_.Get("a"), "active");
  EXPECT_EQ(parts_.Get("b"), "in L0");
  EXPECT_EQ(parts_.Get("c"), "-");
  EXPECT_EQ(parts_.Get("d"), "in L1");
  EXPECT_EQ(parts_.Get("e"), "sealed");
  EXPECT_EQ(parts_.Get("f"), "-");
}

TEST_F(ReaderTest, ManyKeysAreFoundAsOneIs) {
  const std::array<Slice, 7> keys = {"f", "e", "d", "c", "b", "a", "a"};
  std::array<std::string, 7> values;
  std::array<Status, 7> statuses;
  parts_.reader.MultiGet({}, keys, values.data(), statuses.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string found = statuses[i].ok() ? values[i] : "-";
    EXPECT_EQ(found, parts_.Get(keys[i])) << keys[i];
    EXPECT_TRUE(statuses[i].ok() || statuses[i].IsNotFound()) << statuses[i].ToString();
  }
}

TEST_F(ReaderTest, ADeleteIsAnAnswerToWhoAsksForVersions) {
  const pmem::EpochGuard guard;
  Status status;
  const index::ReadView now = parts_.reader.ViewOfNow();
  const format::EntryHeader* version = parts_.reader.FindVersion("c", now, &status);
  ASSERT_NE(version, nullptr) << status.ToString();
  EXPECT_EQ(version->op(), format::EntryOp::kDelete);
  EXPECT_EQ(parts_.reader.Find("c", now, &status), nullptr);
  EXPECT_EQ(parts_.reader.FindVersion("f", now, &status), nullptr);
  EXPECT_TRUE(status.ok());
}

TEST_F(ReaderTest, AllTablesTogetherAreInOrder) {
  const pmem::EpochGuard guard;
  level::MergingIterator merged = parts_.reader.MergeOf(parts_.state(), parts_.reader.ViewOfNow());
  std::string forwards;
  for (merged.SeekToFirst(); merged.Valid(); merged.Next()) forwards += merged.key();
  EXPECT_EQ(forwards, "abde");
  std::string backwards;
  for (merged.SeekToLast(); merged.Valid(); merged.Prev()) backwards += merged.key();
  EXPECT_EQ(backwards, "edba");
  merged.SeekGE("c");
  ASSERT_TRUE(merged.Valid());
  EXPECT_EQ(merged.key(), "d");
  merged.SeekLE("c");
  ASSERT_TRUE(merged.Valid());
  EXPECT_EQ(merged.key(), "b");
  EXPECT_TRUE(merged.status().ok());
}

TEST_F(ReaderTest, ASnapshotSeesWhatItSawWhateverMovesSince) {
  const std::shared_ptr<const Snapshot> snapshot = parts_.reader.GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  parts_.Delete("a");
  parts_.Put("c", "again");
  parts_.Flush();
  while (!parts_.state().version->l0.empty()) parts_.Merge();
  ReadOptions then;
  then.snapshot = snapshot.get();
  std::string value;
  ASSERT_TRUE(parts_.reader.Get(then, "a", &value).ok());
  EXPECT_EQ(value, "active");
  EXPECT_TRUE(parts_.reader.Get(then, "c", &value).IsNotFound());
  EXPECT_EQ(parts_.Get("a"), "-");
  EXPECT_EQ(parts_.Get("c"), "again");
}

TEST_F(ReaderTest, ASnapshotOfAnotherStoreIsRefused) {
  test::StoreParts other;
  const std::shared_ptr<const Snapshot> snapshot = other.reader.GetSnapshot();
  ReadOptions options;
  options.snapshot = snapshot.get();
  std::string value;
  EXPECT_TRUE(parts_.reader.Get(options, "a", &value).IsInvalidArgument());
  const std::array<Slice, 1> keys = {"a"};
  Status status;
  parts_.reader.MultiGet(options, keys, &value, &status);
  EXPECT_TRUE(status.IsInvalidArgument());
}

TEST_F(ReaderTest, AClosedStoreIsNotRead) {
  parts_.closed.store(true);
  std::string value;
  EXPECT_TRUE(parts_.reader.Get({}, "a", &value).IsClosed());
  const std::array<Slice, 2> keys = {"a", "b"};
  std::array<std::string, 2> values;
  std::array<Status, 2> statuses;
  parts_.reader.MultiGet({}, keys, values.data(), statuses.data());
  EXPECT_TRUE(statuses[0].IsClosed());
  EXPECT_TRUE(statuses[1].IsClosed());
}

TEST_F(ReaderTest, ADamagedValueIsNotReturned) {
  {
    const pmem::EpochGuard guard;
    Status status;
    const format::EntryHeader* entry = parts_.reader.Find("d", parts_.reader.ViewOfNow(), &status);
    ASSERT_NE(entry, nullptr);
    auto* at = reinterpret_cast<uint8_t*>(const_cast<char*>(entry->value().data()));
    parts_.pool->ops().StoreByte(at, static_cast<uint8_t>(*at ^ 1));
  }
  std::string value = "as it was";
  EXPECT_TRUE(parts_.reader.Get({}, "d", &value).IsCorruption());
  EXPECT_EQ(value, "as it was");
}

}  // namespace
}  // namespace braid::engine
