// Tests of what newer tables are asked: which versions count, and which tables are asked at all.
#include "index/newer_versions.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/flush_parts.h"

namespace braid::index {
namespace {

std::string KeyOf(int i) {
  std::string digits = std::to_string(1000 + i);
  return "k" + digits.substr(1);
}

class NewerVersionsTest : public ::testing::Test {
 protected:
  /// Puts keys begin, begin + step ..., below `end`, into a memtable of its own, a newer table.
  std::shared_ptr<EntryIndex> Table(int begin, int end, int step = 1) {
    parts_.NewMemTable();
    for (int i = begin; i < end; i += step) {
      places_[static_cast<size_t>(i)] = parts_.Put(KeyOf(i), "value");
    }
    return parts_.memtable->flush_source().entries;
  }
  /// Of keys 0 to 99.
  std::vector<uint64_t> Find(NewerVersions::Horizon horizon) {
    NewerVersions newer(parts_.pool.get(), [&] {
      ++looks_;
      return horizon;
    });
    return FindWith(&newer);
  }
  std::vector<uint64_t> FindWith(NewerVersions* newer) {
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) keys.push_back(KeyOf(i));
    std::vector<uint64_t> sequences;
    newer->Find(std::vector<std::string_view>(keys.begin(), keys.end()), &sequences);
    EXPECT_EQ(sequences.size(), keys.size());
    return sequences;
  }
  uint64_t SequenceOf(int i) {
    return parts_.Entry(places_.at(static_cast<size_t>(i)))->sequence();
  }

  test::FlushParts parts_;
  std::vector<uint64_t> places_ = std::vector<uint64_t>(200);
  int looks_ = 0;
};

TEST_F(NewerVersionsTest, TheNumberOfAVersionIsFoundWhereverItIs) {
  const auto evens = Table(0, 100, 2);
  const auto few = Table(1, 100, 3);
  const std::vector<uint64_t> found = Find({{few, evens}, {}});
  for (int i = 0; i < 100; ++i) {
    const bool is_there = i % 2 == 0 || i % 3 == 1;
    EXPECT_EQ(found[static_cast<size_t>(i)], is_there ? SequenceOf(i) : kLatest) << i;
  }
}

TEST_F(NewerVersionsTest, WhatIsObsoleteDoesNotCount) {
  const auto table = Table(0, 100);
  parts_.pool->ops().StoreByte(parts_.Entry(places_[7])->state_byte(), format::kStateObsolete);
  const std::vector<uint64_t> found = Find({{table}, {}});
  EXPECT_EQ(found[7], kLatest);
  EXPECT_EQ(found[8], SequenceOf(8));
}

TEST_F(NewerVersionsTest, ATableWithFewOfTheKeysIsNotAskedForAll) {
  const auto few = Table(0, 100, 10);
  const std::vector<uint64_t> found = Find({{few}, {}});
  EXPECT_EQ(found, std::vector<uint64_t>(100, kLatest));
}

TEST_F(NewerVersionsTest, ATableThatIsGivenUpIsNotKeptAndNotAsked) {
  NewerVersions::Horizon horizon;
  {
    auto table = Table(0, 100);
    horizon.tables.emplace_back(table);
    parts_.NewMemTable();
  }
  horizon.tables.emplace_back(std::shared_ptr<const EntryIndex>());
  EXPECT_TRUE(horizon.tables[0].expired());
  EXPECT_EQ(Find(horizon), std::vector<uint64_t>(100, kLatest));
}

TEST_F(NewerVersionsTest, ViewsAreThoseOfTheLastLook) {
  const auto table = Table(0, 100);
  NewerVersions::Horizon horizon{{table}, {10}};
  NewerVersions newer(parts_.pool.get(), [&] {
    ++looks_;
    return horizon;
  });
  FindWith(&newer);
  EXPECT_TRUE(newer.IsNeeded(9, 11));
  EXPECT_FALSE(newer.IsNeeded(9, 10));
  EXPECT_FALSE(newer.IsNeeded(11, 12));
  horizon.views = {};
  for (int i = 0; i < 8; ++i) FindWith(&newer);
  EXPECT_EQ(looks_, 2);
  EXPECT_FALSE(newer.IsNeeded(9, 11));
}

}  // namespace
}  // namespace braid::index
