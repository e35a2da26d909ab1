// Tests of the link flush: which versions become the table, and how they are linked.
#include "flush/link_flush.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "support/flush_parts.h"

namespace braid::flush {
namespace {

using Strings = test::FlushParts::Strings;

constexpr uint32_t kHead = 3;

Options WithRegions(uint32_t regions) {
  Options options = test::PoolOfSmallChunks(256);
  options.pool.regions = regions;
  return options;
}

TEST(LinkFlushTest, EntriesComeByKeyAndNewestFirst) {
  test::FlushParts parts;
  parts.Put("b", "1");
  parts.Put("a", "2");
  parts.Put("c", "3");
  parts.Put("b", "4");
  const FlushResult flushed = parts.Link(kHead, {1, 2, 3});
  EXPECT_EQ(parts.Entries(kHead), (Strings{"a@2=2", "b@4=4", "b@1=1", "c@3=3"}));
  EXPECT_EQ(flushed.entries, 4u);
  EXPECT_EQ(flushed.max_sequence, 4u);
}

TEST(LinkFlushTest, EntriesStayWhereTheyAre) {
  test::FlushParts parts;
  const uint64_t a = parts.Put("a", "1");
  const uint64_t b = parts.Put("b", "2");
  parts.Link(kHead);
  EXPECT_EQ(parts.Places(kHead), (std::vector<uint64_t>{a, b}));
}

TEST(LinkFlushTest, AVersionStaysWithTheViewsThatSeeIt) {
  const struct {
    index::LiveViews views;
    Strings expected;
  } cases[] = {
      {{}, {"k@9=9"}},
      {{9}, {"k@9=9"}},
      {{100}, {"k@9=9"}},
      {{8}, {"k@9=9", "k@6=6"}},
      {{6}, {"k@9=9", "k@6=6"}},
      {{5}, {"k@9=9", "k@3=3"}},
      {{2}, {"k@9=9"}},
      {{3, 4, 5}, {"k@9=9", "k@3=3"}},
      {{1, 4, 7, 20}, {"k@9=9", "k@6=6", "k@3=3"}},
  };
  for (const auto& [views, expected] : cases) {
    test::FlushParts parts;
    std::vector<uint64_t> places;
    for (const uint64_t sequence : {3, 6, 9}) {
      parts.sequence = sequence - 1;
      places.push_back(parts.Put("k", std::to_string(sequence)));
    }
    parts.Link(kHead, views);
    EXPECT_EQ(parts.Entries(kHead), expected);
    const std::vector<uint64_t> linked = parts.Places(kHead);
    for (const uint64_t place : places) {
      const bool is_linked = std::find(linked.begin(), linked.end(), place) != linked.end();
      EXPECT_NE(parts.IsObsolete(place), is_linked) << parts.Describe(place);
    }
  }
}

TEST(LinkFlushTest, ADeleteIsAVersionLikeAnyOther) {
  test::FlushParts parts;
  parts.Delete("never there");
  parts.Put("k", "2");
  parts.Delete("k");
  parts.Put("old", "4");
  parts.Delete("old");
  parts.Put("old", "6");
  const FlushResult flushed = parts.Link(kHead, {2});
  EXPECT_EQ(parts.Entries(kHead), (Strings{"k@3-", "k@2=2", "never there@1-", "old@6=6"}));
  EXPECT_EQ(flushed.entries, 4u);
}

TEST(LinkFlushTest, WhatIsLeftOutIsNotCounted) {
  test::FlushParts parts;
  const uint64_t first = parts.Put("k", "an older version");
  const uint64_t newest = parts.Put("k", "new");
  const uint64_t other = parts.Put("l", "another key");
  const FlushResult flushed = parts.Link(kHead);
  EXPECT_EQ(flushed.entries, 2u);
  ASSERT_EQ(parts.pool->ChunkOf(first), parts.pool->ChunkOf(other));
  EXPECT_EQ(parts.usage.Live(parts.pool->ChunkOf(first)),
            static_cast<int64_t>(parts.Entry(newest)->size() + parts.Entry(other)->size()));
}

TEST(LinkFlushTest, TheHighestNumberIsThatOfAnyKey) {
  test::FlushParts parts;
  parts.Put("z", "1");
  parts.Put("a", "2");
  parts.Delete("m");
  EXPECT_EQ(parts.Link(kHead).max_sequence, 3u);
}

TEST(LinkFlushTest, EveryLayerLeadsThroughWhatIsTallEnough) {
  test::FlushParts parts;
  Random random(11);
  for (int i = 0; i < 2000; ++i) parts.Put("key" + std::to_string(random.Uniform(700)), "value");
  const FlushResult flushed = parts.Link(kHead, {500, 1000, 1500});
  EXPECT_EQ(parts.Places(kHead).size(), flushed.entries);
  EXPECT_GT(flushed.entries, 700u) << "older versions are among them";
  parts.ExpectSoundTowers(kHead);
}

TEST(LinkFlushTest, AnEmptyMemtableIsAnEmptyList) {
  test::FlushParts parts;
  const FlushResult flushed = parts.Link(kHead);
  EXPECT_EQ(flushed.entries, 0u);
  for (uint32_t layer = 0; layer < format::kMaxHeight; ++layer) {
    EXPECT_EQ(parts.List(kHead).head()[layer], format::EntryPtr::End().raw) << layer;
  }
}

TEST(LinkFlushTest, TablesHaveHeadsOfTheirOwn) {
  test::FlushParts parts;
  parts.Put("a", "1");
  parts.Link(kHead);
  parts.Put("b", "2");
  parts.Link(kHead + 1);
  EXPECT_EQ(parts.Entries(kHead), (Strings{"a@1=1"}));
  EXPECT_EQ(parts.Entries(kHead + 1), (Strings{"b@2=2"}));
}

TEST(LinkFlushTest, ExtentsOfWhatIsLeftOutAreNamedAndStay) {
  test::FlushParts parts;
  const std::string value(20'000, 'x');
  const uint64_t left_out = parts.Put("k", value);
  parts.Put("k", value);
  parts.Put("l", value);
  parts.Put("l", "small");
  const uint64_t extent = parts.pool->ExtentOf(left_out);
  const FlushResult flushed = parts.Link(kHead, {3});
  EXPECT_EQ(parts.Entries(kHead), (Strings{"k@2=(large)", "l@4=small", "l@3=(large)"}));
  EXPECT_EQ(flushed.obsolete_extents, std::vector<uint64_t>{extent});
  EXPECT_NE(parts.pool->ExtentAt(extent), nullptr) << "readers may stand on it";
}

TEST(LinkFlushTest, WhatAGroupWritesBackLaterIsNamed) {
  Options options = test::PoolOfSmallChunks(256);
  options.pool.force_media_class = MediaClass::kCacheLine;
  test::FlushParts parts(options);
  const uint64_t left_out = parts.Put("b", "1");
  const uint64_t b = parts.Put("b", "2");
  const uint64_t a = parts.Put("a", "3");
  const uint64_t lines = parts.pool->ops().lines_flushed();
  const uint64_t fences = parts.pool->ops().fences();
  const FlushResult flushed = parts.Link(kHead, {}, WriteBack::kLater);
  EXPECT_EQ(flushed.touched, (std::vector<uint64_t>{a, b, left_out}));
  EXPECT_EQ(parts.pool->ops().lines_flushed(), lines) << "not now";
  EXPECT_EQ(parts.pool->ops().fences(), fences);
  EXPECT_EQ(parts.Entries(kHead), (Strings{"a@3=3", "b@2=2"}));
}

TEST(LinkFlushTest, WhatIsWrittenBackAtOnceIsFencedOnce) {
  Options options = test::PoolOfSmallChunks(256);
  options.pool.force_media_class = MediaClass::kCacheLine;
  test::FlushParts parts(options);
  for (int i = 0; i < 100; ++i) parts.Put("key" + std::to_string(i), "value");
  const uint64_t lines = parts.pool->ops().lines_flushed();
  const uint64_t fences = parts.pool->ops().fences();
  const FlushResult flushed = parts.Link(kHead);
  EXPECT_EQ(parts.pool->ops().fences(), fences + 1);
  EXPECT_GE(parts.pool->ops().lines_flushed(), lines + 100) << "a bottom link each";
  EXPECT_TRUE(flushed.touched.empty());
}

TEST(LinkFlushTest, TheLookupCacheIsToldOfTheNewest) {
  test::FlushParts parts;
  cache::LookupCache lookup(parts.pool.get(), 1u << 20);
  ASSERT_TRUE(lookup.ok());
  parts.Put("put", "1");
  const uint64_t put = parts.Put("put", "2");
  parts.Put("deleted", "3");
  const uint64_t deleted = parts.Delete("deleted");
  LinkFlush flush(parts.pool.get(), &parts.usage, &lookup);
  ASSERT_TRUE(flush.Run(*parts.tree(), {1, 3}, parts.Head(kHead)).ok());
  EXPECT_TRUE(lookup.Names(base::Hash64("put"), put));
  EXPECT_TRUE(lookup.Names(base::Hash64("deleted"), deleted));
  EXPECT_EQ(lookup.entries(), 2u);
}

TEST(LinkFlushTest, UpperLayersStayWithinTheirStrand) {
  test::FlushParts parts(WithRegions(2));
  ASSERT_EQ(parts.pool->strands(), 2u);
  for (uint32_t i = 0; i < 600; ++i) {
    const uint32_t region = i * 7 % 3 == 0 ? 1 : 0;
    const uint64_t place = parts.Put("key" + std::to_string(i % 400), "value", 0, region);
    ASSERT_EQ(parts.pool->StrandOf(place), region);
  }
  const FlushResult flushed = parts.Link(kHead, {300});
  EXPECT_EQ(parts.Places(kHead).size(), flushed.entries);
  EXPECT_GT(flushed.entries, 400u);
  parts.ExpectSoundTowers(kHead);
}

TEST(LinkFlushTest, VersionsThatGoInACircleAreDamage) {
  test::FlushParts parts;
  const uint64_t oldest = parts.Put("k", "1");
  const uint64_t newest = parts.Put("k", "2");
  parts.Entry(oldest)->links()[0] = parts.pool->LinkTo(newest).raw;
  LinkFlush flush(parts.pool.get(), &parts.usage);
  EXPECT_TRUE(flush.Run(*parts.tree(), {1}, parts.Head(kHead)).status().IsCorruption());
}

TEST(LinkFlushTest, AVersionThatLeadsToANewerOneIsDamage) {
  test::FlushParts parts;
  const uint64_t older = parts.Put("k", "1");
  const uint64_t newer = parts.Put("l", "2");
  parts.Entry(older)->links()[0] = parts.pool->LinkTo(newer).raw;
  LinkFlush flush(parts.pool.get(), &parts.usage);
  EXPECT_TRUE(flush.Run(*parts.tree(), {1, 2}, parts.Head(kHead)).status().IsCorruption());
}

TEST(LinkFlushTest, AVersionThatLeadsToItselfIsDamage) {
  test::FlushParts parts;
  const uint64_t place = parts.Put("k", "1");
  parts.Entry(place)->links()[0] = parts.pool->LinkTo(place).raw;
  LinkFlush flush(parts.pool.get(), &parts.usage);
  EXPECT_TRUE(flush.Run(*parts.tree(), {1}, parts.Head(kHead)).status().IsCorruption());
}

TEST(LinkFlushTest, AVersionThatIsNoEntryIsDamage) {
  test::FlushParts parts;
  const uint64_t place = parts.Put("k", "1");
  parts.Entry(place)->links()[0] = parts.pool->LinkTo(parts.pool->ChunkOffset(0) + 64).raw;
  LinkFlush flush(parts.pool.get(), &parts.usage);
  EXPECT_TRUE(flush.Run(*parts.tree(), {1}, parts.Head(kHead)).status().IsCorruption());
}

}  // namespace
}  // namespace braid::flush
