// A filesystem that can't be written, a disk that is full, descriptors that run out, clocks that
// jump.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "fake_clock.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

bool Says(const Status& status, const std::string& what) {
  return status.message().find(what) != std::string_view::npos;
}

/// A small filesystem that ends with the test.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const char* options) : path_(path) {
    if (::mkdir(path.c_str(), 0700) != 0) return;
    mounted_ = ::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
    if (!mounted_) error_ = errno;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string why() const { return std::strerror(error_); }
  bool MakeReadOnly() const {
    return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
  int error_ = 0;
};

TEST(ReadOnlyFilesystemTest, OpenSaysToMountItForWritingAndInspectWorks) {
  TempFolder folder;
  const SmallDisk disk(folder.Sub("disk"), "size=16m,mode=0700");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << disk.why();
  const std::string pool = folder.Sub("disk") + "/pool";
  {
    const auto db = OpenOrFail(TinyOptions(), pool);
    ASSERT_NE(db, nullptr);
    BRAID_ASSERT_OK(db->Put("key", "value"));
  }
  ASSERT_TRUE(disk.MakeReadOnly()) << std::strerror(errno);
  const Status opened = DB::Open(TinyOptions(), pool).status();
  EXPECT_TRUE(HasCode(opened, Status::Code::kIOError));
  EXPECT_TRUE(Says(opened, "mount the filesystem for writing")) << opened.ToString();
  const Status made = DB::Open(TinyOptions(), folder.Sub("disk") + "/new").status();
  EXPECT_TRUE(Says(made, "mount the filesystem for writing")) << made.ToString();
  Result<PoolInfo> info = DB::Inspect(pool);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->entries, 1u);
  const Status destroyed = DB::Destroy(pool);
  EXPECT_TRUE(HasCode(destroyed, Status::Code::kIOError)) << destroyed.ToString();
}

TEST(ReadOnlyFilesystemTest, AFolderThatMayNotBeWrittenIsAnErrorThatSaysSo) {
  if (::geteuid() == 0) GTEST_SKIP() << "no permission stops the superuser";
  TempFolder folder;
  ASSERT_EQ(::mkdir(folder.Sub("locked").c_str(), 0500), 0);
  const Status opened = DB::Open(TinyOptions(), folder.Sub("locked") + "/pool").status();
  EXPECT_TRUE(HasCode(opened, Status::Code::kIOError));
  EXPECT_TRUE(Says(opened, "must be readable and writable")) << opened.ToString();
}

TEST(DiskFullAtGrowthTest, WritesResumeWhenTheDiskHasRoomAgain) {
  TempFolder folder;
  const SmallDisk disk(folder.Sub("disk"), "size=24m,mode=0700");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << disk.why();
  const int ballast = ::open((folder.Sub("disk") + "/ballast").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::posix_fallocate(ballast, 0, 16 << 20), 0);
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("disk") + "/pool");
  ASSERT_NE(db, nullptr);
  Model model;
  Status status;
  for (uint64_t i = 0; i < 100'000 && status.ok(); ++i) {
    status = db->Put(NumberedKey(i), std::string(1000, 'v'));
    if (status.ok()) model[NumberedKey(i)] = std::string(1000, 'v');
  }
  ASSERT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
  EXPECT_TRUE(Says(status, "free space on the filesystem")) << status.ToString();
  ExpectContent(db.get(), model);
  ASSERT_EQ(::ftruncate(ballast, 0), 0);
  ::close(ballast);
  for (uint64_t i = 0; i < 3000; ++i) {
    BRAID_ASSERT_OK(db->Put("more" + NumberedKey(i), std::string(1000, 'm')));
    model["more" + NumberedKey(i)] = std::string(1000, 'm');
  }
  ExpectContent(db.get(), model);
  BRAID_ASSERT_OK(db->Close());
  const auto again = OpenOrFail(TinyOptions(), folder.Sub("disk") + "/pool");
  ExpectContent(again.get(), model);
  ExpectVerified(again.get());
}

// Until growth fails a pool keeps room for the copies of one flush, and of small ones for little
// more than the log takes. The records are as small as can be, so that their towers count most.
TEST(DiskFullAtGrowthTest, AllThatWaitsIsFlushedAndDeletesMakeRoom) {
  TempFolder folder;
  const SmallDisk disk(folder.Sub("disk"), "size=48m,mode=0700");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << disk.why();
  Options options = TinyOptions();
  options.pool.chunk_bytes = 64ull << 10;
  options.memtable.bytes = 4ull << 20;
  options.memtable.max_immutable = 6;
  const auto db = OpenOrFail(options, folder.Sub("disk") + "/pool");
  ASSERT_NE(db, nullptr);
  const auto key_of = [](uint32_t i) {
    std::string key(sizeof i, '\0');
    std::memcpy(key.data(), &i, sizeof i);
    return key;
  };
  uint32_t count = 0;
  Status status;
  while (count < 10'000'000 && (status = db->Put(key_of(count), "")).ok()) ++count;
  ASSERT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
  EXPECT_TRUE(Says(status, "free space on the filesystem")) << status.ToString();
  ASSERT_GT(count, 500'000u);
  BRAID_ASSERT_OK(db->Flush());
  EXPECT_EQ(db->GetStatistics().immutable_memtables, 0u);
  for (uint32_t i = 0; i < count / 2; ++i) {
    if (i % 50'000 == 0) {
      BRAID_ASSERT_OK(db->Compact());
    }
    BRAID_ASSERT_OK(db->Delete(key_of(i)));
  }
  BRAID_ASSERT_OK(db->Compact());
  for (uint32_t i = 0; i < count / 4; ++i) BRAID_ASSERT_OK(db->Put(key_of(i), ""));
  std::string value;
  EXPECT_TRUE(db->Get(key_of(0), &value).ok());
  EXPECT_TRUE(db->Get(key_of(count / 2 - 1), &value).IsNotFound());
  EXPECT_TRUE(db->Get(key_of(count - 1), &value).ok());
  ExpectVerified(db.get());
}

/// Allows so many more descriptors than are open now.
bool AllowDescriptors(rlim_t more) {
  const rlimit enough{4096, 4096};
  if (::setrlimit(RLIMIT_NOFILE, &enough) != 0) return false;
  const int lowest = ::dup(0);
  if (lowest < 0) return false;
  ::close(lowest);
  const rlimit limit{static_cast<rlim_t>(lowest) + more, 4096};
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// Body of a child: growth without a descriptor, then with one, and a close without one.
int GrowWithoutDescriptors(const std::string& pool, bool threads, int fd) {
  Options options = TinyOptions();
  options.background_threads = threads;
  Result<std::unique_ptr<DB>> opened = DB::Open(options, pool);
  if (!opened.ok() || !AllowDescriptors(0)) return 1;
  DB* db = opened.value().get();
  Model model;
  Status status;
  const std::string value(1000, 'v');
  for (uint64_t i = 0; i < 100'000 && status.ok(); ++i) {
    status = db->Put(NumberedKey(i), value);
    if (status.ok()) model[NumberedKey(i)] = value;
  }
  if (!status.IsIOError() || !Says(status, "ulimit -n")) {
    SayTo(fd, "growth: " + status.ToString());
    return 2;
  }
  if (!SamePairs(ScanForward(db), model)) return 3;
  if (!AllowDescriptors(16)) return 4;
  for (uint64_t i = 0; i < 2000; ++i) {
    status = db->Put("more" + NumberedKey(i), value);
    model["more" + NumberedKey(i)] = value;
    if (!status.ok()) {
      SayTo(fd, "with descriptors again: " + status.ToString());
      return 5;
    }
  }
  if (!AllowDescriptors(0)) return 6;
  status = db->Close();
  if (!status.ok()) {
    SayTo(fd, "close without descriptors: " + status.ToString());
    return 7;
  }
  if (!AllowDescriptors(1000)) return 8;
  opened = DB::Open(options, pool);
  if (!opened.ok() || opened.value()->GetStatistics().clean_open != 1) return 9;
  return SamePairs(ScanForward(opened.value().get()), model) ? 0 : 10;
}

TEST(DescriptorLimitTest, GrowthSaysWhatToRaiseAndGoesOnAfterwardsAndCloseNeedsNone) {
  for (const bool threads : {false, true}) {
    TempFolder folder;
    const ChildOutcome outcome = RunInChild(
        120, [&](int fd) { return GrowWithoutDescriptors(folder.Sub("pool"), threads, fd); });
    EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  }
}

/// Writes, reads, flushes and merges while a clock jumps by hours.
void WorkWhileAClockJumps(std::atomic<int64_t>* clock) {
  ::alarm(120);
  TempFolder folder;
  Options options = TinyOptions();
  options.compaction.l0_slowdown = 1;  // so that writers are delayed by the clock
  const auto db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> jumps{0};
  std::thread jumper([&] {
    constexpr int64_t kHour = 3600ll * 1'000'000'000;
    for (int64_t i = 0; !stop.load(); ++i) {
      jumps.fetch_add(1);
      clock->store((i % 2 == 0 ? 3 : -2) * kHour);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  Model model;
  for (uint64_t i = 0; i < Sized(20'000, 200'000); ++i) {
    const std::string value = std::to_string(i) + std::string(200, 'c');
    BRAID_EXPECT_OK(db->Put(NumberedKey(i % 500), value));
    model[NumberedKey(i % 500)] = value;
    if (i % 1000 == 999) {
      BRAID_EXPECT_OK(db->Compact());
    }
  }
  ExpectContent(db.get(), model);
  // A stall is longer by five hours for each jump ahead in it, and never shorter than nothing.
  const uint64_t stalled_hours = db->GetStatistics().stall_micros / 3'600'000'000;
  EXPECT_LE(stalled_hours, 5 * (jumps.load() / 2 + 1) + 1);
  BRAID_EXPECT_OK(db->Close());
  stop.store(true);
  jumper.join();
  clock->store(0);
  const auto again = OpenOrFail(options, folder.Sub("pool"));
  ExpectContent(again.get(), model);
  ::alarm(0);
}

TEST(ClockTest, TheTimeOfDayMayJump) { WorkWhileAClockJumps(&realtime_offset); }
TEST(ClockTest, NothingHangsWhenTheSteadyClockJumps) { WorkWhileAClockJumps(&steady_offset); }

}  // namespace
}  // namespace braid::test
