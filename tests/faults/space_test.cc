// A full pool and a full disk: a clear error, reads and deletes go on, room comes back.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cstring>

#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

/// Puts numbered keys until the first error, which is returned; the model follows.
Status FillUntilError(DB* db, Model* model, size_t value_bytes, uint64_t limit, uint64_t round) {
  for (uint64_t i = 0; i < limit; ++i) {
    std::string value = std::to_string(round) + ":" + std::to_string(i) + ":";
    value.resize(std::max(value.size(), value_bytes), 'v');
    const Status status = db->Put(NumberedKey(i), value);
    if (!status.ok()) return status;
    (*model)[NumberedKey(i)] = value;
  }
  return Status::OK();
}

class PoolFullTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = GetParam();
    options_.pool.max_bytes = 4ull << 20;
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  Model model_;
};
INSTANTIATE_TEST_SUITE_P(Limits, PoolFullTest, ::testing::Bool(), [](const auto& background) {
  return std::string(background.param ? "Background" : "Inline");
});

TEST_P(PoolFullTest, PutsGiveOutOfSpaceAndReadsGoOn) {
  const Status full = FillUntilError(db_.get(), &model_, 500, 100'000, 0);
  ASSERT_TRUE(HasCode(full, Status::Code::kOutOfSpace));
  EXPECT_GT(model_.size(), 1000u) << "4 MiB hold more than half a megabyte of values";
  ExpectContent(db_.get(), model_);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_LE(statistics.pool_bytes, options_.pool.max_bytes);
  EXPECT_EQ(statistics.pool_max_bytes, options_.pool.max_bytes);
  WriteBatch batch;
  for (uint64_t i = 0; i < 100; ++i)
    batch.Put("batch" + std::to_string(i), std::string(10000, 'b'));
  EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kOutOfSpace));
  EXPECT_TRUE(HasCode(db_->Put("large", std::string(3 << 20, 'l')), Status::Code::kOutOfSpace));
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(PoolFullTest, AFullPoolReopensWithEverything) {
  ASSERT_TRUE(
      HasCode(FillUntilError(db_.get(), &model_, 300, 100'000, 0), Status::Code::kOutOfSpace));
  BRAID_EXPECT_OK(db_->Close());
  db_.reset();
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(PoolFullTest, DeletesAndCompactMakeRoomAgainAndAgain) {
  const uint64_t cycles = Sized(20, 2'000);
  for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    const size_t size = 100 + cycle * 131 % 900;
    const Status full = FillUntilError(db_.get(), &model_, size, 100'000, cycle);
    ASSERT_TRUE(HasCode(full, Status::Code::kOutOfSpace));
    EXPECT_GT(model_.size(), 500u);
    // Deletes are promised even now.
    uint64_t position = 0;
    for (auto it = model_.begin(); it != model_.end(); ++position) {
      if (position % 4 == 0) {
        ++it;
        continue;
      }
      ASSERT_TRUE(IsOk(db_->Delete(it->first))) << "delete " << position << " in a full pool";
      it = model_.erase(it);
    }
    BRAID_ASSERT_OK(db_->Compact());
    ASSERT_TRUE(SamePairs(ScanForward(db_.get()), model_));
    ASSERT_TRUE(IsOk(db_->Put("after", "room")));
    model_["after"] = "room";
    if (cycle % 5 == 4) {
      BRAID_ASSERT_OK(db_->Close());
      db_.reset();
      db_ = OpenOrFail(options_, folder_.Sub("pool"));
      ASSERT_NE(db_, nullptr);
      ASSERT_TRUE(SamePairs(ScanForward(db_.get()), model_));
    }
  }
  ExpectVerified(db_.get());
}

TEST_P(PoolFullTest, OverwritesOfLiveDataDoNotNeedMoreThanTheyFree) {
  // A quarter of the pool is live; overwriting it for ever must work.
  for (uint64_t round = 0; round < 30; ++round) {
    const Status status = FillUntilError(db_.get(), &model_, 400, 2000, round);
    ASSERT_TRUE(IsOk(status)) << "round " << round;
  }
  ExpectContent(db_.get(), model_);
}

/// Body of a child: fills a pool in `folder` until the medium is full, then checks it.
int FillMediumAndCheck(const std::string& folder, int fd) {
  Options options = TinyOptions();
  options.create_if_missing = true;
  Model model;
  {
    Result<std::unique_ptr<DB>> opened = DB::Open(options, folder + "/pool");
    if (!opened.ok()) {
      SayTo(fd, "first open: " + opened.status().ToString());
      return 2;
    }
    DB* db = opened.value().get();
    const Status full = FillUntilError(db, &model, 1000, 1'000'000, 0);
    if (!full.IsOutOfSpace()) {
      SayTo(fd, "expected OutOfSpace, got " + full.ToString());
      return 3;
    }
    if (model.size() < 1000) {
      SayTo(fd, "full after " + std::to_string(model.size()) + " puts: " + full.ToString());
      return 4;
    }
    if (GetText(db, NumberedKey(7)) != model[NumberedKey(7)]) return 5;
    const auto same = SamePairs(ScanForward(db), model);
    if (!same) {
      SayTo(fd, std::string("scan when full: ") + same.message());
      return 6;
    }
    const Status deleted = db->Delete(NumberedKey(7));
    if (!deleted.ok()) {
      SayTo(fd, "delete when full: " + deleted.ToString());
      return 7;
    }
    model.erase(NumberedKey(7));
  }
  Result<std::unique_ptr<DB>> again = DB::Open(options, folder + "/pool");
  if (!again.ok()) {
    SayTo(fd, "open when full: " + again.status().ToString());
    return 8;
  }
  const auto same = SamePairs(ScanForward(again.value().get()), model);
  if (!same) {
    SayTo(fd, std::string("after reopen: ") + same.message());
    return 9;
  }
  return 0;
}

TEST(DiskFullTest, SmallFilesystemGivesOutOfSpaceAndNoSigbus) {
  TempFolder folder;
  const std::string mount_point = folder.Sub("small");
  ASSERT_EQ(::mkdir(mount_point.c_str(), 0700), 0);
  if (::mount("tmpfs", mount_point.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=8m,mode=0700") !=
      0) {
    GTEST_SKIP() << "mounting a tmpfs of 8 MiB is not permitted here: " << std::strerror(errno);
  }
  const ChildOutcome outcome =
      RunInChild(120, [&](int fd) { return FillMediumAndCheck(mount_point, fd); });
  EXPECT_EQ(::umount(mount_point.c_str()), 0) << std::strerror(errno);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(DiskFullTest, ProcessLimitOnFileSizeIsAnErrorAndLeavesNoHalfPool) {
  TempFolder folder;
  const ChildOutcome outcome = RunInChild(120, [&](int fd) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 3u << 20;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    Options options = TinyOptions();
    options.pool.initial_bytes = 8ull << 20;
    const Status status = DB::Open(options, folder.Sub("pool")).status();
    if (!status.IsOutOfSpace() && !status.IsIOError()) {
      SayTo(fd, status.ToString());
      return 2;
    }
    limit.rlim_cur = before;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    Result<std::unique_ptr<DB>> again = DB::Open(options, folder.Sub("pool"));
    if (!again.ok()) {
      SayTo(fd, "after the limit was lifted: " + again.status().ToString());
      return 3;
    }
    return again.value()->Put("k", "v").ok() ? 0 : 4;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(DiskFullTest, TooFewFileDescriptorsIsAnErrorAndNoCrash) {
  TempFolder folder;
  const ChildOutcome outcome = RunInChild(120, [&](int fd) {
    uint64_t failed = 0;
    for (rlim_t allowed = 4; allowed < 64; ++allowed) {
      const rlimit limit{allowed, 1024};
      if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
      Result<std::unique_ptr<DB>> opened = DB::Open(TinyOptions(), folder.Sub("pool"));
      if (!opened.ok()) {
        if (!opened.status().IsIOError()) {
          SayTo(fd, std::to_string(allowed) + " descriptors: " + opened.status().ToString());
          return 2;
        }
        ++failed;
        continue;
      }
      const Status put = opened.value()->Put("k" + std::to_string(allowed), "v");
      if (!put.ok()) {
        SayTo(fd, put.ToString());
        return 3;
      }
    }
    return failed > 0 ? 0 : 4;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

}  // namespace
}  // namespace braid::test
