// Tests of the copying flush: what is copied, what stays in the log, and what readers find.
#include "flush/copy_flush.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/flush_parts.h"

namespace braid::flush {
namespace {

using format::ChunkKind;
using format::EntryHeader;

CopyFlush::Log LogOf(const test::FlushParts& parts) {
  return parts.memtable->flush_source().only_copies ? CopyFlush::Log::kGoes
                                                    : CopyFlush::Log::kMayStay;
}

class CopyFlushTest : public ::testing::Test {
 protected:
  using Strings = test::FlushParts::Strings;

  static constexpr uint32_t kHead = 3;
  static constexpr uint64_t kChunkBytes = 16u << 10;

  static Options Limited() {
    Options options = test::PoolOfSmallChunks(256);
    options.pool.max_bytes = options.pool.initial_bytes;
    return options;
  }
  Result<FlushResult> Run(const index::LiveViews& views = {}) {
    CopyFlush flush(parts_.pool.get(), &parts_.usage, nullptr, parts_.table_id());
    return flush.Run(parts_.tree(), views, parts_.Head(kHead), LogOf(parts_));
  }
  FlushResult Flush(const index::LiveViews& views = {}) {
    Result<FlushResult> flushed = Run(views);
    EXPECT_TRUE(flushed.ok()) << flushed.status().ToString();
    return flushed.ok() ? std::move(flushed).value() : FlushResult{};
  }
  ChunkKind KindAt(uint64_t offset) {
    return parts_.pool->StateOf(parts_.pool->ChunkOf(offset)).kind();
  }
  uint64_t ChunksOf(ChunkKind kind) {
    uint64_t count = 0;
    for (uint64_t chunk = 0; chunk < parts_.pool->chunks(); ++chunk) {
      count += parts_.pool->StateOf(chunk).kind() == kind ? 1 : 0;
    }
    return count;
  }

  test::FlushParts parts_{Limited(), LogKind::kWriteAhead};
};

TEST_F(CopyFlushTest, CopiesComeByKeyAndKeepTheirNumbers) {
  parts_.Put("b", "1");
  parts_.Put("a", "2");
  parts_.Delete("c");
  parts_.Put("b", "4");
  const FlushResult flushed = Flush({1});
  EXPECT_EQ(parts_.Entries(kHead), (Strings{"a@2=2", "b@4=4", "b@1=1", "c@3-"}));
  EXPECT_EQ(flushed.entries, 4u);
  EXPECT_EQ(flushed.max_sequence, 4u);
}

TEST_F(CopyFlushTest, AListHoldsCopiesAloneAndTheyVerify) {
  std::vector<uint64_t> originals;
  for (int i = 0; i < 300; ++i) {
    originals.push_back(parts_.Put("key" + std::to_string(i), std::string(100, 'v')));
  }
  Flush();
  const std::vector<uint64_t> copies = parts_.Places(kHead);
  ASSERT_EQ(copies.size(), originals.size());
  for (const uint64_t copy : copies) {
    EXPECT_EQ(KindAt(copy), ChunkKind::kCopied);
    EXPECT_TRUE(log::EntryVerifies(*parts_.pool, copy));
    const Result<log::LogChunk> chunk = log::ReadLogChunk(*parts_.pool, parts_.pool->ChunkOf(copy));
    ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
    EXPECT_EQ(chunk->table_id, parts_.table_id());
  }
}

TEST_F(CopyFlushTest, AnEntryThatStaysLeadsOnToCopiesThatAreThere) {
  for (int round = 0; round < 20; ++round) {
    test::FlushParts parts(Limited(), LogKind::kWriteAhead);
    const uint64_t large = parts.Put("a", std::string(kChunkBytes, 'v'));
    for (int i = 100; i < 400; ++i) parts.Put("key" + std::to_string(i), "value");
    ASSERT_TRUE(parts.Entry(large)->has(format::kValueInExtent));
    const uint64_t* const link = parts.Entry(large)->links();
    const auto link_now = [&] {
      return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_acquire);
    };
    ASSERT_EQ(link_now(), 0u);
    std::atomic<bool> reads{false};
    std::string behind;
    std::thread reader([&] {
      reads = true;
      while (link_now() == 0) {
      }
      const EntryHeader* const next = parts.pool->EntryAt(format::EntryPtr{link_now()}.offset());
      behind = next == nullptr ? "nothing" : std::string(next->key());
    });
    while (!reads) std::this_thread::yield();
    CopyFlush flush(parts.pool.get(), &parts.usage, nullptr, parts.table_id());
    EXPECT_TRUE(flush.Run(parts.tree(), {}, parts.Head(kHead), LogOf(parts)).ok());
    reader.join();
    ASSERT_EQ(behind, "key100") << "round " << round;
  }
}

TEST_F(CopyFlushTest, CopiesOfABatchStandAlone) {
  std::vector<log::PendingEntry> batch{test::PendingOf("b", "1"), test::PendingOf("a", "2"),
                                       test::PendingOf("b", "3")};
  bool is_torn = false;
  ASSERT_TRUE(parts_.memtable->WriteBatch(0, batch, pool::AllocationClass::kWrite, &is_torn).ok());
  Flush();
  EXPECT_EQ(parts_.Entries(kHead), (Strings{"a@2=2", "b@3=3"}));
  for (const uint64_t copy : parts_.Places(kHead)) {
    EXPECT_EQ(parts_.Entry(copy)->flags(), format::kFirstOfUnit);
  }
}

TEST_F(CopyFlushTest, CopiesGetTowersOfTheirOwn) {
  for (int i = 0; i < 500; ++i) parts_.Put("key" + std::to_string(i), "value", 1);
  Flush();
  const std::vector<uint64_t> copies = parts_.Places(kHead);
  const auto tall = std::count_if(copies.begin(), copies.end(),
                                  [&](uint64_t copy) { return parts_.Entry(copy)->height() > 1; });
  EXPECT_GT(tall, 60);
  EXPECT_LT(tall, 250);
  parts_.ExpectSoundTowers(kHead);
}

TEST_F(CopyFlushTest, OriginalsStayAsTheyAre) {
  const uint64_t older = parts_.Put("k", "1");
  const uint64_t newer = parts_.Put("k", "2");
  const std::string before(parts_.pool->At(older), newer - older);
  Flush({1});
  EXPECT_EQ(std::string(parts_.pool->At(older), newer - older), before);
  EXPECT_EQ(parts_.Entry(newer)->links()[0], parts_.pool->LinkTo(older).raw)
      << "who stands on it finds the older version";
  EXPECT_EQ(KindAt(older), ChunkKind::kWriteAhead);
}

TEST_F(CopyFlushTest, AVersionStaysWithTheViewsThatSeeIt) {
  std::vector<uint64_t> places;
  for (int i = 1; i <= 6; ++i) places.push_back(parts_.Put("k", std::to_string(i)));
  parts_.Put("l", "7");
  parts_.Put("l", "8");
  const FlushResult flushed = Flush({2, 4, 7});
  EXPECT_EQ(parts_.Entries(kHead), (Strings{"k@6=6", "k@4=4", "k@2=2", "l@8=8", "l@7=7"}));
  EXPECT_EQ(flushed.entries, 5u);
  // What is left out goes with its chunk.
  for (const uint64_t place : places) EXPECT_FALSE(parts_.IsObsolete(place));
}

TEST_F(CopyFlushTest, VersionsThatNoViewNeedsAreNotLookedAt) {
  const uint64_t older = parts_.Put("k", "1");
  parts_.Put("k", "2");
  parts_.Put("l", "3");
  ASSERT_EQ(LogOf(parts_), CopyFlush::Log::kGoes);
  const std::string zeros(sizeof(EntryHeader), '\0');
  parts_.pool->ops().Copy(parts_.pool->At(older), zeros.data(), zeros.size());
  EXPECT_TRUE(Run({1}).status().IsCorruption()) << "a view sees it";
  const FlushResult flushed = Flush({2, 3});
  EXPECT_EQ(parts_.Entries(kHead), (Strings{"k@2=2", "l@3=3"}));
  EXPECT_EQ(flushed.entries, 2u);
}

TEST_F(CopyFlushTest, ALogGoesUnlessSomethingOfItMayStay) {
  parts_.Put("k", "1");
  EXPECT_EQ(LogOf(parts_), CopyFlush::Log::kGoes);
  parts_.Put("l", std::string(2 * kChunkBytes, 'x'));
  EXPECT_EQ(LogOf(parts_), CopyFlush::Log::kMayStay) << "a value has an extent";
  memtable::RecoveredEntries recovered(parts_.pool.get(), MemTableKind::kBTree);
  const auto replayed = memtable::DramMemTable::Recover({parts_.pool.get(), nullptr, nullptr},
                                                        parts_.table_id() + 1, recovered, true);
  EXPECT_TRUE(replayed->flush_source().is_copied);
  EXPECT_FALSE(replayed->flush_source().only_copies) << "some of it may be of another kind of log";
}

TEST_F(CopyFlushTest, TheTreeLeadsToCopiesAndFromThemToOlderOnes) {
  const uint64_t older = parts_.Put("k", "1");
  const uint64_t newer = parts_.Put("k", "2");
  parts_.Delete("l");
  Flush({1});
  const std::vector<uint64_t> copies = parts_.Places(kHead);
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(parts_.tree()->Find("k"), copies[0]);
  EXPECT_EQ(parts_.tree()->Find("l"), copies[2]);
  EXPECT_NE(copies[0], newer);
  index::ReadView view;
  view.sequence = 1;
  const index::VersionWalk walk = index::LookupEntry(*parts_.pool, copies[0], view);
  ASSERT_NE(walk.entry, nullptr);
  EXPECT_EQ(walk.entry->sequence(), 1u);
  EXPECT_NE(parts_.pool->OffsetOf(walk.entry), older);
}

TEST_F(CopyFlushTest, CopiesAreAccountedFor) {
  parts_.Put("a", "1");
  parts_.Put("a", "2");
  parts_.Put("b", "3");
  Flush();
  int64_t bytes = 0;
  for (const uint64_t copy : parts_.Places(kHead)) {
    bytes += static_cast<int64_t>(parts_.Entry(copy)->size());
  }
  EXPECT_EQ(parts_.usage.Live(parts_.pool->ChunkOf(parts_.Places(kHead).at(0))), bytes);
}

TEST_F(CopyFlushTest, ALargeValueStaysWhereItIsAndKeepsItsChunk) {
  const std::string large(2 * kChunkBytes, 'x');
  const uint64_t small = parts_.Put("a", "1");
  const uint64_t kept = parts_.Put("b", large);
  const uint64_t behind = parts_.Put("c", "3");
  ASSERT_EQ(parts_.pool->ChunkOf(small), parts_.pool->ChunkOf(behind));
  Flush();
  EXPECT_EQ(parts_.Entries(kHead), (Strings{"a@1=1", "b@2=(large)", "c@3=3"}));
  EXPECT_EQ(parts_.Places(kHead).at(1), kept);
  EXPECT_EQ(KindAt(kept), ChunkKind::kLog);
  EXPECT_TRUE(log::EntryVerifies(*parts_.pool, kept));
  EXPECT_FALSE(parts_.IsObsolete(kept));
  EXPECT_TRUE(parts_.IsObsolete(small)) << "its copy is what counts";
  EXPECT_TRUE(parts_.IsObsolete(behind));
  EXPECT_EQ(parts_.usage.Live(parts_.pool->ChunkOf(kept)),
            static_cast<int64_t>(parts_.Entry(kept)->size()));
}

TEST_F(CopyFlushTest, ChunksWithoutLargeValuesStayWriteAhead) {
  const std::string large(2 * kChunkBytes, 'x');
  const std::string value(kChunkBytes / 2, 'v');
  const uint64_t first = parts_.Put("a", value);
  parts_.Put("b", value);
  const uint64_t last = parts_.Put("c", large);
  ASSERT_NE(parts_.pool->ChunkOf(first), parts_.pool->ChunkOf(last));
  Flush();
  EXPECT_EQ(KindAt(first), ChunkKind::kWriteAhead);
  EXPECT_FALSE(parts_.IsObsolete(first)) << "a replay may need it";
  EXPECT_EQ(KindAt(last), ChunkKind::kLog);
}

TEST_F(CopyFlushTest, ExtentsOfWhatIsLeftOutAreNamedAndStay) {
  const std::string large(2 * kChunkBytes, 'x');
  const uint64_t older = parts_.Put("k", large);
  parts_.Put("k", "small");
  const uint64_t extent = parts_.pool->ExtentOf(older);
  const FlushResult flushed = Flush();
  EXPECT_EQ(flushed.obsolete_extents, std::vector<uint64_t>{extent});
  EXPECT_NE(parts_.pool->ExtentAt(extent), nullptr);
  EXPECT_EQ(KindAt(older), ChunkKind::kWriteAhead) << "nothing of it is kept";
}

TEST_F(CopyFlushTest, WhereThereIsNoRoomNothingHasChanged) {
  std::vector<uint64_t> places;
  const std::string value(kChunkBytes / 3, 'v');
  for (int i = 0; i < 20; ++i) {
    places.push_back(parts_.Put("key" + std::to_string(i % 10), value));
  }
  std::vector<uint64_t> filler;
  while (parts_.pool->free_chunks() > 2) {
    const Result<uint64_t> chunk =
        parts_.pool->AllocateLogChunk({}, ChunkKind::kLog, pool::AllocationClass::kBackground);
    ASSERT_TRUE(chunk.ok());
    filler.push_back(*chunk);
  }
  const int64_t spare = parts_.pool->spare_chunks();
  const Status s = Run().status();
  EXPECT_TRUE(s.IsOutOfSpace()) << s.ToString();
  EXPECT_EQ(parts_.pool->free_chunks(), 2u);
  EXPECT_EQ(parts_.pool->spare_chunks(), spare) << "the next flush needs all that is kept";
  EXPECT_EQ(ChunksOf(ChunkKind::kCopied), 0u);
  for (const uint64_t place : places) EXPECT_FALSE(parts_.IsObsolete(place));
  EXPECT_EQ(parts_.tree()->Find("key0"), places[10]);
  for (const uint64_t chunk : filler) parts_.pool->FreeChunk(chunk);
  Flush();
  EXPECT_EQ(parts_.Places(kHead).size(), 10u);
}

// A pool would grow for what its flush has got already.
TEST_F(CopyFlushTest, WritesHaveAsMuchRoomWhileAFlushCopies) {
  const std::string value(kChunkBytes / 8, 'v');
  for (int i = 0; i < 200; ++i) parts_.Put("key" + std::to_string(i), value);
  const int64_t spare = parts_.pool->spare_chunks();
  const uint64_t free_before = parts_.pool->free_chunks();
  {
    CopyFlush flush(parts_.pool.get(), &parts_.usage, nullptr, parts_.table_id());
    ASSERT_TRUE(flush.Run(parts_.tree(), {}, parts_.Head(kHead), LogOf(parts_)).ok());
  }
  EXPECT_LT(parts_.pool->free_chunks() + 20, free_before);
  EXPECT_EQ(parts_.pool->spare_chunks(), spare);
  parts_.pool->EndCopies(0);
  EXPECT_LT(parts_.pool->spare_chunks() + 20, spare) << "who could not use them will copy again";
}

TEST_F(CopyFlushTest, DamageIsNotCopied) {
  parts_.Put("a", "1");
  const uint64_t damaged = parts_.Put("b", "2");
  const EntryHeader* entry = parts_.Entry(damaged);
  *parts_.pool->At(parts_.pool->OffsetOf(entry->value().data())) ^= 1;
  EXPECT_TRUE(Run().status().IsCorruption());
  EXPECT_EQ(ChunksOf(ChunkKind::kCopied), 0u) << "what was copied before is given back";
}

TEST_F(CopyFlushTest, AMediumThatFailsFailsTheFlush) {
  const uint64_t first = parts_.Put("a", "1");
  uint64_t last = first;
  while (parts_.pool->ChunkOf(last) == parts_.pool->ChunkOf(first)) {
    last = parts_.Put("b" + std::to_string(last), std::string(7000, 'v'));
  }
  const auto end = static_cast<off_t>(parts_.pool->ChunkOffset(parts_.pool->ChunkOf(last)));
  ASSERT_EQ(::truncate((parts_.pool.path() + "/segment-000000").c_str(), end), 0);
  EXPECT_FALSE(Run().ok());
  EXPECT_TRUE(parts_.pool->failed());
}

TEST_F(CopyFlushTest, LinksOfWhatStaysAreStoredOnceAllIsCopied) {
  const std::string large(2 * kChunkBytes, 'x');
  const uint64_t kept = parts_.Put("a", large);
  parts_.Put("b", "2");
  const uint64_t also_kept = parts_.Put("c", large);
  parts_.Put("d", "4");
  const uint64_t damaged = parts_.Put("e", "5");
  const uint64_t link = parts_.Entry(kept)->links()[0];
  char* const byte = parts_.pool->At(parts_.pool->OffsetOf(parts_.Entry(damaged)->value().data()));
  *byte ^= 1;
  EXPECT_TRUE(Run().status().IsCorruption());
  EXPECT_EQ(parts_.Entry(kept)->links()[0], link) << "its readers go on in the memtable";
  *byte ^= 1;
  Flush();
  EXPECT_EQ(parts_.Entries(kHead),
            (Strings{"a@1=(large)", "b@2=2", "c@3=(large)", "d@4=4", "e@5=5"}));
  EXPECT_EQ(parts_.Places(kHead).at(0), kept);
  EXPECT_EQ(parts_.Places(kHead).at(2), also_kept);
  EXPECT_EQ(parts_.tree()->Find("c"), also_kept);
  EXPECT_EQ(parts_.tree()->Find("d"), parts_.Places(kHead).at(3));
  parts_.ExpectSoundTowers(kHead);
}

TEST_F(CopyFlushTest, CopiesLieInTheOrderOfTheirKeys) {
  for (int i = 0; i < 400; ++i) {
    parts_.Put("key" + std::to_string(i * 7 % 400), std::string(60, 'v'));
  }
  Flush();
  const std::vector<uint64_t> copies = parts_.Places(kHead);
  ASSERT_EQ(copies.size(), 400u);
  uint64_t jumps = 0;
  for (size_t i = 1; i < copies.size(); ++i) {
    const uint64_t end = copies[i - 1] + parts_.Entry(copies[i - 1])->size();
    jumps += copies[i] == end ? 0 : 1;
  }
  EXPECT_LE(jumps, 6u) << "from chunk to chunk only";
}

TEST_F(CopyFlushTest, TheLookupCacheIsToldOfCopies) {
  cache::LookupCache lookup(parts_.pool.get(), 1u << 20);
  ASSERT_TRUE(lookup.ok());
  const uint64_t original = parts_.Put("k", "1");
  CopyFlush flush(parts_.pool.get(), &parts_.usage, &lookup, parts_.table_id());
  ASSERT_TRUE(flush.Run(parts_.tree(), {}, parts_.Head(kHead), LogOf(parts_)).ok());
  EXPECT_TRUE(lookup.Names(base::Hash64("k"), parts_.Places(kHead).at(0)));
  EXPECT_FALSE(lookup.Names(base::Hash64("k"), original));
}

TEST(CopyFlushOfRegionsTest, ACopyLiesInTheRegionOfItsOriginal) {
  Options options = test::PoolOfSmallChunks(256);
  options.pool.regions = 2;
  test::FlushParts parts(options, LogKind::kWriteAhead);
  for (uint32_t i = 0; i < 600; ++i) {
    const uint32_t region = i * 7 % 3 == 0 ? 1 : 0;
    parts.Put("key" + std::to_string(i), std::to_string(region), 0, region);
  }
  CopyFlush flush(parts.pool.get(), &parts.usage, nullptr, parts.table_id());
  ASSERT_TRUE(flush.Run(parts.tree(), {}, parts.Head(5), LogOf(parts)).ok());
  const std::vector<uint64_t> copies = parts.Places(5);
  ASSERT_EQ(copies.size(), 600u);
  for (const uint64_t copy : copies) {
    EXPECT_EQ(std::to_string(parts.pool->RegionOf(copy)), parts.Entry(copy)->value());
  }
  parts.ExpectSoundTowers(5);
}

}  // namespace
}  // namespace braid::flush
