// Tests of several trees as one sequence of refs, against a map, with all kinds of keys. Random
// tests print their seed; BRAID_SEED repeats one.
#include "index/tree_merge.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "index/entry_tree.h"
#include "support/flush_parts.h"
#include "tests/support/ordered_map.h"

namespace braid::index {
namespace {

/// Trees over entries of a pool, newest first, and what they hold: of each key the refs, newest
/// tree first, as the merge gives them.
class TreeMergeTest : public ::testing::TestWithParam<Kind> {
 protected:
  using Model = std::map<std::string, std::vector<uint64_t>>;

  /// One that is older than all others, of `count` keys by chance.
  void AddTree(uint64_t count, MakeKey make_key, Random* random) {
    parts_.NewMemTable();
    std::map<std::string, uint64_t> refs;
    for (; count > 0; --count) {
      const std::string key = make_key(*random);
      refs[key] = parts_.Put(key, "");
    }
    for (const auto& [key, ref] : refs) {
      std::vector<uint64_t>& of_key = model_[key];
      of_key.push_back(ref | (of_key.empty() ? 0 : TreeMerge::kOlder));
    }
    sources_.push_back({parts_.memtable->flush_source().entries, &passed_, refs.size()});
    last_ = std::move(refs);
  }
  /// One that is older still, as a merge of the last one leaves it half-way: it has entries of that
  /// one, and older ones of others of its keys.
  void AddMerged(Random* random) {
    const std::shared_ptr<EntryIndex> tree = NewEntryIndex(parts_.pool.get(), MemTableKind::kBTree);
    parts_.NewMemTable();
    for (const auto& [key, newer] : last_) {
      if (random->OneIn(4)) continue;
      const uint64_t ref = random->OneIn(2) ? newer : parts_.Put(key, "");
      model_[key].push_back(ref | TreeMerge::kOlder);
      tree->Upsert(key, [&](uint64_t) { return ref; });
    }
    sources_.push_back({tree, nullptr, last_.size()});
  }
  std::unique_ptr<TreeMerge> New() {
    return std::make_unique<TreeMerge>(parts_.pool.get(), sources_);
  }

  /// Some of what comes from `at` on, in parts of several sizes, and all of it if it ends.
  template <class At>
  void Expect(TreeMerge* merge, const ScanStart& start, At at, At end, Random* random) {
    std::vector<uint64_t> out(300);
    const auto cap = [&] { return sources_.size() + random->Uniform(200); };
    size_t n = merge->Seek(start, out.data(), cap());
    for (int part = 0; n != 0 && part < 20; ++part) {
      for (size_t i = 0; i < n; ++at) {
        ASSERT_NE(at, end);
        for (const uint64_t ref : at->second) ASSERT_EQ(out[i++], ref) << at->first;
        ASSERT_LE(i, n) << "a key is not divided";
      }
      n = merge->Next(out.data(), cap());
    }
    ASSERT_TRUE(merge->status().ok()) << merge->status().ToString();
    ASSERT_TRUE(n != 0 || at == end) << "it ended early";
  }
  void ExpectBothWays(TreeMerge* merge, const std::string& key, Random* random) {
    for (const bool inclusive : {true, false}) {
      Expect(merge, {true, false, inclusive, key},
             inclusive ? model_.lower_bound(key) : model_.upper_bound(key), model_.end(), random);
      Expect(
          merge, {false, false, inclusive, key},
          std::make_reverse_iterator(inclusive ? model_.upper_bound(key) : model_.lower_bound(key)),
          model_.rend(), random);
    }
    Expect(merge, {true, true, true, {}}, model_.begin(), model_.end(), random);
    Expect(merge, {false, true, true, {}}, model_.rbegin(), model_.rend(), random);
  }

  test::FlushParts parts_{test::PoolOfSmallChunks(1024)};
  std::vector<TreeSource> sources_;
  std::atomic<uint64_t> passed_{0};
  Model model_;
  std::map<std::string, uint64_t> last_;  // refs of the tree that was added last
};

TEST_P(TreeMergeTest, AnyScanAgreesWithAMap) {
  if (std::string_view(GetParam().name) == "Long") GTEST_SKIP() << "an entry has no such keys here";
  Random random(NewSeed());
  for (int round = 0; round < 12 && !HasFatalFailure(); ++round) {
    sources_.clear();
    model_.clear();
    // One tree or several, some of them empty or small.
    const uint64_t trees = 1 + random.Uniform(6);
    for (uint64_t i = 0; i < trees; ++i) {
      const uint64_t count = random.OneIn(4) ? random.Uniform(3) : random.Uniform(700);
      AddTree(count, GetParam().make, &random);
    }
    if (random.OneIn(2)) AddMerged(&random);
    const auto merge = New();
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
      ExpectBothWays(merge.get(), GetParam().make(random), &random);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, TreeMergeTest, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

class MergeOfTreesTest : public TreeMergeTest {
 protected:
  static std::string Sixteen(Random& random) { return Decimal(random.Uniform(5000), 16); }
  static std::string Sixty(Random& random) {
    return std::string(50, 'p') + Decimal(random.Uniform(5000), 10);
  }
  /// Overwrites the key of an entry.
  void Damage(uint64_t ref, char with) {
    format::EntryHeader* entry = parts_.Entry(ref & ~TreeMerge::kOlder);
    const std::string bytes(entry->key_bytes(), with);
    parts_.pool->ops().Copy(const_cast<char*>(entry->key_data()), bytes.data(), bytes.size());
  }

  Random random_{7};
};

TEST_F(MergeOfTreesTest, EntriesAreNotLookedAtWhereTheTreesKnowTheKeys) {
  for (int i = 0; i < 3; ++i) AddTree(1000, Sixteen, &random_);
  for (const auto& [key, refs] : model_) {
    for (const uint64_t ref : refs) Damage(ref, 'x');
  }
  const auto merge = New();
  Expect(merge.get(), {true, true, true, {}}, model_.begin(), model_.end(), &random_);
  Expect(merge.get(), {false, true, true, {}}, model_.rbegin(), model_.rend(), &random_);
}

TEST_F(MergeOfTreesTest, KeysThatLeadBackAreDamageAndTheWalkEnds) {
  for (const size_t trees : {size_t{1}, size_t{3}}) {
    sources_.clear();
    model_.clear();
    for (size_t i = 0; i < trees; ++i) AddTree(1500, Sixty, &random_);
    for (const auto& [key, refs] : model_) {
      if (key > Sixty(random_)) {
        for (const uint64_t ref : refs) Damage(ref, 'a');
      }
    }
    const auto merge = New();
    std::vector<uint64_t> out(100);
    size_t calls = 0;
    size_t n = merge->Seek({true, true, true, {}}, out.data(), out.size());
    for (; n != 0 && calls < 10000; ++calls) n = merge->Next(out.data(), out.size());
    EXPECT_EQ(n, 0u);
    EXPECT_TRUE(merge->status().IsCorruption()) << merge->status().ToString();
    EXPECT_EQ(merge->Next(out.data(), out.size()), 0u);
  }
}

TEST_F(MergeOfTreesTest, EmptyTreesDoNotCount) {
  AddTree(0, Sixteen, &random_);
  AddTree(1000, Sixteen, &random_);
  AddTree(0, Sixteen, &random_);
  const auto merge = New();
  std::vector<uint64_t> out(80);
  // As of a single tree: all that was asked for.
  EXPECT_EQ(merge->Seek({true, true, true, {}}, out.data(), 80), 80u);
  Expect(merge.get(), {true, true, true, {}}, model_.begin(), model_.end(), &random_);
}

TEST_F(MergeOfTreesTest, OneEntryInTwoTreesIsOneKey) {
  for (const MakeKey make : {Sixteen, Sixty}) {
    sources_.clear();
    model_.clear();
    for (int i = 0; i < 2; ++i) AddTree(1000, make, &random_);
    AddMerged(&random_);
    const auto merge = New();
    Expect(merge.get(), {true, true, true, {}}, model_.begin(), model_.end(), &random_);
    Expect(merge.get(), {false, true, true, {}}, model_.rbegin(), model_.rend(), &random_);
  }
}

TEST_F(MergeOfTreesTest, WhatWasPassedIsTold) {
  for (int i = 0; i < 2; ++i) AddTree(1000, Sixteen, &random_);
  const auto merge = New();
  std::vector<uint64_t> out(100);
  uint64_t given = merge->Seek({true, true, true, {}}, out.data(), out.size());
  merge->TellPassed(given);
  EXPECT_EQ(passed_.load(), 0u) << "none of them";
  given = merge->Next(out.data(), out.size());
  merge->TellPassed(10);
  EXPECT_LE(passed_.load(), given - 10);
  EXPECT_GE(passed_.load(), given - 12) << "shared out";
  merge->TellPassed(0);
  EXPECT_LE(passed_.load(), given - 10) << "once";
}

}  // namespace
}  // namespace braid::index
