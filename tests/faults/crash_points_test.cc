// Checkpoint and restore, ended by a kill before each system call that changes or syncs files: what
// is at the target then is nothing or the whole, what is left of the attempt does not stop the next
// one, and the pool that was copied is as it was. (What power loss does is not told by this: every
// call that was made has happened.)
#include <filesystem>

#include "injector.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/folder_state.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

namespace fs = std::filesystem;

class CrashPointsTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = false;
    options_.pool.initial_bytes = 512u << 10;
    GetParam().ApplyTo(&options_);
    const std::unique_ptr<DB> db = OpenOrFail(options_, source_);
    ASSERT_NE(db, nullptr);
    for (uint64_t i = 0; i < 300; ++i) {
      model_[NumberedKey(i)] = std::string(200 + i % 90, static_cast<char>('a' + i % 26));
      BRAID_ASSERT_OK(db->Put(NumberedKey(i), model_[NumberedKey(i)]));
      if (i == 200) {
        BRAID_ASSERT_OK(db->Compact());
      }
    }
    model_["large"] = std::string(70'000, 'l');
    BRAID_ASSERT_OK(db->Put("large", model_["large"]));
    BRAID_ASSERT_OK(db->Close());
  }

  /// Opens `path`, which must hold the model, and closes it.
  void ExpectWhole(const std::string& path) {
    Options options = options_;
    options.create_if_missing = false;
    const std::unique_ptr<DB> db = OpenOrFail(options, path);
    ASSERT_NE(db, nullptr);
    ExpectContent(db.get(), model_);
    ExpectVerified(db.get());
    BRAID_EXPECT_OK(db->Close());
  }

  /// Runs `copy` to its end, killed before the first call, the second, and so on; `again` must
  /// bring it to its end afterwards.
  template <class Copy>
  void KillAtEveryCall(const Copy& copy) {
    uint64_t whole = 0;
    uint64_t nothing = 0;
    for (uint64_t at = 1;; ++at) {
      SCOPED_TRACE("killed before call " + std::to_string(at));
      ASSERT_LT(at, 5000u);
      fs::remove_all(target_);
      fs::remove_all(target_ + ".partial");
      const ChildOutcome outcome = RunInChild(60, [&](int fd) {
        const Status status = copy({.at = at, .kills = true});
        SayTo(fd, status.ToString());
        return status.ok() ? 0 : 1;
      });
      if (outcome.exit_code == 0) {
        ExpectWhole(target_);
        EXPECT_GT(nothing, 10u) << "the calls are not counted";
        EXPECT_GT(whole, 0u) << "the parent folder is synced after the rename";
        std::printf("[ points   ] %llu\n", static_cast<unsigned long long>(at - 1));
        return;
      }
      ASSERT_EQ(outcome.exit_code, kKilledExit) << outcome.ToString();
      if (fs::exists(target_)) {
        ++whole;
      } else {
        ++nothing;
        BRAID_ASSERT_OK(copy({}));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectWhole(target_));
      EXPECT_FALSE(fs::exists(target_ + ".partial"));
      ASSERT_NO_FATAL_FAILURE(CheckSource());
      if (HasFailure()) return;
    }
  }
  virtual void CheckSource() { ExpectWhole(source_); }

  TempFolder folder_;
  const std::string source_ = folder_.Sub("source");
  const std::string target_ = folder_.Sub("target");
  Options options_;
  Model model_;
};

/// Of all that have the capability.
std::vector<StoreKind> KindsWith(bool Capabilities::*capability) {
  std::vector<StoreKind> kinds;
  for (const StoreKind& kind : StoreKinds()) {
    const bool one_region = kind.name.find('4') == std::string::npos;  // two are as good
    if (kind.capabilities().*capability && one_region) kinds.push_back(kind);
  }
  return kinds;
}
std::string KindName(const ::testing::TestParamInfo<StoreKind>& kind) { return kind.param.name; }

class CheckpointCrashPointsTest : public CrashPointsTest {};
INSTANTIATE_TEST_SUITE_P(Stores, CheckpointCrashPointsTest,
                         ::testing::ValuesIn(KindsWith(&Capabilities::checkpoints)), KindName);

TEST_P(CheckpointCrashPointsTest, LeaveNoCheckpointOrAWholeOne) {
  KillAtEveryCall([this](const Injection& injection) {
    Result<std::unique_ptr<DB>> opened = DB::Open(options_, source_);
    if (!opened.ok()) return opened.status();
    Inject(injection);
    Status made;
    {
      const Armed armed;
      made = (*opened)->CreateCheckpoint(target_);
    }
    Inject({});
    return made;
  });
}

class RestoreCrashPointsTest : public CrashPointsTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(CrashPointsTest::SetUp());
    before_ = StateOfFolder(source_);
  }
  /// Not a byte of it has changed, nor its times.
  void CheckSource() override { EXPECT_EQ(FirstDifference(before_, StateOfFolder(source_)), ""); }
  FolderState before_;
};
INSTANTIATE_TEST_SUITE_P(Stores, RestoreCrashPointsTest,
                         ::testing::ValuesIn(KindsWith(&Capabilities::stores)), KindName);

TEST_P(RestoreCrashPointsTest, LeaveNoPoolOrAWholeOne) {
  KillAtEveryCall([this](const Injection& injection) {
    Inject(injection);
    Status made;
    {
      const Armed armed;
      made = DB::Restore(options_, source_, target_);
    }
    Inject({});
    return made;
  });
}

}  // namespace
}  // namespace braid::test
