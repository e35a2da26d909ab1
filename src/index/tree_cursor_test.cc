// Tests of one cursor over several trees: of each key it shows the newest version that its view
// sees, in whichever tree that is. Random tests print their seed; BRAID_SEED repeats one.
#include "index/tree_cursor.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "support/flush_parts.h"
#include "tests/support/ordered_map.h"

namespace braid::index {
namespace {

class TreeCursorTest : public ::testing::Test {
 protected:
  /// A tree that is newer than all others.
  void AddTree(uint64_t writes, uint64_t keys) {
    parts_.NewMemTable();
    for (; writes > 0; --writes) {
      const std::string key = Decimal(random_.Uniform(keys), 16);
      const bool is_delete = random_.OneIn(5);
      const uint64_t place = is_delete ? parts_.Delete(key) : parts_.Put(key, "value");
      written_[key].push_back(place);
    }
    const auto tree = parts_.memtable->flush_source().entries;
    sources_.insert(sources_.begin(), TreeSource{tree, nullptr, tree->size()});
  }

  /// Key and place of what a view of `sequence` sees.
  std::map<std::string, uint64_t> SeenBy(uint64_t sequence) {
    std::map<std::string, uint64_t> seen;
    for (const auto& [key, places] : written_) {
      for (const uint64_t place : places) {
        if (parts_.Entry(place)->sequence() <= sequence) seen[key] = place;
      }
    }
    return seen;
  }

  /// What the cursor comes to from where it stands, a step or a run at a time.
  std::vector<std::pair<std::string, uint64_t>> Rest(Cursor* cursor, bool forward) {
    std::vector<std::pair<std::string, uint64_t>> rest;
    const auto add = [&](const CursorItem& item) {
      rest.emplace_back(item.key, parts_.pool->OffsetOf(item.entry));
    };
    if (cursor->Valid()) add(cursor->item());
    CursorItem run[40];
    while (cursor->Valid()) {
      if (random_.OneIn(2)) {
        forward ? cursor->Next() : cursor->Prev();
        if (cursor->Valid()) add(cursor->item());
        continue;
      }
      const size_t n = cursor->Run(forward, run, 1 + random_.Uniform(40));
      for (size_t i = 0; i < n; ++i) add(run[i]);
    }
    EXPECT_TRUE(cursor->status().ok()) << cursor->status().ToString();
    return rest;
  }

  test::FlushParts parts_{test::PoolOfSmallChunks(1024)};
  std::vector<TreeSource> sources_;                       // newest first
  std::map<std::string, std::vector<uint64_t>> written_;  // places, oldest first
  Random random_{NewSeed()};
};

TEST_F(TreeCursorTest, WhatTheViewDoesNotSeeGivesWayToAnOlderTree) {
  constexpr uint64_t kKeys = 600;
  for (const uint64_t writes : {1200, 400, 20, 300}) AddTree(writes, kKeys);
  for (int round = 0; round < 40; ++round) {
    const uint64_t sequence = 1 + random_.Uniform(parts_.sequence.load());
    const std::map<std::string, uint64_t> seen = SeenBy(sequence);
    const auto cursor = NewTreeCursor(parts_.pool.get(), sources_, ReadView{sequence});
    const std::string key = Decimal(random_.Uniform(kKeys), 16);
    const auto from = seen.lower_bound(key);
    cursor->SeekGE(key);
    ASSERT_EQ(Rest(cursor.get(), true),
              (std::vector<std::pair<std::string, uint64_t>>(from, seen.end())))
        << "from " << key << " at " << sequence;
    const auto behind = seen.upper_bound(key);
    cursor->SeekLE(key);
    ASSERT_EQ(Rest(cursor.get(), false), (std::vector<std::pair<std::string, uint64_t>>(
                                             std::make_reverse_iterator(behind), seen.rend())))
        << "down from " << key << " at " << sequence;
  }
}

}  // namespace
}  // namespace braid::index
