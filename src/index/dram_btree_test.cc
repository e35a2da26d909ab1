// Tests of DramBTree by one thread, against std::map. Several threads:
// tests/concurrency/dram_map_stress_test.cc.
#include "index/dram_btree.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "index/entry_index.h"
#include "tests/support/environment.h"
#include "tests/support/ordered_map.h"

namespace braid::index {
namespace {

using TreeHarness = Harness<DramBTree<EntryKey>>;

class DramBTreeKinds : public testing::TestWithParam<Kind> {};

TEST_P(DramBTreeKinds, BehavesLikeAnOrderedMap) {
  BehavesLikeAnOrderedMap<DramBTree<EntryKey>>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Keys, DramBTreeKinds, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(DramBTreeTest, AnEmptyTreeFindsNothingAndTakesOneLeaf) {
  DramBTree<EntryKey> tree;
  uint64_t refs[4];
  EXPECT_EQ(tree.Find("a"), 0u);
  EXPECT_EQ(tree.FindFloor("a"), 0u);
  EXPECT_EQ(tree.ScanForward("", true, refs, 4), 0u);
  EXPECT_EQ(tree.ScanBackward("a", true, refs, 4), 0u);
  EXPECT_EQ(tree.ScanFromStart(refs, 4), 0u);
  EXPECT_EQ(tree.ScanFromEnd(refs, 4), 0u);
  EXPECT_FALSE(tree.EraseIf("a", [](uint64_t) { return true; }));
  EXPECT_EQ(tree.size(), 0u);
  EXPECT_LT(tree.reserved_bytes(), 1500u);
  EXPECT_LE(tree.memory_bytes(), tree.reserved_bytes());
}

TEST(DramBTreeTest, TheEmptyKeyIsTheFirst) {
  TreeHarness harness;
  for (int i = 0; i < 500; ++i) harness.Put(Decimal(static_cast<uint64_t>(i), 5), 0);
  harness.Put("", 1);
  harness.CheckReads("");
  uint64_t ref = 0;
  ASSERT_EQ(harness.tree().ScanFromStart(&ref, 1), 1u);
  EXPECT_EQ(EntryOf(ref).key, "");
  harness.CheckAll();
}

TEST(DramBTreeTest, KeysThatDifferOnlyInTrailingZerosStayApart) {
  TreeHarness harness;
  for (size_t zeros = 0; zeros < 200; ++zeros) {
    harness.Put("a" + std::string(zeros, '\0'), zeros);
    harness.Put("b" + std::string(199 - zeros, '\0'), zeros);
  }
  for (size_t zeros = 0; zeros < 201; ++zeros) harness.CheckReads("a" + std::string(zeros, '\0'));
  harness.CheckAll();
}

TEST(DramBTreeTest, OrderedLoadsFillTheirLeaves) {
  for (const bool ascending : {true, false}) {
    TreeHarness harness;
    constexpr uint64_t kKeys = 100000;
    for (uint64_t i = 0; i < kKeys; ++i) {
      harness.Put(BigEndian(ascending ? i : kKeys - i), i);
    }
    harness.CheckAll();
    // 17 bytes a slot of a full leaf, and less than one byte a key of inner nodes.
    EXPECT_LT(harness.tree().memory_bytes(), kKeys * 18) << "ascending: " << ascending;
  }
}

// A tree of keys that were appended is the one that inserts in their order make.
TEST(DramBTreeTest, AppendedKeysMakeTheSameTree) {
  for (const Kind& kind : kKinds) {
    Random random(7);
    std::map<std::string, Entry> entries;
    for (int i = 0; i < 3'000; ++i) {
      const std::string key = kind.make(random);
      entries[key] = {key, static_cast<uint64_t>(i)};
    }
    DramBTree<EntryKey> appended;
    DramBTree<EntryKey> inserted;
    std::vector<uint64_t> expected;
    for (const auto& [key, entry] : entries) {
      const uint64_t ref = reinterpret_cast<uint64_t>(&entry);
      expected.push_back(ref);
      appended.Append(key, ref);
      inserted.Upsert(key, [ref](uint64_t) { return ref; });
    }
    EXPECT_EQ(appended.size(), expected.size()) << kind.name;
    EXPECT_EQ(appended.memory_bytes(), inserted.memory_bytes()) << kind.name;
    std::vector<uint64_t> found(expected.size() + 1);
    found.resize(appended.ScanFromStart(found.data(), found.size()));
    EXPECT_EQ(found, expected) << kind.name;
    for (const auto& [key, entry] : entries) {
      ASSERT_EQ(appended.Find(key), reinterpret_cast<uint64_t>(&entry)) << kind.name;
    }
  }
}

// A caller with no readers: what has given way is used again at once.
void Reclaim(DramBTree<EntryKey>* tree) { tree->Reuse(tree->TakeRetired()); }

TEST(DramBTreeTest, EmptiedLeavesGiveWayAndTheirRoomIsFilledAgain) {
  TreeHarness harness;
  for (uint64_t i = 0; i < 5000; ++i) harness.Put(BigEndian(i), i);
  const size_t bytes = harness.tree().memory_bytes();
  for (uint64_t i = 10; i < 4990; ++i) harness.Erase(BigEndian(i), true);
  harness.CheckReads(BigEndian(2000));
  harness.CheckReads(BigEndian(9));
  harness.CheckReads(BigEndian(4990));
  harness.CheckAll();
  Reclaim(&harness.tree());
  EXPECT_LT(harness.tree().memory_bytes(), bytes / 10);
  const size_t reserved = harness.tree().reserved_bytes();
  for (uint64_t i = 10; i < 4990; ++i) harness.Put(BigEndian(i), i);
  harness.CheckAll();
  EXPECT_LT(harness.tree().memory_bytes(), 2 * bytes);
  EXPECT_LE(harness.tree().reserved_bytes(), 2 * reserved);
}

/// How many keys of a window there are, and how they come and go.
struct Window {
  const char* name;
  std::string (*key)(uint64_t i);
  uint64_t kept_in;  // one key of so many stays behind the window forever; 0: none
};

class AgeingTree : public testing::TestWithParam<Window> {};

INSTANTIATE_TEST_SUITE_P(
    Windows, AgeingTree,
    testing::Values(Window{"Queue", [](uint64_t i) { return BigEndian(i); }, 0},
                    Window{"Stack", [](uint64_t i) { return BigEndian(~i); }, 0},
                    Window{"Random", [](uint64_t i) { return BigEndian(Mix64(i)); }, 0},
                    Window{"LongKeys",
                           [](uint64_t i) {
                             return Decimal(i, 9) + std::string(100 + Mix64(i) % 200, 'k');
                           },
                           0},
                    Window{"Stragglers", [](uint64_t i) { return Decimal(i, 12); }, 500}),
    [](const auto& window) { return std::string(window.param.name); });

TEST_P(AgeingTree, TakesNoMoreForKeysThatWentThroughIt) {
  constexpr uint64_t kLive = 4000;
  constexpr uint64_t kRounds = test::kSanitizer ? 12 : 40;
  TreeHarness harness;
  DramBTree<EntryKey>& tree = harness.tree();
  size_t young = 0;
  for (uint64_t i = 0; i < kLive * kRounds; ++i) {
    harness.Put(GetParam().key(i), i);
    if (i >= kLive) {
      const uint64_t old = i - kLive;
      const bool stays = GetParam().kept_in != 0 && old % GetParam().kept_in == 0;
      if (!stays) harness.Erase(GetParam().key(old), true);
    }
    if (i % 100 == 0) Reclaim(&tree);
    if (i == 4 * kLive) young = tree.reserved_bytes();
    if (i % (kLive * 10) == kLive) {
      harness.CheckReads(GetParam().key(i - kLive / 2));
      harness.CheckReads(GetParam().key(i - kLive - 10));
    }
  }
  harness.CheckAll();
  EXPECT_LE(tree.reserved_bytes(), young + young / 4);
  // No more leaves than keys that are there can want, so that the way to the first one is short.
  const size_t live = tree.size();
  EXPECT_LE(tree.memory_bytes(), 4096 + live * 8 * (64 / 12) + live * 24);
}

TEST(DramBTreeTest, ATreeThatIsEmptiedIsAsSmallAsANewOne) {
  TreeHarness harness;
  DramBTree<EntryKey>& tree = harness.tree();
  const size_t new_bytes = tree.memory_bytes();
  // Separators of many sizes, so that they do not fill their chunks.
  const auto key_of = [](uint64_t i) { return std::string(i / 100 % 90, 'k') + BigEndian(i); };
  // Two levels of inner nodes, emptied from both ends and in the middle.
  constexpr uint64_t kKeys = test::kSanitizer ? 60'000 : 300'000;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) harness.Put(key_of(i), i);
    for (uint64_t i = 0; i < kKeys; ++i) {
      const uint64_t at = round == 0 ? i : round == 1 ? kKeys - 1 - i : i * 7919 % kKeys;
      harness.Erase(key_of(at), true);
      if (i % 50'000 == 0) harness.CheckReads(key_of(at));
    }
    Reclaim(&tree);
    EXPECT_EQ(tree.size(), 0u);
    harness.CheckReads(key_of(5));
    // What is left is a leaf, and the rest of a chunk of separators.
    EXPECT_LE(tree.memory_bytes(), new_bytes + 512) << "round " << round;
  }
}

// Counts how often keys are read through refs.
struct CountingKey {
  uint64_t* reads;
  std::string_view operator()(uint64_t ref) const {
    ++*reads;
    return EntryOf(ref).key;
  }
};

uint64_t KeyReadsOfInserts(const std::vector<std::string>& keys) {
  uint64_t reads = 0;
  std::deque<Entry> entries;
  DramBTree<CountingKey> tree{CountingKey{&reads}};
  for (const std::string& key : keys) {
    entries.push_back({key, 0});
    tree.Upsert(key, [&](uint64_t) { return reinterpret_cast<uint64_t>(&entries.back()); });
  }
  return reads;
}

TEST(DramBTreeTest, InsertsOfCommonKeysHardlyReadEntries) {
  const uint64_t seed = NewSeed();
  constexpr uint64_t kKeys = 50000;
  Random random(seed);
  std::vector<std::string> binary;
  std::vector<std::string> decimal;
  std::vector<std::string> paths;
  for (uint64_t i = 0; i < kKeys; ++i) {
    binary.push_back(BigEndian(random.Next()));
    decimal.push_back(Decimal(random.Next() % 10'000'000'000'000'000u, 16));
    paths.push_back("/user/warehouse/table/part-" + Decimal(i * 7919 % kKeys, 8));
  }
  EXPECT_LT(KeyReadsOfInserts(binary), kKeys / 100);
  EXPECT_LT(KeyReadsOfInserts(decimal), kKeys);
  EXPECT_LT(KeyReadsOfInserts(paths), 3 * kKeys);
}

TEST(DramBTreeTest, OverwritesOfEightByteKeysReadNoEntry) {
  uint64_t reads = 0;
  std::deque<Entry> entries;
  DramBTree<CountingKey> tree{CountingKey{&reads}};
  for (uint64_t i = 0; i < 20000; ++i) {
    entries.push_back({BigEndian(Mix64(i % 10000)), i});
    const uint64_t ref = reinterpret_cast<uint64_t>(&entries.back());
    if (i == 10000) reads = 0;
    const uint64_t old_ref = tree.Upsert(entries.back().key, [&](uint64_t) { return ref; });
    ASSERT_EQ(old_ref == 0, i < 10000);
    if (old_ref != 0) {
      ASSERT_EQ(EntryOf(old_ref).value, i - 10000);
    }
  }
  EXPECT_EQ(reads, 0u);
  EXPECT_EQ(tree.size(), 10000u);
}

// As far as the refs come in the order that they are said to, in one leaf, and not a slot further.
TEST(DramBTreeTest, ARunIsReplacedAsFarAsItIsWhatItWasSaidToBe) {
  DramBTree<EntryKey> tree;
  std::deque<Entry> entries;
  constexpr uint64_t kKeys = 1000;
  const auto entry = [&](uint64_t key) {
    entries.push_back({Decimal(key, 12), key});
    return reinterpret_cast<uint64_t>(&entries.back());
  };
  std::vector<Replacement> all;
  std::vector<Replacement> run;  // without each third one
  for (uint64_t i = 0; i < kKeys; ++i) {
    all.push_back({entry(2 * i), entry(2 * i)});
    if (i % 3 != 2) run.push_back(all.back());
    tree.Upsert(Decimal(2 * i, 12), [&](uint64_t) { return all.back().from; });
  }
  const auto key_of = [&](size_t at) { return EntryOf(run[at].to).key; };
  EXPECT_EQ(tree.ReplaceRun(Decimal(1, 12), run.data(), run.size()), 0u) << "no such key";
  EXPECT_EQ(tree.ReplaceRun(key_of(1), run.data(), run.size()), 0u) << "another ref";
  EXPECT_EQ(tree.ReplaceRun(key_of(0), run.data(), 0), 0u);
  // One that is not there.
  constexpr size_t kOdd = 300;
  run[kOdd].from = entry(2 * kKeys);
  size_t at = 0;
  size_t leaves = 0;
  while (at < kOdd) {
    const size_t done = tree.ReplaceRun(key_of(at), &run[at], run.size() - at);
    ASSERT_NE(done, 0u) << at;
    at += done;
    ++leaves;
  }
  EXPECT_EQ(at, kOdd);
  EXPECT_LT(leaves, 30u);
  EXPECT_EQ(tree.ReplaceRun(key_of(kOdd), &run[kOdd], run.size() - kOdd), 0u);
  EXPECT_EQ(tree.ReplaceRun(key_of(kOdd + 1), &run[kOdd + 1], 3), 3u);
  std::map<uint64_t, uint64_t> expected;  // by key
  for (const Replacement& each : all) expected[EntryOf(each.from).value] = each.from;
  for (size_t i = 0; i < kOdd + 4; ++i) {
    if (i != kOdd) expected[EntryOf(run[i].to).value] = run[i].to;
  }
  for (const auto& [key, ref] : expected) EXPECT_EQ(tree.Find(Decimal(key, 12)), ref) << key;
  EXPECT_EQ(tree.size(), kKeys);
}

TEST(DramBTreeTest, CommitMayThrowAndChangesNothing) {
  TreeHarness harness;
  harness.Put("a", 1);
  EXPECT_THROW(harness.tree().Upsert("b", [](uint64_t) -> uint64_t { throw 1; }), int);
  EXPECT_EQ(harness.tree().Find("b"), 0u);
  harness.Put("b", 2);  // would wait forever if the leaf were still locked
  harness.CheckAll();
}

}  // namespace
}  // namespace braid::index
