// The wB+-tree against std::map, its costs as section 3.3 of the NV-Skiplist paper counts them, and
// its reopening.
#include "bench/wbtree/wb_tree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/file_media.h"
#include "support/environment.h"
#include "support/temp_folder.h"

namespace braid::bench::wbtree {
namespace {

using Model = std::map<uint64_t, uint64_t>;
using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

WbTreeOptions SmallOptions() {
  WbTreeOptions options;
  options.initial_bytes = 1 << 20;
  options.growth_bytes = 1 << 20;
  return options;
}

Result<std::unique_ptr<WbTree>> OpenAt(const std::string& path, const WbTreeOptions& options) {
  PoolOptions pool;
  pool.force_media_class = MediaClass::kCacheLine;
  Result<std::unique_ptr<media::Media>> media = media::OpenFileMedia(path, pool, true);
  if (!media.ok()) return media.status();
  return WbTree::Open(std::move(media).value(), options);
}

std::unique_ptr<WbTree> MustOpen(const std::string& path,
                                 const WbTreeOptions& options = SmallOptions()) {
  Result<std::unique_ptr<WbTree>> tree = OpenAt(path, options);
  EXPECT_TRUE(tree.ok()) << tree.status().ToString();
  return tree.ok() ? std::move(tree).value() : nullptr;
}

Pairs Content(const WbTree& tree, uint64_t first = 0, size_t most = ~size_t{0}) {
  Pairs pairs;
  tree.ScanFrom(first, [&](uint64_t key, uint64_t value) {
    if (pairs.size() == most) return false;
    pairs.emplace_back(key, value);
    return true;
  });
  return pairs;
}

void ExpectSame(const WbTree& tree, const Model& model) {
  EXPECT_EQ(Content(tree), Pairs(model.begin(), model.end()));
  Pairs backward;
  tree.ScanBackward([&](uint64_t key, uint64_t value) {
    backward.emplace_back(key, value);
    return true;
  });
  EXPECT_EQ(backward, Pairs(model.rbegin(), model.rend()));
  const Status verified = tree.Verify();
  EXPECT_TRUE(verified.ok()) << verified.ToString();
}

/// Random operations on tree and model, reopening now and then.
void RunModel(uint64_t seed, uint64_t key_space, bool update_in_place) {
  const test::TempFolder folder;
  WbTreeOptions options = SmallOptions();
  options.update_in_place = update_in_place;
  std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"), options);
  ASSERT_NE(tree, nullptr);
  test::Random random(seed);
  Model model;
  const uint64_t steps = test::Sized(40'000, 400'000);
  for (uint64_t step = 0; step < steps; ++step) {
    // Small numbers, large ones and the ends of the key space.
    uint64_t key = random.Below(key_space);
    if (key % 3 == 1) key = ~key;
    if (key % 3 == 2) key <<= 32;
    const uint64_t kind = random.Below(100);
    if (kind < 55) {
      ASSERT_TRUE(tree->Put(key, step).ok());
      model[key] = step;
    } else if (kind < 80) {
      EXPECT_EQ(tree->Delete(key), model.erase(key) == 1);
    } else if (kind < 99) {
      uint64_t value = 0;
      const auto at = model.find(key);
      ASSERT_EQ(tree->Get(key, &value), at != model.end());
      if (at != model.end()) {
        ASSERT_EQ(value, at->second);
      }
    } else {
      Pairs expected;
      for (auto at = model.lower_bound(key); at != model.end() && expected.size() < 100; ++at) {
        expected.emplace_back(*at);
      }
      ASSERT_EQ(Content(*tree, key, 100), expected);
    }
    if (random.Below(steps / 3) == 0) {
      tree.reset();
      tree = MustOpen(folder.Sub("t"), options);
      ASSERT_NE(tree, nullptr);
      ExpectSame(*tree, model);
    }
  }
  ExpectSame(*tree, model);
}

TEST(WbTreeTest, DoesWhatAMapDoes) {
  SCOPED_TRACE(test::ReplayLine());
  RunModel(test::BaseSeed(), 20'000, false);
}

TEST(WbTreeTest, DoesWhatAMapDoesWithFewKeys) {
  SCOPED_TRACE(test::ReplayLine());
  RunModel(test::BaseSeed() + 1, 300, false);
}

TEST(WbTreeTest, DoesWhatAMapDoesWithUpdatesInPlace) {
  SCOPED_TRACE(test::ReplayLine());
  RunModel(test::BaseSeed() + 2, 2'000, true);
}

TEST(WbTreeTest, KeepsKeysThatComeInOrderOrAgainstIt) {
  for (const bool ascending : {true, false}) {
    const test::TempFolder folder;
    const std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"));
    ASSERT_NE(tree, nullptr);
    Model model;
    for (uint64_t i = 0; i < 10'000; ++i) {
      const uint64_t key = ascending ? i : ~i;
      ASSERT_TRUE(tree->Put(key, i).ok());
      model[key] = i;
    }
    ExpectSame(*tree, model);
  }
}

TEST(WbTreeTest, EveryChangeCostsTheLinesAndFencesThatItsHeadNames) {
  const test::TempFolder folder;
  const std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"));
  ASSERT_NE(tree, nullptr);
  const auto cost = [&](auto&& change) {
    const WbTreeStatistics before = tree->Statistics();
    change();
    const WbTreeStatistics after = tree->Statistics();
    return std::pair(after.lines_flushed - before.lines_flushed, after.fences - before.fences);
  };
  const auto put = [&](uint64_t key) {
    return [&tree, key] { ASSERT_TRUE(tree->Put(key, 1).ok()); };
  };
  using Cost = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(cost(put(0)), Cost(4, 3));
  EXPECT_EQ(cost(put(0)), Cost(4, 3));  // an update
  EXPECT_EQ(cost([&] { EXPECT_TRUE(tree->Delete(0)); }), Cost(3, 3));
  EXPECT_EQ(cost([&] { EXPECT_FALSE(tree->Delete(0)); }), Cost(0, 0));
  for (uint64_t key = 0; key < kLeafEntries; ++key) put(key)();
  EXPECT_EQ(tree->Statistics().splits, 0u);
  // 2k + 2 lines for the split, where k is the lines that the new leaf's 32 entries take.
  const uint64_t k = (LeafBytes(32) + media::kLineBytes - 1) / media::kLineBytes;
  EXPECT_EQ(cost(put(kLeafEntries)), Cost(2 * k + 2 + 4, 3 + 3));
  EXPECT_EQ(tree->Statistics().splits, 1u);
}

TEST(WbTreeTest, AnUpdateInPlaceCostsOneLineAndOneFence) {
  const test::TempFolder folder;
  WbTreeOptions options = SmallOptions();
  options.update_in_place = true;
  const std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"), options);
  ASSERT_NE(tree, nullptr);
  ASSERT_TRUE(tree->Put(7, 1).ok());
  const WbTreeStatistics before = tree->Statistics();
  ASSERT_TRUE(tree->Put(7, 2).ok());
  const WbTreeStatistics after = tree->Statistics();
  EXPECT_EQ(after.lines_flushed - before.lines_flushed, 1u);
  EXPECT_EQ(after.fences - before.fences, 1u);
  uint64_t value = 0;
  EXPECT_TRUE(tree->Get(7, &value));
  EXPECT_EQ(value, 2u);
}

TEST(WbTreeTest, AFullPoolRefusesTheSplitAndKeepsWhatItHas) {
  const test::TempFolder folder;
  PoolOptions pool;
  WbTreeOptions options = SmallOptions();
  options.growth_bytes = uint64_t{1} << 58;  // more than any device has
  Result<std::unique_ptr<WbTree>> tree = OpenAt(folder.Sub("t"), options);
  ASSERT_TRUE(tree.ok()) << tree.status().ToString();
  Status status;
  Model model;
  for (uint64_t key = 0; status.ok(); ++key) {
    status = (*tree)->Put(key, key);
    if (status.ok()) model[key] = key;
  }
  EXPECT_GT(model.size(), 10'000u);
  ExpectSame(**tree, model);
  EXPECT_TRUE((*tree)->Delete(0));
  EXPECT_TRUE((*tree)->Put(0, 0).ok());
}

TEST(WbTreeTest, DamageIsCorruptionAndNamesItsPlace) {
  struct Damage {
    const char* what;
    uint64_t offset;
  };
  for (const Damage& damage :
       {Damage{"header", 8}, Damage{"slots", kLeavesOffset + offsetof(Leaf, slots)},
        Damage{"next", kLeavesOffset + offsetof(Leaf, next) + 4},
        Damage{"low", kLeavesOffset + offsetof(Leaf, low)}}) {
    SCOPED_TRACE(damage.what);
    const test::TempFolder folder;
    {
      const std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"));
      ASSERT_NE(tree, nullptr);
      for (uint64_t key = 0; key < 1000; ++key) ASSERT_TRUE(tree->Put(key, key).ok());
    }
    const std::string file = folder.Sub("t") + "/segment-000000";
    std::FILE* segment = std::fopen(file.c_str(), "r+b");
    ASSERT_NE(segment, nullptr);
    ASSERT_EQ(std::fseek(segment, static_cast<long>(damage.offset), SEEK_SET), 0);
    ASSERT_EQ(std::fputc(0x5A, segment), 0x5A);
    ASSERT_EQ(std::fclose(segment), 0);
    const Result<std::unique_ptr<WbTree>> tree = OpenAt(folder.Sub("t"), SmallOptions());
    ASSERT_FALSE(tree.ok());
    EXPECT_TRUE(tree.status().IsCorruption()) << tree.status().ToString();
    EXPECT_NE(tree.status().ToString().find("segment-000000"), std::string::npos);
  }
}

TEST(WbTreeTest, ThreadsSeeEachKeyOnceAndInOrderWhileLeavesSplit) {
  SCOPED_TRACE(test::ReplayLine());
  const test::TempFolder folder;
  const std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"));
  ASSERT_NE(tree, nullptr);
  constexpr uint64_t kThreads = 4;
  const uint64_t keys = test::Sized(20'000, 400'000);
  // Key k is written by thread k % kThreads only, so each thread knows what its keys hold; the
  // neighbours of a key, and its leaf, belong to others.
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  std::vector<Model> models(kThreads);
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(test::BaseSeed() + t);
      Model& mine = models[t];
      for (uint64_t i = 0; i < keys; ++i) {
        const uint64_t key = random.Below(keys) * kThreads + t;
        uint64_t value = 0;
        const auto at = mine.find(key);
        const bool found = tree->Get(key, &value);
        if (found != (at != mine.end()) || (found && value != at->second)) ++wrong;
        if (random.Below(4) == 0) {
          if (tree->Delete(key) != (mine.erase(key) == 1)) ++wrong;
        } else {
          if (!tree->Put(key, i).ok()) ++wrong;
          mine[key] = i;
        }
        if (random.Below(200) == 0) {
          uint64_t last = 0;
          uint64_t seen = 0;
          tree->ScanFrom(key, [&](uint64_t there, uint64_t) {
            if (there < key || (seen > 0 && there <= last)) ++wrong;
            last = there;
            return ++seen < 300;
          });
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  Model all;
  for (const Model& model : models) all.insert(model.begin(), model.end());
  ExpectSame(*tree, all);
  EXPECT_GT(tree->Statistics().splits, 1u);
}

TEST(WbTreeTest, UpdatesOfOneKeyByManyThreadsAreNeverSeenToGoBack) {
  const test::TempFolder folder;
  const std::unique_ptr<WbTree> tree = MustOpen(folder.Sub("t"));
  ASSERT_NE(tree, nullptr);
  ASSERT_TRUE(tree->Put(1, 0).ok());
  const uint64_t updates = test::Sized(20'000, 200'000);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0};
  std::thread reader([&] {
    uint64_t last = 0;
    while (!done.load()) {
      uint64_t value = 0;
      if (!tree->Get(1, &value) || value < last) ++wrong;
      last = value;
    }
  });
  std::thread neighbour([&] {
    for (uint64_t i = 0; !done.load(); ++i) {
      if (!tree->Put(2 + i % 40, i).ok()) ++wrong;
    }
  });
  for (uint64_t i = 1; i <= updates; ++i) ASSERT_TRUE(tree->Put(1, i).ok());
  done.store(true);
  reader.join();
  neighbour.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace braid::bench::wbtree
