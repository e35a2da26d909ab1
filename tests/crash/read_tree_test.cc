// Tests of what the pruning of images stands on: that no read goes unnoticed, and that the tree of
// what was read tells images apart that may behave differently.
#include "crash/read_tree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "format/entry.h"
#include "media/persist.h"
#include "sim/sim_persist.h"
#include "sim/sim_reads.h"

namespace braid::crash {
namespace {

using sim::ReadTracker;
using sim::SimArea;
using sim::SimPersist;

constexpr uint64_t kBytes = 1u << 16;

/// Keeps the optimizer from knowing what is read, or dropping it.
template <typename T>
void Use(const T& value) {
  __asm__ volatile("" : : "r"(&value) : "memory");
}

/// Loads, and uses what was loaded.
template <typename T>
void Load(const T* at) {
  const T value = *at;
  __asm__ volatile("" : : "r"(value) : "memory");
}

/// Hides where a pointer comes from.
template <typename T>
T* Opaque(void* at) {
  __asm__ volatile("" : "+r"(at));
  return static_cast<T*>(at);
}

class ReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!sim::ReadsAreHooked()) GTEST_SKIP() << "this build does not note reads";
    for (uint64_t i = 0; i < kBytes; ++i) area_.base()[i] = static_cast<char>('a' + i % 23);
    std::vector<uint64_t> words;
    for (uint64_t word = 0; word < kBytes / 8; ++word) words.push_back(word);
    tracker_.Watch(words);
  }

  /// The words that `read` reads.
  std::vector<uint32_t> Trace(const std::function<void()>& read) {
    tracker_.Begin();
    read();
    tracker_.End();
    return tracker_.trace();
  }
  static std::vector<uint32_t> Range(uint32_t first, uint32_t count) {
    std::vector<uint32_t> words;
    for (uint32_t i = 0; i < count; ++i) words.push_back(first + i);
    return words;
  }
  template <typename T>
  T* At(uint64_t offset) {
    return Opaque<T>(area_.base() + offset);
  }

  SimArea area_{kBytes};
  ReadTracker tracker_{area_};
};

TEST_F(ReadsTest, ScalarLoadsAreSeenAtEveryWidthAndOffset) {
  EXPECT_EQ(Trace([&] { Load(At<uint8_t>(803)); }), Range(100, 1));
  EXPECT_EQ(Trace([&] { Load(At<uint16_t>(806)); }), Range(100, 1));
  EXPECT_EQ(Trace([&] { Load(At<uint32_t>(804)); }), Range(100, 1));
  EXPECT_EQ(Trace([&] { Load(At<uint64_t>(800)); }), Range(100, 1));
  EXPECT_EQ(Trace([&] { Use(At<std::atomic<uint64_t>>(800)->load(std::memory_order_acquire)); }),
            Range(100, 1));
  EXPECT_EQ(Trace([&] { Use(std::atomic_ref<uint8_t>(*At<uint8_t>(807)).load()); }), Range(100, 1));
  EXPECT_EQ(Trace([&] {
              uint64_t word;
              std::memcpy(&word, At<char>(805), sizeof word);
              Use(word);
            }),
            Range(100, 2));
}

TEST_F(ReadsTest, BitFieldsAreSeen) {
  struct Fields {
    uint64_t before;
    uint32_t a : 17, b : 5, c : 10;
  };
  EXPECT_EQ(Trace([&] {
              const uint32_t b = At<Fields>(800)->b;
              Use(b);
            }),
            Range(101, 1));
}

template <size_t kWords>
struct Words {
  uint64_t words[kWords];
};

TEST_F(ReadsTest, CopiedStructsAreSeenInFull) {
  EXPECT_EQ(Trace([&] {
              const Words<2> copy = *At<Words<2>>(800);
              Use(copy);
            }),
            Range(100, 2));
  EXPECT_EQ(Trace([&] {
              const Words<3> copy = *At<Words<3>>(800);
              Use(copy);
            }),
            Range(100, 3));
  // From the middle of one line to the middle of the next: checked at the ends only.
  EXPECT_EQ(Trace([&] {
              const Words<8> copy = *At<Words<8>>(800);
              Use(copy);
            }),
            Range(100, 8));
}

TEST_F(ReadsTest, CopiedStructsAreSeenWhereTheirEndsWereReadBefore) {
  const std::vector<uint32_t> expected = {100, 103, 101, 102};
  EXPECT_EQ(Trace([&] {
              Load(At<uint64_t>(800));
              Load(At<uint64_t>(824));
              const Words<4> copy = *At<Words<4>>(800);
              Use(copy);
            }),
            expected);
}

TEST_F(ReadsTest, MemoryFunctionsAreSeen) {
  char buffer[256];
  EXPECT_EQ(Trace([&] { Use(std::memcpy(buffer, At<char>(800), 200)); }), Range(100, 25));
  EXPECT_EQ(Trace([&] { Use(std::memmove(buffer, At<char>(800), 200)); }), Range(100, 25));
  EXPECT_EQ(Trace([&] { Use(std::memcmp(buffer, At<char>(800), 17)); }), Range(100, 3));
  EXPECT_EQ(Trace([&] { Use(std::memcmp(At<char>(800), "abcdefg", 7) == 0); }), Range(100, 1));
  EXPECT_EQ(Trace([&] { Use(std::memcmp(At<char>(800), buffer, 16) == 0); }), Range(100, 2));
  EXPECT_EQ(Trace([&] { Use(std::memchr(At<char>(800), 'b', 24)); }), Range(100, 3));
  area_.base()[839] = '\0';
  EXPECT_EQ(Trace([&] { Use(std::strlen(At<char>(800))); }), Range(100, 5));
}

TEST_F(ReadsTest, StringsAreSeen) {
  std::string text;
  EXPECT_EQ(Trace([&] { text.assign(At<char>(800), 64); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { text.append(At<char>(800), 64); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { text.insert(3, At<char>(800), 64); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { Use(std::string(At<char>(800), 64)); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { Use(text.compare(0, 64, At<char>(800), 64)); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { Use(std::string_view(At<char>(800), 64) == text); }),
            std::vector<uint32_t>());
  text.assign(64, 'x');
  EXPECT_EQ(Trace([&] { Use(std::string_view(At<char>(800), 64) == text); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { Use(std::string_view(At<char>(800), 64).find("zz")); }), Range(100, 8));
  EXPECT_EQ(Trace([&] { Use(std::string_view(At<char>(800), 4).starts_with("abcd")); }),
            Range(100, 1));
}

TEST_F(ReadsTest, ChecksumsAreSeenAtEveryLength) {
  for (const uint32_t words : {1u, 2u, 3u, 16u, 30u, 32u, 128u, 300u}) {
    std::vector<uint32_t> trace =
        Trace([&] { Use(base::Hash64(At<char>(800), size_t{words} * 8)); });
    std::sort(trace.begin(), trace.end());  // ends are read early
    EXPECT_EQ(trace, Range(100, words)) << words;
  }
}

TEST_F(ReadsTest, WordsOverwrittenInFullAreNotReadFromTheImage) {
  area_.PushFrame();
  SimPersist sim(&area_, nullptr, 1);
  sim.set_tracking(false);
  media::PersistOps ops(MediaClass::kCacheLine);
  ops.set_hook(&sim);
  EXPECT_EQ(Trace([&] {
              ops.StoreU64(At<uint64_t>(800), 1);
              ops.StoreByte(At<uint8_t>(808), 1);  // the rest of the word stays
              ops.Zero(At<char>(820), 20);         // word 103 in full, 102 and 104 in part
              for (uint64_t word = 100; word < 105; ++word) Load(At<uint64_t>(word * 8));
            }),
            (std::vector<uint32_t>{101, 102}));
  EXPECT_EQ(Trace([&] {
              tracker_.set_stores_stay(false);
              ops.StoreU64(At<uint64_t>(800), 1);
              tracker_.set_stores_stay(true);
              Load(At<uint64_t>(800));
            }),
            Range(100, 1));
  area_.PopFrame();
}

TEST_F(ReadsTest, AnInnerTrackerLeavesTheOuterOneWhatItNeeds) {
  ReadTracker inner(area_);
  inner.Watch({100, 101, 200});
  EXPECT_EQ(Trace([&] {
              Load(At<uint64_t>(800));
              const sim::ReadPause pause;
              inner.Begin();
              Load(At<uint64_t>(800));
              Load(At<uint64_t>(808));
              inner.End();
              EXPECT_EQ(inner.trace(), (std::vector<uint32_t>{0, 1}));
              Load(At<uint64_t>(816));
            }),
            Range(100, 1));
  EXPECT_EQ(Trace([&] {
              {
                const sim::ReadPause pause;
                inner.Begin();
                Load(At<uint64_t>(800));
                Load(At<uint64_t>(808));
                inner.End();
              }
              Load(At<uint64_t>(808));
            }),
            Range(101, 1));
}

// ---- The tree ----------------------------------------------------------------------------------

/// A point with five dirty lines of two stores each, to words of their own.
class TreeTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kLines = 5;

  TreeTest() {
    for (uint32_t line = 0; line < kLines; ++line) {
      choices_.push_back({line * 8u, line, {0, 1, 1}});
      choices_.push_back({line * 8u + 1, line, {0, 0, 1}});
    }
  }

  /// What a recovery reads that looks at line 0, and only when it is whole at lines 1 and 2.
  static std::vector<uint32_t> Read(const std::vector<uint32_t>& prefixes) {
    if (prefixes[0] != 2) return {0, 1};
    return {0, 1, 2, 5};
  }

  std::vector<sim::WordChoices> choices_;
};

TEST_F(TreeTest, FindsEveryBehaviorAndCountsEveryImage) {
  ReadTree tree(std::vector<uint32_t>(kLines, 2), choices_);
  EXPECT_EQ(tree.images(), 243u);
  Random random(1);
  std::vector<uint32_t> prefixes;
  std::set<std::vector<uint32_t>> behaviors;
  while (tree.Next(&random, &prefixes)) {
    ASSERT_FALSE(tree.Known(prefixes));
    std::vector<uint32_t> behavior{prefixes[0]};
    if (prefixes[0] == 2) {
      behavior = {2, prefixes[1] >= 1, prefixes[2] == 2};
    }
    EXPECT_TRUE(behaviors.insert(behavior).second) << "a run that tells nothing new";
    ASSERT_EQ(tree.Add(prefixes, Read(prefixes), 7), "");
  }
  EXPECT_EQ(behaviors.size(), 6u);
  EXPECT_EQ(tree.leaves(), 6u);
  EXPECT_EQ(tree.covered(), 243u);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(tree.AnyPruned(&random, &prefixes));
    EXPECT_TRUE(tree.Known(prefixes));
    EXPECT_EQ(tree.Add(prefixes, Read(prefixes), 7), "");
    EXPECT_EQ(tree.leaves(), 6u);
  }
}

TEST_F(TreeTest, ReadsThatAreHiddenFromItAreFoundOut) {
  // Recovery looks at line 3 too, which nobody notes: what comes out is not what the tree says.
  ReadTree tree(std::vector<uint32_t>(kLines, 2), choices_);
  Random random(1);
  std::vector<uint32_t> prefixes;
  const auto outcome = [](const std::vector<uint32_t>& image) { return uint64_t{image[3]}; };
  while (tree.Next(&random, &prefixes)) {
    ASSERT_EQ(tree.Add(prefixes, Read(prefixes), outcome(prefixes)), "");
  }
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(tree.AnyPruned(&random, &prefixes));
    if (!tree.Add(prefixes, Read(prefixes), outcome(prefixes)).empty()) ++found;
  }
  EXPECT_GT(found, 20);
}

TEST_F(TreeTest, RunsThatReadOtherWordsForNoReasonAreFoundOut) {
  ReadTree tree(std::vector<uint32_t>(kLines, 2), choices_);
  ASSERT_EQ(tree.Add({0, 0, 0, 0, 0}, {0, 1}, 7), "");
  EXPECT_NE(tree.Add({0, 0, 0, 1, 0}, {0, 2}, 7), "");
  EXPECT_NE(tree.Add({0, 0, 0, 2, 0}, {0}, 7), "");
  EXPECT_NE(tree.Add({0, 0, 0, 2, 0}, {0, 1, 2}, 7), "");
}

TEST_F(TreeTest, PrefixesThatLeaveTheSameContentAreOneImage) {
  ReadTree tree({2, 2}, {{0, 0, {5, 6, 5}}, {8, 1, {1, 2, 3}}});
  EXPECT_EQ(tree.images(), 6u);
}

}  // namespace
}  // namespace braid::crash
