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
  Status PutSynced() {
    WriteOptions options;
    options.sync = true;
    return db_->Put(options, "key", "value");
  }
  /// Files that a put with sync asks for.
  uint64_t CallsOfPut() {
    Inject({Call::kSync, 0, false, EIO});
    const Armed armed;
    BRAID_EXPECT_OK(PutSynced());
    return CallsMade();
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(SyncCallsTest, FilesWithoutAnythingNewAreLeftAlone) {
  Grow();
  BRAID_ASSERT_OK(PutSynced());
  EXPECT_EQ(CallsOfPut(), 1u) << "of " << Segments() << " files";
  EXPECT_EQ(CallsOfPut(), 1u);
}

TEST_F(SyncCallsTest, WhatTheProcessBeforeHasLeftIsSynced) {
  Grow();
  BRAID_ASSERT_OK(PutSynced());
  db_.reset();
  Inject({Call::kSync, 0, false, EIO});
  const Armed armed;
  Open();
  BRAID_ASSERT_OK(PutSynced());
  EXPECT_GE(CallsMade(), Segments());
}

}  // namespace
}  // namespace braid::test
