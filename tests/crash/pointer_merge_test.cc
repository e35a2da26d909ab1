// Tests the order in which a merge by pointers makes its steps durable, where a wrong one shows
// only when the merge has gone on to its end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "crash/image_checker.h"
#include "crash/small_device.h"

namespace braid::crash {
namespace {

class PointerMergeTest : public ::testing::Test {
 protected:
  PointerMergeTest() { options_.compaction.persistence = MergePersistence::kPointer; }

  /// Loses power now, where one line alone of those that wait was written back, then another one.
  /// After the merge has gone on, what was deleted must be so still.
  void LosePower(SmallDevice* device) {
    const sim::WritebackUnits units = device->sim.Units();
    for (size_t unit = 0; unit < units.counts().size(); ++unit) {
      std::vector<uint32_t> choice(units.counts().size(), 0);
      choice[unit] = units.counts()[unit];
      SmallDevice after(MediaClass::kCacheLine);
      device->medium.PushFrame();
      device->sim.MakeImage(units.LinePrefixes(choice, 0));
      after.CopyMedium(device->medium);
      device->medium.PopFrame();
      after.sim.set_tracking(false);
      const ReadSectionPause pause;
      const std::unique_ptr<DB> db = after.Open(options_, "another boot");
      if (db == nullptr) return;
      ++images_;
      ASSERT_TRUE(db->Compact().ok());
      std::string value;
      EXPECT_TRUE(db->Get("deleted", &value).IsNotFound()) << "it has come back";
      EXPECT_TRUE(db->Get("after", &value).ok());
      EXPECT_EQ(CheckStructure(db.get()), "");
    }
  }

  Options options_ = BareOptions();
  int images_ = 0;
};

TEST_F(PointerMergeTest, ADeleteIsMarkedAsMergedWhenWhatItHidesIsUnlinked) {
  SmallDevice device(MediaClass::kCacheLine);
  device.sim.Start(0);
  const std::unique_ptr<DB> db = device.Open(options_, "boot");
  ASSERT_NE(db, nullptr);
  for (const char* key : {"a", "after", "deleted"}) ASSERT_TRUE(db->Put(key, "value").ok());
  ASSERT_TRUE(db->Compact().ok());
  ASSERT_TRUE(db->Delete("deleted").ok());
  device.sim.set_on_point([&](sim::PointKind) { LosePower(&device); });
  ASSERT_TRUE(db->Compact().ok());
  device.sim.set_on_point({});
  EXPECT_GT(images_, 4);
}

}  // namespace
}  // namespace braid::crash
