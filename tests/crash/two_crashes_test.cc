// Tests a crash of the process and then a loss of power, while the store recovers from the first:
// what recovery found in the page cache alone must not be what it builds upon.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "crash/image_checker.h"
#include "crash/small_device.h"
#include "format/entry.h"
#include "format/layout.h"

namespace braid::crash {
namespace {

class TwoCrashesTest : public ::testing::Test {
 protected:
  static uint8_t StateAt(const sim::SimArea& area, uint64_t entry) {
    return reinterpret_cast<const format::EntryHeader*>(area.base() + entry)->state();
  }
  /// Of the one large value that there is.
  static uint64_t OwnerOfTheExtent(const sim::SimArea& area) {
    const auto* states =
        reinterpret_cast<const uint64_t*>(area.base() + format::kFirstStateTableOffset);
    for (uint64_t chunk = 0; chunk < area.published_bytes() / kBareChunkBytes; ++chunk) {
      if (format::ChunkState{states[chunk]}.kind() != format::ChunkKind::kExtentHead) continue;
      format::ExtentHeader header;
      std::memcpy(&header, area.base() + chunk * kBareChunkBytes, sizeof header);
      return header.owner;
    }
    ADD_FAILURE() << "there is no extent";
    return 0;
  }

  /// Dies in a merge that has marked a large value's entry obsolete. The new one is the page cache
  /// as it was then, over the medium.
  void DieInTheMerge(SmallDevice* dies, SmallDevice* next) {
    const std::unique_ptr<DB> db = dies->Open(options_, "boot");
    ASSERT_TRUE(db->Put("large", std::string(3 * kBareChunkBytes, 'l')).ok());
    ASSERT_TRUE(db->Compact().ok());
    entry_ = OwnerOfTheExtent(dies->memory);
    ASSERT_EQ(StateAt(dies->memory, entry_), format::kStateLive);
    ASSERT_TRUE(db->Put("large", "small").ok());
    std::vector<char> cached;
    dies->sim.set_on_point([&](sim::PointKind) {
      if (!cached.empty() || StateAt(dies->memory, entry_) != format::kStateObsolete) return;
      const char* bytes = dies->memory.base();
      cached.assign(bytes, bytes + dies->memory.published_bytes());
      next->CopyMedium(dies->medium);
      next->sim.Start(dies->sim.durable_hash());
      std::memcpy(next->memory.base(), cached.data(), cached.size());
      next->sim.Inherit(dies->sim);
    });
    ASSERT_TRUE(db->Compact().ok());
    ASSERT_FALSE(cached.empty());
    ASSERT_EQ(StateAt(next->memory, entry_), format::kStateObsolete);
    ASSERT_EQ(StateAt(next->medium, entry_), format::kStateLive) << "in the page cache alone";
  }

  /// Loses power now: all pages were written back but the entry's. True when that page had
  /// anything to lose.
  bool LosePower(SmallDevice* device) {
    const sim::WritebackUnits units = device->sim.Units();
    bool lost = false;
    for (size_t unit = 0; unit < units.counts().size(); ++unit) {
      std::vector<uint32_t> choice = units.counts();
      choice[unit] = 0;
      SmallDevice after(MediaClass::kPage);
      device->medium.PushFrame();
      device->sim.MakeImage(units.LinePrefixes(choice, 0));
      const bool is_its_page = StateAt(device->medium, entry_) == format::kStateLive;
      if (is_its_page) {
        after.CopyMedium(device->medium);
      }
      device->medium.PopFrame();
      if (!is_its_page) continue;
      lost = true;
      after.sim.set_tracking(false);
      const ReadSectionPause pause;
      const std::unique_ptr<DB> db = after.Open(options_, "another boot");
      if (db == nullptr) return lost;
      std::string value;
      EXPECT_TRUE(db->Get("large", &value).ok());
      EXPECT_EQ(value, "small");
      EXPECT_EQ(CheckStructure(db.get()), "");
    }
    return lost;
  }

  /// Where the entry of `key` is as processes see it; 0 when there is none. The key is in the
  /// memory once, and has one link more at most than bits in its place.
  static uint64_t EntryOf(const sim::SimArea& area, std::string_view key) {
    const std::string_view bytes{area.base(), area.published_bytes()};
    const size_t place = bytes.find(key);
    if (place == std::string_view::npos) return 0;
    for (uint64_t height = 1; height <= format::kMaxHeight; ++height) {
      const uint64_t offset = place - sizeof(format::EntryHeader) - 8 * height;
      const auto* entry = reinterpret_cast<const format::EntryHeader*>(area.base() + offset);
      if (entry->height() == height && entry->key() == key) return offset;
    }
    return 0;
  }

  /// Loses power in a put: of its entry the header and the key reached the medium, and the value
  /// did not. The new one is the medium as it was then.
  void TearAPut(SmallDevice* dies, SmallDevice* next) {
    const std::string key = "the key of a torn entry";
    const std::unique_ptr<DB> db = dies->Open(options_, "boot");
    ASSERT_TRUE(db->Put("a", "acknowledged").ok());
    dies->sim.Acknowledge();
    dies->sim.set_on_point([&](sim::PointKind) {
      if (entry_ != 0) return;
      const uint64_t entry = EntryOf(dies->memory, key);
      if (entry == 0) return;
      const sim::WritebackUnits units = dies->sim.Units();
      for (size_t unit = 0; unit < units.counts().size() && entry_ == 0; ++unit) {
        std::vector<uint32_t> choice = units.counts();
        choice[unit] = 0;
        dies->medium.PushFrame();
        dies->sim.MakeImage(units.LinePrefixes(choice, 0));
        const std::string_view medium{dies->medium.base(), dies->medium.published_bytes()};
        if (EntryOf(dies->medium, key) == entry && medium.find(torn_value_) == medium.npos) {
          entry_ = entry;
          next->CopyMedium(dies->medium);
          next->sim.Start(dies->sim.durable_hash());
        }
        dies->medium.PopFrame();
      }
    });
    ASSERT_TRUE(db->Put(key, torn_value_).ok());
    ASSERT_NE(entry_, 0u) << "no image has the key and not the value";
    ASSERT_EQ(StateAt(next->medium, entry_), format::kStateLive);
  }

  const Options options_ = BareOptions();
  const std::string torn_value_ = std::string(5 * media::kLineBytes, 'v');
  uint64_t entry_ = 0;
};

TEST_F(TwoCrashesTest, AMarkOfDeathIsOnTheMediumBeforeItsExtentIsFreed) {
  SmallDevice first(MediaClass::kPage);
  SmallDevice second(MediaClass::kPage);
  DieInTheMerge(&first, &second);
  int losses = 0;
  second.sim.set_on_point([&](sim::PointKind) { losses += LosePower(&second) ? 1 : 0; });
  const std::unique_ptr<DB> db = second.Open(options_, "boot");
  ASSERT_NE(db, nullptr);
  second.sim.Acknowledge();
  EXPECT_GT(losses, 0);
}

// The chunk becomes one of the table that the log becomes: an entry that is live in it and in no
// list would be taken for one of that table (recovery, collection).
TEST_F(TwoCrashesTest, AMarkOfATornEntryIsOnTheMediumWhenTheStoreIsOpen) {
  SmallDevice first(MediaClass::kCacheLine);
  SmallDevice second(MediaClass::kCacheLine);
  TearAPut(&first, &second);
  {
    const std::unique_ptr<DB> db = second.Open(options_, "another boot");
    ASSERT_NE(db, nullptr);
    ASSERT_EQ(StateAt(second.memory, entry_), format::kStateVoid);
    const sim::WritebackUnits units = second.sim.Units();
    const std::vector<uint32_t> nothing(units.counts().size(), 0);
    second.medium.PushFrame();
    second.sim.MakeImage(units.LinePrefixes(nothing, 0));
    SmallDevice third(MediaClass::kCacheLine);
    third.CopyMedium(second.medium);
    second.medium.PopFrame();
    EXPECT_EQ(StateAt(third.memory, entry_), format::kStateVoid);
    third.sim.set_tracking(false);
    const std::unique_ptr<DB> again = third.Open(options_, "a third boot");
    ASSERT_NE(again, nullptr);
    std::string value;
    EXPECT_TRUE(again->Get("a", &value).ok());
    EXPECT_EQ(CheckStructure(again.get()), "");
  }
  second.sim.Acknowledge();
}

}  // namespace
}  // namespace braid::crash
