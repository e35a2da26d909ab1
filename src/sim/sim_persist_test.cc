// The simulator against hand-made sequences whose sets of crash states are known, and against two
// toy structures, with and without the flush or fence they need.
#if defined(BRAID_CRASHSIM)

#include "sim/sim_persist.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "sim/sim_media.h"

namespace braid::sim {
namespace {

constexpr uint64_t kBytes = 64 * 1024;
constexpr ImageLimits kAll{1u << 20, 1};

/// A simulated device with one segment over all of it.
class Device {
 public:
  explicit Device(uint64_t seed = 1, MediaClass media_class = MediaClass::kCacheLine)
      : memory_(kBytes),
        durable_(kBytes),
        sim_(&memory_, &durable_, seed, media_class),
        ops_(media_class) {
    ops_.set_hook(&sim_);
    sim_.AddSegment(0, kBytes);
    sim_.PublishSegment();
  }

  SimArea& memory() { return memory_; }
  SimArea& durable() { return durable_; }
  SimPersist& sim() { return sim_; }
  media::PersistOps& ops() { return ops_; }
  uint64_t* Word(uint64_t index) { return reinterpret_cast<uint64_t*>(memory_.base()) + index; }

  /// Calls `look` with the words of every image that the state at this moment allows.
  template <class Look>
  uint64_t ForEachImage(Look&& look, uint64_t tear = 0) {
    const WritebackUnits units = sim_.Units();
    const ImagePlan plan(units.counts(), kAll, 1);
    EXPECT_TRUE(plan.exhaustive());
    std::vector<uint32_t> choice;
    for (uint64_t image = 0; image < plan.size(); ++image) {
      plan.Choose(image, &choice);
      durable_.PushFrame();
      sim_.MakeImage(units.LinePrefixes(choice, tear));
      look(reinterpret_cast<const uint64_t*>(durable_.base()));
      durable_.PopFrame();
    }
    return plan.size();
  }

  /// The images as they show in the given words.
  std::set<std::vector<uint64_t>> Images(const std::vector<uint64_t>& words, uint64_t tear = 0) {
    std::set<std::vector<uint64_t>> images;
    ForEachImage(
        [&](const uint64_t* area) {
          std::vector<uint64_t> shown;
          for (const uint64_t word : words) shown.push_back(area[word]);
          images.insert(shown);
        },
        tear);
    return images;
  }

 private:
  SimArea memory_;
  SimArea durable_;
  SimPersist sim_;
  media::PersistOps ops_;
};

using Images = std::set<std::vector<uint64_t>>;

TEST(SimPersistTest, StoresToOneLinePersistInProgramOrder) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().StoreU64(device.Word(1), 2);
  device.ops().StoreU64(device.Word(0), 3);
  EXPECT_EQ(device.Images({0, 1}), (Images{{0, 0}, {1, 0}, {1, 2}, {3, 2}}));
}

TEST(SimPersistTest, LinesPersistInAnyOrder) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().StoreU64(device.Word(8), 2);
  EXPECT_EQ(device.Images({0, 8}), (Images{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(SimPersistTest, FlushAndFenceMakeALineDurable) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().StoreU64(device.Word(8), 2);
  device.ops().Persist(device.Word(0), 8, media::Site::kOutside);
  EXPECT_EQ(device.Images({0, 8}), (Images{{1, 0}, {1, 2}}));
}

TEST(SimPersistTest, FlushWithoutFenceGuaranteesNothing) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().Flush(device.Word(0), 8, media::Site::kOutside);
  EXPECT_EQ(device.Images({0}), (Images{{0}, {1}}));
}

TEST(SimPersistTest, FenceWithoutFlushGuaranteesNothing) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().Fence(media::Site::kOutside);
  EXPECT_EQ(device.Images({0}), (Images{{0}, {1}}));
}

TEST(SimPersistTest, AStoreBehindTheFlushIsNotCoveredByIt) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().Flush(device.Word(0), 8, media::Site::kOutside);
  device.ops().StoreU64(device.Word(0), 2);
  device.ops().Fence(media::Site::kOutside);
  EXPECT_EQ(device.Images({0}), (Images{{1}, {2}}));
}

TEST(SimPersistTest, FlushCoversEveryLineThatHoldsAByteOfItsRange) {
  Device device;
  for (const uint64_t word : {7u, 8u, 16u}) device.ops().StoreU64(device.Word(word), 9);
  device.ops().Persist(reinterpret_cast<char*>(device.Word(7)) + 4, 2 + 4 + 56,
                       media::Site::kOutside);
  EXPECT_EQ(device.Images({7, 8, 16}), (Images{{9, 9, 0}, {9, 9, 9}}));
}

TEST(SimPersistTest, AByteStoreChangesItsWordAtOnce) {
  Device device;
  device.ops().StoreU64(device.Word(2), 0x1111);
  device.ops().Persist(device.Word(2), 8, media::Site::kOutside);
  device.ops().StoreByte(reinterpret_cast<uint8_t*>(device.Word(2)) + 7, 0xA5);
  EXPECT_EQ(device.Images({2}), (Images{{0x1111}, {0xA500000000001111u}}));
}

TEST(SimPersistTest, AFenceCoversTheFlushesOfItsOwnThreadOnly) {
  Device device;
  device.sim().AdoptThread(0);
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().Flush(device.Word(0), 8, media::Site::kOutside);
  device.sim().AdoptThread(1);
  device.ops().StoreU64(device.Word(8), 2);
  device.ops().Persist(device.Word(8), 8, media::Site::kOutside);
  EXPECT_EQ(device.Images({0, 8}), (Images{{0, 2}, {1, 2}}));
  device.sim().AdoptThread(0);
  device.ops().StoreU64(device.Word(0), 3);  // behind the flush of its line
  device.ops().Fence(media::Site::kOutside);
  EXPECT_EQ(device.Images({0, 8}), (Images{{1, 2}, {3, 2}}));
}

TEST(SimPersistTest, WithEadrStoresPersistInProgramOrderAcrossLines) {
  Device device(1, MediaClass::kByte);
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().StoreU64(device.Word(8), 2);
  device.ops().StoreU64(device.Word(0), 3);
  EXPECT_EQ(device.Images({0, 8}), (Images{{0, 0}, {1, 0}, {1, 2}, {3, 2}}));
  device.ops().Fence(media::Site::kOutside);  // no flush needed
  EXPECT_EQ(device.Images({0, 8}), (Images{{3, 2}}));
}

TEST(SimPersistTest, ThePageCacheWritesPagesBackAsTheyWereAtSomeMoment) {
  Device device(1, MediaClass::kPage);
  constexpr uint64_t kNextPage = kSimPageBytes / sizeof(uint64_t);
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().StoreU64(device.Word(8), 2);  // the same page, another line
  device.ops().StoreU64(device.Word(kNextPage), 3);
  device.ops().Persist(device.Word(0), kBytes, media::Site::kOutside);  // means nothing there
  EXPECT_EQ(device.Images({0, 8, kNextPage}),
            (Images{{0, 0, 0}, {1, 0, 0}, {1, 2, 0}, {0, 0, 3}, {1, 0, 3}, {1, 2, 3}}));
  device.sim().OnSync(8, 8);
  EXPECT_EQ(device.Images({0, 8, kNextPage}), (Images{{1, 2, 0}, {1, 2, 3}}));
}

TEST(SimPersistTest, ATornPageHasSectorsOfTwoMoments) {
  Device device(1, MediaClass::kPage);
  constexpr uint64_t kLastSector = (kSimPageBytes - kSimSectorBytes) / sizeof(uint64_t);
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().StoreU64(device.Word(kLastSector), 2);
  Images torn;
  for (uint64_t tear = 1; tear < 40; ++tear) torn.merge(device.Images({0, kLastSector}, tear));
  EXPECT_EQ(torn, (Images{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(SimPersistTest, StoringTheSameValueAddsNoState) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().Persist(device.Word(0), 8, media::Site::kOutside);
  device.ops().StoreU64(device.Word(0), 1);
  EXPECT_TRUE(device.sim().Units().counts().empty());
}

TEST(SimPersistTest, ACopyTearsAtWordsInEveryOrderThatMachinesUse) {
  const uint64_t source[3] = {1, 2, 3};
  std::set<Images> seen;
  for (uint64_t seed = 1; seed <= 64; ++seed) {
    Device device(seed);
    device.ops().Copy(device.Word(0), source, sizeof source);
    seen.insert(device.Images({0, 1, 2}));
  }
  const Images ascending{{0, 0, 0}, {1, 0, 0}, {1, 2, 0}, {1, 2, 3}};
  const Images descending{{0, 0, 0}, {0, 0, 3}, {0, 2, 3}, {1, 2, 3}};
  const Images last_first{{0, 0, 0}, {0, 0, 3}, {1, 0, 3}, {1, 2, 3}};
  EXPECT_EQ(seen, (std::set<Images>{ascending, descending, last_first}));
}

TEST(SimPersistTest, AnUnalignedCopyNeverTearsInsideAWord) {
  Device device;
  const char source[] = "abcdefgh";
  device.ops().Copy(reinterpret_cast<char*>(device.Word(0)) + 4, source, 8);
  for (const std::vector<uint64_t>& image : device.Images({0, 1})) {
    EXPECT_TRUE(image[0] == 0 || image[0] == 0x6463626100000000u);
    EXPECT_TRUE(image[1] == 0 || image[1] == 0x68676665u);
  }
}

TEST(SimPersistTest, PointsComeBeforeTheFenceTakesEffect) {
  Device device;
  std::vector<std::pair<PointKind, size_t>> points;
  device.sim().set_on_point(
      [&](PointKind kind) { points.emplace_back(kind, device.sim().Units().counts().size()); });
  device.ops().StoreU64(device.Word(0), 1);
  device.ops().Persist(device.Word(0), 8, media::Site::kOutside);
  device.sim().Acknowledge();
  EXPECT_EQ(points, (std::vector<std::pair<PointKind, size_t>>{{PointKind::kFence, 1},
                                                               {PointKind::kAcknowledge, 0}}));
}

TEST(SimPersistTest, EqualContentHasEqualHashWhateverLedToIt) {
  Device one;
  one.ops().StoreU64(one.Word(0), 5);
  one.ops().StoreU64(one.Word(9), 6);
  one.ops().Persist(one.Word(9), 8, media::Site::kOutside);
  Device two;
  two.ops().StoreU64(two.Word(9), 6);
  two.ops().StoreU64(two.Word(0), 4);
  two.ops().Persist(two.Word(0), 8, media::Site::kOutside);
  two.ops().StoreU64(two.Word(0), 5);
  EXPECT_EQ(one.sim().ImageHash({1}), two.sim().ImageHash({1, 1}));
  EXPECT_NE(one.sim().ImageHash({0}), one.sim().ImageHash({1}));
}

TEST(SimPersistTest, TheHashOfAnImageIsTheHashOfItsContent) {
  Device device;
  const std::string text(300, 'x');
  device.ops().Copy(device.Word(3), text.data(), text.size());
  device.ops().Flush(device.Word(3), 100, media::Site::kOutside);
  device.ops().Fence(media::Site::kOutside);
  device.ops().StoreU64(device.Word(10), 77);
  EXPECT_EQ(device.sim().durable_hash(), SimPersist::HashOf(device.durable()));
  const ImagePlan plan(device.sim().Units().counts(), kAll, 1);
  std::vector<uint32_t> prefixes;
  for (uint64_t image = 0; image < plan.size(); image += 7) {
    plan.Choose(image, &prefixes);
    device.durable().PushFrame();
    device.sim().MakeImage(prefixes);
    EXPECT_EQ(device.sim().ImageHash(prefixes), SimPersist::HashOf(device.durable()));
    device.durable().PopFrame();
  }
}

TEST(SimPersistTest, ImagesInPlaceEqualImagesInTheDurableArea) {
  Device device;
  SimArea area(kBytes);
  SimPersist inner(&area, nullptr, 1);
  media::PersistOps ops(MediaClass::kCacheLine);
  ops.set_hook(&inner);
  auto* words = reinterpret_cast<uint64_t*>(area.base());
  for (const uint64_t word : {0u, 1u, 8u, 0u}) {
    ops.StoreU64(words + word, word + 10);
    device.ops().StoreU64(device.Word(word), word + 10);
  }
  const Images expected = device.Images({0, 1, 8});
  Images seen;
  const ImagePlan plan(inner.Units().counts(), kAll, 1);
  std::vector<uint32_t> prefixes;
  for (uint64_t image = 0; image < plan.size(); ++image) {
    plan.Choose(image, &prefixes);
    area.PushFrame();
    inner.MakeImage(prefixes);
    seen.insert({words[0], words[1], words[8]});
    area.PopFrame();
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(words[0], 10u);
  EXPECT_EQ(words[8], 18u);
}

TEST(SimAreaTest, FramesRollBackToWhereTheyWerePushed) {
  Device device;
  SimArea area(kBytes);
  SimPersist sim(&area, nullptr, 1);
  sim.set_tracking(false);
  media::PersistOps ops(MediaClass::kCacheLine);
  ops.set_hook(&sim);
  auto* words = reinterpret_cast<uint64_t*>(area.base());
  sim.AddSegment(0, kBytes / 2);
  sim.PublishSegment();
  ops.StoreU64(words, 1);
  area.PushFrame();
  ops.StoreU64(words, 2);
  area.PushFrame();
  ops.StoreU64(words, 3);
  ops.StoreU64(words + 100, 3);
  sim.AddSegment(kBytes / 2, kBytes / 2);
  sim.PublishSegment();
  area.PopFrame();
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(words[100], 0u);
  EXPECT_EQ(area.segments().size(), 1u);
  ops.StoreU64(words, 4);
  area.PopFrame();
  EXPECT_EQ(words[0], 1u);
}

TEST(SimMediaTest, ASegmentExistsFromItsPublicationOn) {
  SimArea memory(kBytes);
  SimArea durable(kBytes);
  SimPersist sim(&memory, &durable, 1);
  SimMedia media(&sim, "boot");
  media::PersistOps ops(media.media_class());
  ops.set_hook(media.hook());
  std::vector<size_t> at_points;
  sim.set_on_point([&](PointKind) { at_points.push_back(durable.segments().size()); });
  ASSERT_TRUE(media.AddSegment(kBytes / 2).ok());
  ops.StoreU64(reinterpret_cast<uint64_t*>(media.base()), 7);
  ops.Persist(media.base(), 8, media::Site::kOutside);
  ASSERT_TRUE(media.PublishSegment().ok());
  sim.Acknowledge();
  EXPECT_EQ(at_points, (std::vector<size_t>{0, 0, 1}));
  EXPECT_EQ(media.segment_bytes(), (std::vector<uint64_t>{kBytes / 2}));
  EXPECT_EQ(sim.durable_hash(), SimPersist::HashOf(durable));
  EXPECT_TRUE(media.AddSegment(kBytes).IsOutOfSpace());
}

TEST(SimMediaTest, AnAddedSegmentIsZeroWhateverAnEarlierOneLeft) {
  SimArea memory(kBytes);
  SimArea durable(kBytes);
  SimPersist sim(&memory, &durable, 1);
  SimMedia media(&sim, "boot");
  media::PersistOps ops(media.media_class());
  ops.set_hook(media.hook());
  auto* words = reinterpret_cast<uint64_t*>(media.base());
  ASSERT_TRUE(media.AddSegment(kBytes / 2).ok());
  ops.StoreU64(words, 7);
  ops.Persist(words, 8, media::Site::kOutside);
  ops.StoreU64(words, 8);
  ops.StoreU64(words + 8, 9);
  ASSERT_TRUE(media.AddSegment(kBytes / 2).ok());
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[8], 0u);
  EXPECT_TRUE(sim.Units().counts().empty());
  EXPECT_EQ(sim.durable_hash(), SimPersist::HashOf(durable));
}

// ---- The safety net --------------------------------------------------------------------------

TEST(SimPersistTest, AStoreAroundTheSeamIsReportedWithItsOffset) {
  Device device;
  device.ops().StoreU64(device.Word(0), 1);
  *device.Word(5) = 2;
  device.ops().Persist(device.Word(0), 8, media::Site::kOutside);
  EXPECT_NE(device.sim().violation().find("offset 0x28"), std::string::npos);
}

TEST(SimPersistTest, AStoreAroundTheSeamIsNotAbsorbedByTheNextOneToItsWord) {
  Device device;
  reinterpret_cast<uint8_t*>(device.Word(5))[0] = 1;
  device.ops().StoreByte(reinterpret_cast<uint8_t*>(device.Word(5)) + 7, 2);
  EXPECT_NE(device.sim().violation().find("offset 0x28"), std::string::npos);
}

TEST(SimPersistTest, AStoreAroundTheSeamFarAwayIsFoundByTheWholeCheck) {
  Device device;
  *device.Word(1000) = 2;
  device.ops().Fence(media::Site::kOutside);
  EXPECT_EQ(device.sim().violation(), "");
  device.sim().CheckWholePool();
  EXPECT_NE(device.sim().violation().find("offset 0x1f40"), std::string::npos);
}

TEST(SimPersistTest, OrdinaryUseViolatesNothing) {
  Device device;
  for (uint64_t i = 0; i < 200; ++i) {
    device.ops().StoreU64(device.Word(i * 7 % 512), i);
    if (i % 3 == 0) device.ops().Flush(device.Word(i * 7 % 512), 8, media::Site::kOutside);
    if (i % 5 == 0) device.ops().Fence(media::Site::kOutside);
  }
  device.sim().CheckWholePool();
  EXPECT_EQ(device.sim().violation(), "");
}

// ---- The plan of images ------------------------------------------------------------------------

TEST(ImagePlanTest, ASmallPlanHasEveryChoiceOnce) {
  const ImagePlan plan({2, 1, 3}, {4096, 10}, 1);
  EXPECT_TRUE(plan.exhaustive());
  EXPECT_EQ(plan.size(), 3u * 2 * 4);
  std::set<std::vector<uint32_t>> seen;
  std::vector<uint32_t> prefixes;
  for (uint64_t image = 0; image < plan.size(); ++image) {
    plan.Choose(image, &prefixes);
    for (size_t i = 0; i < prefixes.size(); ++i) EXPECT_LE(prefixes[i], plan.all()[i]);
    seen.insert(prefixes);
  }
  EXPECT_EQ(seen.size(), plan.size());
  EXPECT_EQ(seen.count({0, 0, 0}), 1u);
  EXPECT_EQ(seen.count({2, 1, 3}), 1u);
}

TEST(ImagePlanTest, ALargePlanStartsWithNoneAllEachAloneEachMissingAndPairs) {
  const std::vector<uint32_t> pending(6, 8);
  const ImagePlan plan(pending, {4096, 256}, 1);
  EXPECT_FALSE(plan.exhaustive());
  EXPECT_EQ(plan.size(), 256u);
  std::set<std::vector<uint32_t>> seen;
  std::vector<uint32_t> prefixes;
  for (uint64_t image = 0; image < plan.size(); ++image) {
    plan.Choose(image, &prefixes);
    seen.insert(prefixes);
  }
  EXPECT_EQ(seen.count(std::vector<uint32_t>(6, 0)), 1u);
  EXPECT_EQ(seen.count(pending), 1u);
  for (size_t i = 0; i < 6; ++i) {
    std::vector<uint32_t> alone(6, 0);
    alone[i] = 8;
    EXPECT_EQ(seen.count(alone), 1u);
    std::vector<uint32_t> missing = pending;
    missing[i] = 0;
    EXPECT_EQ(seen.count(missing), 1u);
    for (size_t j = 0; j < i; ++j) {
      std::vector<uint32_t> pair = alone;
      pair[j] = 8;
      EXPECT_EQ(seen.count(pair), 1u);
    }
  }
  EXPECT_GT(seen.size(), 150u);
}

TEST(ImagePlanTest, AnImageIsTheSameEveryTimeItIsChosen) {
  const std::vector<uint32_t> pending(40, 8);
  const ImagePlan one(pending, {64, 128}, 7);
  const ImagePlan two(pending, {64, 128}, 7);
  std::vector<uint32_t> a;
  std::vector<uint32_t> b;
  for (uint64_t image = 128; image-- > 0;) {
    one.Choose(image, &a);
    two.Choose(image, &b);
    EXPECT_EQ(a, b);
  }
}

// ---- A toy log: the entry's check tells a torn entry
// ------------------------------------------------

enum class Fault { kNone, kNoFlush, kNoFence, kNoCheck };

struct ToyEntry {
  uint64_t words[7];
  uint64_t check;
};
static_assert(sizeof(ToyEntry) == media::kLineBytes);

uint64_t ToyCheck(const ToyEntry& entry) { return base::Hash64(&entry, sizeof entry - 8) | 1; }

/// Entries that recovery finds, from the start to the first that does not verify.
size_t RecoverToyLog(const uint64_t* area, bool verify) {
  const auto* entries = reinterpret_cast<const ToyEntry*>(area);
  size_t count = 0;
  while (entries[count].check != 0 &&
         (!verify || entries[count].check == ToyCheck(entries[count]))) {
    ++count;
  }
  return count;
}

/// Appends three entries and returns how many images of all crash points are wrong.
uint64_t RunToyLog(Fault fault) {
  uint64_t wrong = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Device device(seed);
    size_t acknowledged = 0;
    size_t begun = 0;
    device.sim().set_on_point([&](PointKind) {
      device.ForEachImage([&](const uint64_t* area) {
        const size_t found = RecoverToyLog(area, fault != Fault::kNoCheck);
        bool right = found >= acknowledged && found <= begun;
        for (size_t i = 0; i < found && right; ++i) {
          for (size_t k = 0; k < 7; ++k) right = right && area[i * 8 + k] == i * 100 + k + 1;
        }
        if (!right) ++wrong;
      });
    });
    for (uint64_t i = 0; i < 3; ++i) {
      ToyEntry entry{};
      for (uint64_t k = 0; k < 7; ++k) entry.words[k] = i * 100 + k + 1;
      entry.check = ToyCheck(entry);
      ++begun;
      device.ops().Copy(device.Word(i * 8), &entry, sizeof entry);
      if (fault != Fault::kNoFlush)
        device.ops().Flush(device.Word(i * 8), sizeof entry, media::Site::kOutside);
      if (fault != Fault::kNoFence) device.ops().Fence(media::Site::kOutside);
      ++acknowledged;
      device.sim().Acknowledge();
    }
  }
  return wrong;
}

TEST(SimPersistToyTest, ARightLogHasNoWrongImage) { EXPECT_EQ(RunToyLog(Fault::kNone), 0u); }
TEST(SimPersistToyTest, ALogWithoutFlushLosesEntries) { EXPECT_GT(RunToyLog(Fault::kNoFlush), 0u); }
TEST(SimPersistToyTest, ALogWithoutFenceLosesEntries) { EXPECT_GT(RunToyLog(Fault::kNoFence), 0u); }
TEST(SimPersistToyTest, ALogWithoutChecksTakesTornEntries) {
  EXPECT_GT(RunToyLog(Fault::kNoCheck), 0u);
}

// ---- A toy list: the node before the link that leads to it
// --------------------------------------------

/// Pushes nodes before the head; word 0 is the head, a node is {value, next} in a line of its own.
uint64_t RunToyList(bool node_first, bool link_flushed) {
  Device device;
  uint64_t wrong = 0;
  uint64_t acknowledged = 0;
  device.sim().set_on_point([&](PointKind) {
    device.ForEachImage([&](const uint64_t* area) {
      uint64_t length = 0;
      bool right = true;
      for (uint64_t at = area[0]; at != 0 && right; at = area[at + 1]) {
        ++length;
        right = area[at] == at * 1000 && length <= 8;
      }
      if (!right || length < acknowledged) ++wrong;
    });
  });
  for (uint64_t i = 1; i <= 4; ++i) {
    const uint64_t node = i * 8;
    device.ops().StoreU64(device.Word(node), node * 1000);
    device.ops().StoreU64(device.Word(node + 1), *device.Word(0));
    device.ops().Flush(device.Word(node), 16, media::Site::kOutside);
    if (node_first) device.ops().Fence(media::Site::kOutside);
    device.ops().StoreU64(device.Word(0), node);
    if (link_flushed) device.ops().Flush(device.Word(0), 8, media::Site::kOutside);
    device.ops().Fence(media::Site::kOutside);
    ++acknowledged;
    device.sim().Acknowledge();
  }
  return wrong;
}

TEST(SimPersistToyTest, ARightListHasNoWrongImage) { EXPECT_EQ(RunToyList(true, true), 0u); }
TEST(SimPersistToyTest, ALinkBeforeItsNodeIsFound) { EXPECT_GT(RunToyList(false, true), 0u); }
TEST(SimPersistToyTest, ALinkWithoutFlushIsFound) { EXPECT_GT(RunToyList(true, false), 0u); }

}  // namespace
}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
