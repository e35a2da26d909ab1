// How many files a sync asks for: each call waits for the device, whether there is something to be
// written or not.
#include <filesystem>

#include "injector.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class SyncCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = false;
    options_.pool.force_media_class = MediaClass::kPage;
    options_.pool.initial_bytes = 32 << 20;
    Open();
  }
  void TearDown() override { Inject({}); }

  void Open() {
    db_.reset();
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  uint64_t Segments() const {
    uint64_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.Sub("pool"))) {
      count += file.path().filename().string().starts_with("segment-") ? 1 : 0;
    }
    return count;
  }
  void Grow() {
    const std::string large(256 << 10, 'x');
    for (uint64_t i = 0; Segments() < 4; ++i) {
      BRAID_ASSERT_OK(db_->Put("large" + NumberedKey(i), large));
      ASSERT_LT(i, 4096u);
    }
  }
  uint64_t CallsOfSync() {
    Inject({Call::kSync, 0, false, EIO});
    const Armed armed;
    BRAID_EXPECT_OK(db_->Sync());
    return CallsMade();
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(SyncCallsTest, FilesWithoutAnythingNewAreLeftAlone) {
  Grow();
  EXPECT_GE(CallsOfSync(), 1u);
  EXPECT_EQ(CallsOfSync(), 0u);
  BRAID_ASSERT_OK(db_->Put("key", "value"));
  EXPECT_EQ(CallsOfSync(), 1u) << "of " << Segments() << " files";
}

TEST_F(SyncCallsTest, WhatTheProcessBeforeHasLeftIsSynced) {
  Grow();
  BRAID_ASSERT_OK(db_->Sync());
  Open();
  EXPECT_GE(CallsOfSync(), Segments());
}

}  // namespace
}  // namespace braid::test
