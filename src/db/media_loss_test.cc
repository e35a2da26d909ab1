// Tests of pools whose memory was shut down dirty: noted at each open, compared at the next one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "braid/db.h"
#include "braid/event_listener.h"
#include "design/design.h"
#include "support/child_process.h"
#include "support/made_up_sysfs.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

class Listener : public EventListener {
 public:
  void OnRecovery(const Recovery& recovery) noexcept override { last = recovery; }
  Recovery last;
};

class MediaLossTest : public ::testing::TestWithParam<std::string> {
 protected:
  MediaLossTest() {
    options_.design = GetParam();
    options_.pool.chunk_bytes = 16 << 10;
    options_.pool.initial_bytes = 1 << 20;
    options_.memtable.bytes = 64 << 10;
    options_.listener = listener_;
    options_.logger = [this](std::string_view line) { lines_ += std::string(line) + "\n"; };
    sysfs_.AddPmem(test::MadeUpSysfs::DeviceOf(folder_.path()), "ACPI.NFIT", "memory_controller");
  }
  std::string path() const { return folder_.Sub("pool"); }
  std::unique_ptr<DB> Open() {
    lines_.clear();
    Result<std::unique_ptr<DB>> db = DB::Open(options_, path());
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return db.ok() ? std::move(db).value() : nullptr;
  }
  /// A process writes, and dies with the pool open.
  void LeaveOpen() {
    const test::ChildOutcome ended = test::RunInChild(60, [&](int fd) {
      Result<std::unique_ptr<DB>> db = DB::Open(options_, path());
      if (db.ok() && (*db)->Put("key", "value").ok()) ::_exit(0);
      test::SayTo(fd, db.status().ToString());
      return 1;
    });
    ASSERT_EQ(ended.exit_code, 0) << ended.ToString();
  }
  PoolInfo Inspect() {
    Result<PoolInfo> info = DB::Inspect(path());
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    return info.ok() ? *info : PoolInfo();
  }

  test::MadeUpSysfs sysfs_;
  test::TempFolder folder_;
  Options options_;
  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  std::string lines_;
};

TEST_P(MediaLossTest, ADirtyShutdownOfAnOpenPoolIsReportedOnceAndVerified) {
  sysfs_.SetDirtyShutdowns(3);
  LeaveOpen();
  EXPECT_EQ(Inspect().dirty_shutdowns_at_open, 3u);
  EXPECT_FALSE(Inspect().media_loss_possible);
  sysfs_.SetDirtyShutdowns(4);
  EXPECT_TRUE(Inspect().media_loss_possible);
  auto db = Open();
  ASSERT_NE(db, nullptr);
  EXPECT_NE(lines_.find("acknowledged writes may be missing"), std::string::npos) << lines_;
  EXPECT_NE(lines_.find("3 times before, 4 now"), std::string::npos) << lines_;
  EXPECT_TRUE(listener_->last.media_loss_possible);
  std::string value;
  EXPECT_TRUE(db->Get("key", &value).ok());
  ASSERT_TRUE(db->Close().ok());
  EXPECT_EQ(Inspect().dirty_shutdowns_at_open, 4u);
  LeaveOpen();
  db = Open();
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(lines_.find("may be missing"), std::string::npos) << lines_;
  EXPECT_FALSE(listener_->last.media_loss_possible);
}

TEST_P(MediaLossTest, APoolThatWasClosedHasLostNothing) {
  sysfs_.SetDirtyShutdowns(3);
  ASSERT_TRUE(Open()->Close().ok());
  sysfs_.SetDirtyShutdowns(9);
  EXPECT_FALSE(Inspect().media_loss_possible);
  ASSERT_NE(Open(), nullptr);
  EXPECT_EQ(lines_.find("may be missing"), std::string::npos) << lines_;
}

TEST_P(MediaLossTest, APoolWithoutTheCountOpensAsBefore) {
  LeaveOpen();
  EXPECT_FALSE(Inspect().dirty_shutdowns_at_open.has_value());
  sysfs_.SetDirtyShutdowns(3);
  ASSERT_TRUE(Open()->Close().ok());
  EXPECT_EQ(lines_.find("may be missing"), std::string::npos) << lines_;
  EXPECT_EQ(Inspect().dirty_shutdowns_at_open, 3u);
  // Moved to a medium that does not count.
  sysfs_.AddPmem(test::MadeUpSysfs::DeviceOf(folder_.path()), "e820", "");
  std::filesystem::remove_all(sysfs_.Path(sysfs_.kBus + "/nmem0/nfit"));
  LeaveOpen();
  EXPECT_FALSE(Inspect().dirty_shutdowns_at_open.has_value());
  ASSERT_NE(Open(), nullptr);
  EXPECT_EQ(lines_.find("may be missing"), std::string::npos) << lines_;
}

TEST_P(MediaLossTest, AReaderSaysItAndChangesNothing) {
  sysfs_.SetDirtyShutdowns(3);
  LeaveOpen();
  sysfs_.SetDirtyShutdowns(4);
  options_.read_only = true;
  ASSERT_NE(Open(), nullptr);
  EXPECT_NE(lines_.find("may be missing"), std::string::npos) << lines_;
  EXPECT_TRUE(Inspect().media_loss_possible);
}

TEST_P(MediaLossTest, OrdinaryMemoryIsCalledSo) {
  sysfs_.AddPmem(test::MadeUpSysfs::DeviceOf(folder_.path()), "e820", "");
  options_.pool.force_media_class = MediaClass::kCacheLine;
  ASSERT_TRUE(Open()->Close().ok());
  const PoolInfo info = Inspect();
  EXPECT_EQ(info.power_loss, PowerLoss::kGone);
  EXPECT_NE(info.promise.find("ordinary memory, gone at power loss"), std::string::npos);
  ASSERT_EQ(info.regions.size(), 1u);
  EXPECT_EQ(info.regions[0].device.provider, "e820");
  const std::string json = ToJson(info);
  EXPECT_NE(json.find("\"provider\":\"e820\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"dirty_shutdowns\":null"), std::string::npos) << json;
}

std::vector<std::string> DesignsThatStore() {
  std::vector<std::string> names;
  for (const design::Design& design : design::Designs()) {
    if (design.capabilities.stores) names.emplace_back(design.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Designs, MediaLossTest, ::testing::ValuesIn(DesignsThatStore()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace braid
