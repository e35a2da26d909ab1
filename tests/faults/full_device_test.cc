// A device without room for a checkpoint, a restored pool or a load: an error that says what to do,
// nothing is left behind, and the store goes on.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "support/child_process.h"
#include "support/database.h"
#include "support/records.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

namespace fs = std::filesystem;

/// A filesystem of its own, gone with this.
class SmallDevice {
 public:
  SmallDevice(std::string path, const char* size) : path_(std::move(path)) {
    const std::string options = std::string("mode=0700,size=") + size;
    mounted_ = ::mkdir(path_.c_str(), 0700) == 0 &&
               ::mount("tmpfs", path_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    error_ = mounted_ ? "" : std::strerror(errno);
  }
  ~SmallDevice() {
    if (mounted_) {
      EXPECT_EQ(::umount2(path_.c_str(), MNT_DETACH), 0) << std::strerror(errno);
    }
  }
  SmallDevice(const SmallDevice&) = delete;
  SmallDevice& operator=(const SmallDevice&) = delete;
  bool mounted() const { return mounted_; }
  const std::string& error() const { return error_; }
  std::string Sub(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool mounted_ = false;
  std::string error_;
};

#define BRAID_NEEDS_MOUNT(device) \
  if (!(device).mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted: " << (device).error()

/// While it lives, no file of this process grows beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  __sighandler_t handler_;
  rlimit before_{};
};

class FullDeviceTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = GetParam();
    db_ = OpenOrFail(options_, source_);
    ASSERT_NE(db_, nullptr);
    Fill(0, 4000);
  }
  void Fill(uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      model_[NumberedKey(i)] = std::string(900, static_cast<char>('a' + i % 26));
      BRAID_ASSERT_OK(db_->Put(NumberedKey(i), model_[NumberedKey(i)]));
    }
  }
  /// `text` is what the message must tell the user to do.
  static void ExpectRefused(const Status& status, const std::string& text,
                            const std::string& target) {
    EXPECT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
    EXPECT_NE(status.message().find(text), std::string::npos) << status.ToString();
    EXPECT_FALSE(fs::exists(target));
    EXPECT_FALSE(fs::exists(target + ".partial"));
  }
  void ExpectUsable() {
    BRAID_EXPECT_OK(db_->Delete(NumberedKey(3)));
    model_.erase(NumberedKey(3));
    Fill(10, 50);
    ExpectContent(db_.get(), model_);
    ExpectVerified(db_.get());
  }
  void ExpectAt(const std::string& path) {
    const std::unique_ptr<DB> copy = OpenOrFail(options_, path);
    ASSERT_NE(copy, nullptr);
    ExpectContent(copy.get(), model_);
    ExpectVerified(copy.get());
  }

  TempFolder folder_;
  const std::string source_ = folder_.Sub("source");
  const std::string target_ = folder_.Sub("target");
  Options options_;
  std::unique_ptr<DB> db_;
  Model model_;
};
INSTANTIATE_TEST_SUITE_P(Limits, FullDeviceTest, ::testing::Bool(), [](const auto& background) {
  return std::string(background.param ? "Background" : "Inline");
});

TEST_P(FullDeviceTest, CheckpointOnADeviceThatIsTooSmall) {
  const SmallDevice device(folder_.Sub("device"), "2m");
  BRAID_NEEDS_MOUNT(device);
  const std::string target = device.Sub("target");
  ExpectRefused(db_->CreateCheckpoint(target), "free space on the filesystem", target);
  EXPECT_TRUE(fs::is_empty(device.Sub(""))) << "room was not given back";
  ExpectUsable();
  BRAID_ASSERT_OK(db_->CreateCheckpoint(target_));
  ExpectAt(target_);
}

TEST_P(FullDeviceTest, CheckpointBeyondTheLimitOnTheSizeOfFiles) {
  {
    const FileSizeLimit limit(600u << 10);
    ExpectRefused(db_->CreateCheckpoint(target_), "ulimit -f", target_);
    ExpectContent(db_.get(), model_);
  }
  ExpectUsable();
  BRAID_ASSERT_OK(db_->CreateCheckpoint(target_));
  ExpectAt(target_);
}

TEST_P(FullDeviceTest, RestoreOnADeviceThatIsTooSmall) {
  const SmallDevice device(folder_.Sub("device"), "2m");
  BRAID_NEEDS_MOUNT(device);
  BRAID_ASSERT_OK(db_->Close());
  const std::string target = device.Sub("target");
  ExpectRefused(DB::Restore(options_, source_, target), "free space on the filesystem", target);
  EXPECT_TRUE(fs::is_empty(device.Sub(""))) << "room was not given back";
  BRAID_ASSERT_OK(DB::Restore(options_, source_, target_));
  ExpectAt(target_);
}

TEST_P(FullDeviceTest, RestoreBeyondTheLimitOnTheSizeOfFiles) {
  BRAID_ASSERT_OK(db_->Close());
  {
    const FileSizeLimit limit(600u << 10);
    ExpectRefused(DB::Restore(options_, source_, target_), "ulimit -f", target_);
  }
  BRAID_ASSERT_OK(DB::Restore(options_, source_, target_));
  ExpectAt(target_);
}

/// More than any of the places here has room for.
Pairs TooMany() {
  Pairs records;
  for (uint64_t i = 0; i < 20'000; ++i) {
    records.emplace_back(NumberedKey(i), std::string(900, static_cast<char>('A' + i % 26)));
  }
  return records;
}

class FullIngestTest : public FullDeviceTest {
 protected:
  /// A load that finds no room leaves `db` as it was, and one that does goes in.
  void LoadTooMuchThenLess(const std::string& advice) {
    const uint64_t used = db_->GetStatistics().pool_used_bytes;
    PairSource source(TooMany());
    const Status status = IngestSorted(db_.get(), &source);
    EXPECT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
    EXPECT_NE(status.message().find(advice), std::string::npos) << status.ToString();
    ExpectContent(db_.get(), model_);
    ExpectVerified(db_.get());
    const Statistics now = db_->GetStatistics();
    EXPECT_LT(now.pool_used_bytes, used + now.pool_bytes / 8) << "what it took is not given back";
    ExpectUsable();
    Model less;
    for (uint64_t i = 100; i < 600; ++i) less[NumberedKey(i)] = std::string(500, 'i');
    BRAID_ASSERT_OK(IngestSorted(db_.get(), less));
    for (const auto& [key, value] : less) model_[key] = value;
    ExpectUsable();
    BRAID_ASSERT_OK(db_->Close());
    db_ = nullptr;
  }
  void OpenAt(const std::string& path) {
    model_.clear();
    db_ = OpenOrFail(options_, path);
    ASSERT_NE(db_, nullptr);
    Fill(0, 1000);
  }
};
INSTANTIATE_TEST_SUITE_P(Limits, FullIngestTest, ::testing::Bool(), [](const auto& background) {
  return std::string(background.param ? "Background" : "Inline");
});

TEST_P(FullIngestTest, IntoAPoolWithALimit) {
  options_.pool.max_bytes = 6ull << 20;
  ASSERT_NO_FATAL_FAILURE(OpenAt(target_));
  ASSERT_NO_FATAL_FAILURE(LoadTooMuchThenLess("pool.max_bytes"));
  ExpectAt(target_);
}

TEST_P(FullIngestTest, OnADeviceThatIsTooSmall) {
  const SmallDevice device(folder_.Sub("device"), "6m");
  BRAID_NEEDS_MOUNT(device);
  ASSERT_NO_FATAL_FAILURE(OpenAt(device.Sub("pool")));
  ASSERT_NO_FATAL_FAILURE(LoadTooMuchThenLess("free space on the filesystem"));
  ExpectAt(device.Sub("pool"));
}

}  // namespace
}  // namespace braid::test
