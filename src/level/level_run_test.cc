// Lists that lie apart, read as one run: each key in its list, cursors over their borders.
#include "level/level_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/store_parts.h"

namespace braid::level {
namespace {

/// Lists of the keys c, e, g; k, m; q, s, u.
class LevelRunTest : public ::testing::Test {
 protected:
  LevelRunTest() {
    for (const char* keys : {"ceg", "km", "qsu"}) {
      for (const char* key = keys; *key != 0; ++key) parts_.Put({key, 1}, std::string(3, *key));
      parts_.Flush();
    }
    Level level = parts_.state().version->l0();
    for (const auto& table : level) EXPECT_TRUE(table->AsList()->range().is_known);
    run_ = std::make_unique<LevelRun>(Level{level[2], level[1], level[0]});
  }
  static std::string All(index::Cursor* cursor, bool forward) {
    std::string keys;
    for (; cursor->Valid(); forward ? cursor->Next() : cursor->Prev()) keys += cursor->item().key;
    EXPECT_TRUE(cursor->status().ok());
    return keys;
  }

  test::StoreParts parts_{[](Options* options) { options->log.kind = LogKind::kIndexUnified; }};
  std::unique_ptr<LevelRun> run_;
  const index::ReadView view_{.sequence = 100};
};

TEST_F(LevelRunTest, LookupsGoToTheListOfTheKey) {
  EXPECT_EQ(run_->entries(), 8u);
  for (char c = 'a'; c <= 'z'; ++c) {
    const std::string key(1, c);
    const index::LookupKey sought{key, base::Hash64(key)};
    const bool there = std::string("cegkmqsu").find(c) != std::string::npos;
    const index::LookupResult found = run_->Get(sought, view_);
    EXPECT_EQ(found.state == index::LookupResult::State::kFound, there) << c;
    index::LookupResult many;
    run_->GetMany(&sought, 1, view_, &many);
    EXPECT_EQ(many.state, found.state) << c;
  }
}

TEST_F(LevelRunTest, CursorsGoOverBorders) {
  const std::unique_ptr<index::Cursor> cursor = run_->NewCursor(view_);
  cursor->SeekToFirst();
  EXPECT_EQ(All(cursor.get(), true), "cegkmqsu");
  cursor->SeekToLast();
  EXPECT_EQ(All(cursor.get(), false), "usqmkgec");
}

TEST_F(LevelRunTest, SeeksFindTheNeighbourInWhicheverListItIs) {
  const std::string keys = "cegkmqsu";
  const std::unique_ptr<index::Cursor> cursor = run_->NewCursor(view_);
  for (char c = 'a'; c <= 'z'; ++c) {
    const size_t from = keys.find_first_of(
        std::string("abcdefghijklmnopqrstuvwxyz").substr(static_cast<size_t>(c - 'a')));
    cursor->SeekGE({&c, 1});
    EXPECT_EQ(All(cursor.get(), true), from == std::string::npos ? "" : keys.substr(from)) << c;
    std::string before;
    for (const char key : keys) {
      if (key <= c) before.insert(before.begin(), key);
    }
    cursor->SeekLE({&c, 1});
    EXPECT_EQ(All(cursor.get(), false), before) << c;
  }
}

TEST_F(LevelRunTest, ManyStepsAtATime) {
  const std::unique_ptr<index::Cursor> cursor = run_->NewCursor(view_);
  for (size_t cap = 1; cap < 10; ++cap) {
    cursor->SeekToFirst();
    std::string keys(cursor->item().key);
    std::vector<index::CursorItem> items(cap);
    while (cursor->Valid()) {
      const size_t n = cursor->Run(true, items.data(), cap);
      for (size_t i = 0; i < n; ++i) keys += items[i].key;
      EXPECT_TRUE(n == cap || !cursor->Valid());
    }
    EXPECT_EQ(keys, "cegkmqsu") << cap;
  }
}

}  // namespace
}  // namespace braid::level
