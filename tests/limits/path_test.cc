// Paths, permissions, and who may open a pool.
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

std::string BytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Tells(const Status& status, const std::string& what) {
  return status.message().find(what) != std::string_view::npos;
}

TEST(OpenTwiceTest, SecondHandleOfTheSameProcessIsBusy) {
  TempFolder folder;
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  for (int i = 0; i < 3; ++i) {
    const Status status = DB::Open(TinyOptions(), folder.Sub("pool")).status();
    EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
    EXPECT_TRUE(Tells(status, std::to_string(::getpid()))) << status.ToString();
  }
  BRAID_EXPECT_OK(db->Put("k", "v"));
  BRAID_ASSERT_OK(db->Close());
  const auto again = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(GetText(again.get(), "k"), "v");
}

TEST(OpenTwiceTest, AnotherProcessIsBusyAndNamesTheHolder) {
  TempFolder folder;
  int ready[2];
  int finish[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(finish), 0);
  std::fflush(stdout);
  const pid_t holder = ::fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    ::alarm(60);
    ::close(finish[1]);
    Result<std::unique_ptr<DB>> opened = DB::Open(TinyOptions(), folder.Sub("pool"));
    const bool written = opened.ok() && opened.value()->Put("k", "v").ok();
    SayTo(ready[1], written ? "y" : "n");
    char end = 0;
    (void)!::read(finish[0], &end, 1);
    ::_exit(0);  // without Close: the lock goes with the process
  }
  ::close(finish[0]);
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const Status status = DB::Open(TinyOptions(), folder.Sub("pool")).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
  EXPECT_TRUE(Tells(status, std::to_string(holder))) << status.ToString();
  const auto facts = DB::Inspect(folder.Sub("pool"));
  ASSERT_TRUE(facts.ok()) << facts.status().ToString();
  EXPECT_TRUE(facts.value().in_use);
  EXPECT_EQ(facts.value().in_use_by_pid, holder);
  EXPECT_TRUE(HasCode(DB::Destroy(folder.Sub("pool")), Status::Code::kBusy));
  ::close(finish[1]);
  int ended = 0;
  ASSERT_EQ(::waitpid(holder, &ended, 0), holder);
  for (const int fd : {ready[0], ready[1]}) ::close(fd);
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(GetText(db.get(), "k"), "v");
}

TEST(PathTest, AFileIsNoPool) {
  TempFolder folder;
  std::ofstream(folder.Sub("file")) << "text";
  for (const bool create : {true, false}) {
    Options options = TinyOptions();
    options.create_if_missing = create;
    const Status status = DB::Open(options, folder.Sub("file")).status();
    EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
    EXPECT_TRUE(Tells(status, "file")) << status.ToString();
  }
  std::ifstream in(folder.Sub("file"));
  std::string text;
  in >> text;
  EXPECT_EQ(text, "text");
}

TEST(PathTest, ADirectoryWithOtherThingsIsNoPool) {
  TempFolder folder;
  ASSERT_EQ(::mkdir(folder.Sub("photos").c_str(), 0700), 0);
  std::ofstream(folder.Sub("photos") + "/holiday.jpg") << "precious";
  const Status status = DB::Open(TinyOptions(), folder.Sub("photos")).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_TRUE(Tells(status, "photos")) << status.ToString();
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.Sub("photos"))) {
    EXPECT_EQ(entry.path().filename(), "holiday.jpg") << "nothing may be added";
    ++entries;
  }
  EXPECT_EQ(entries, 1u);
}

TEST(PathTest, AMissingParentIsAnErrorThatNamesThePath) {
  TempFolder folder;
  const Status status = DB::Open(TinyOptions(), folder.Sub("no/such/parent")).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(status.IsNotFound() || status.IsIOError() || status.IsInvalidArgument())
      << status.ToString();
  EXPECT_TRUE(Tells(status, "no/such")) << status.ToString();
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("no")));
}

TEST(PathTest, EmptyAndOverlongPathsAreErrors) {
  EXPECT_FALSE(DB::Open(TinyOptions(), "").ok());
  TempFolder folder;
  const Status status = DB::Open(TinyOptions(), folder.Sub(std::string(5000, 'x'))).status();
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.message().empty());
}

TEST(PathTest, AParentThatIsAFileIsAnError) {
  TempFolder folder;
  std::ofstream(folder.Sub("file")) << "text";
  EXPECT_FALSE(DB::Open(TinyOptions(), folder.Sub("file") + "/pool").ok());
}

TEST(PermissionTest, PoolIsMadeForItsOwnerOnly) {
  TempFolder folder;
  const mode_t old_mask = ::umask(0);
  {
    Options options = TinyOptions();
    const auto db = OpenOrFail(options, folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    // Enough that the pool grows: later files count too.
    for (uint64_t i = 0; i < 6000; ++i) {
      BRAID_ASSERT_OK(db->Put(NumberedKey(i), std::string(500, 'v')));
    }
  }
  ::umask(old_mask);
  struct stat facts {};
  ASSERT_EQ(::stat(folder.Sub("pool").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
  for (const auto& entry : std::filesystem::directory_iterator(folder.Sub("pool"))) {
    ASSERT_EQ(::lstat(entry.path().c_str(), &facts), 0);
    EXPECT_TRUE(S_ISREG(facts.st_mode)) << entry.path();
    EXPECT_EQ(facts.st_mode & 07777, 0600u) << entry.path();
  }
}

TEST(PermissionTest, AWorldWritableDirectoryIsRefusedUnlessAllowed) {
  TempFolder folder;
  { ASSERT_NE(OpenOrFail(TinyOptions(), folder.Sub("pool")), nullptr); }
  ASSERT_EQ(::chmod(folder.Sub("pool").c_str(), 0777), 0);
  const Status status = DB::Open(TinyOptions(), folder.Sub("pool")).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(Tells(status, "allow_world_writable")) << status.ToString();
  Options options = TinyOptions();
  options.pool.allow_world_writable = true;
  EXPECT_NE(OpenOrFail(options, folder.Sub("pool")), nullptr);
}

TEST(PermissionTest, ASymbolicLinkInPlaceOfAPoolFileIsNotFollowed) {
  TempFolder folder;
  {
    const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    BRAID_ASSERT_OK(db->Put("k", "v"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.Sub("pool"))) {
    if (entry.file_size() == 0) continue;
    const std::filesystem::path target = folder.Sub("elsewhere");
    std::filesystem::rename(entry.path(), target);
    std::filesystem::create_symlink(target, entry.path());
    const std::string before = BytesOf(target);
    // What readers meet a writer by holds nothing, so the writer goes on without it.
    const bool is_needed = entry.path().filename() != "readers";
    EXPECT_EQ(DB::Open(TinyOptions(), folder.Sub("pool")).ok(), !is_needed) << entry.path();
    EXPECT_EQ(BytesOf(target), before) << entry.path();
    std::filesystem::remove(entry.path());
    std::filesystem::rename(target, entry.path());
  }
  EXPECT_NE(OpenOrFail(TinyOptions(), folder.Sub("pool")), nullptr);
}

/// Permissions do not bind root: these run as another user where they can.
int AsOrdinaryUser(const std::function<int()>& body) {
  if (::geteuid() == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 77;
  }
  return body();
}

TEST(PermissionTest, AReadOnlyDirectoryIsAnError) {
  TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(folder.Sub("parent").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.Sub("parent").c_str(), 0555), 0);
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    return AsOrdinaryUser([&] {
      const Status status = DB::Open(TinyOptions(), folder.Sub("parent") + "/pool").status();
      SayTo(fd, status.ToString());
      return status.IsIOError() && Tells(status, "parent") ? 0 : 1;
    });
  });
  if (outcome.exit_code == 77) GTEST_SKIP() << "cannot become another user here";
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(PermissionTest, APoolOfAnotherUserIsAnError) {
  TempFolder folder;
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a pool of another user";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  { ASSERT_NE(OpenOrFail(TinyOptions(), folder.Sub("pool")), nullptr); }
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    return AsOrdinaryUser([&] {
      const Status status = DB::Open(TinyOptions(), folder.Sub("pool")).status();
      SayTo(fd, status.ToString());
      return status.IsIOError() ? 0 : 1;
    });
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  EXPECT_NE(OpenOrFail(TinyOptions(), folder.Sub("pool")), nullptr);
}

TEST(LimitTest, KeysAtTheLimitAreTakenAndOverItRefused) {
  TempFolder folder;
  const auto db = OpenOrFail(Options{}, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  BRAID_EXPECT_OK(db->Put(std::string(kMaxKeyBytes, 'k'), "v"));
  const Status status = db->Put(std::string(kMaxKeyBytes + 1, 'k'), "v");
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_TRUE(Tells(status, std::to_string(kMaxKeyBytes)))
      << "names the limit: " << status.ToString();
  std::string value;
  EXPECT_FALSE(db->Get(std::string(kMaxKeyBytes + 1, 'k'), &value).ok());
  const auto it = db->NewIterator({});
  it->Seek(std::string(kMaxKeyBytes + 100, 'a'));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().size(), kMaxKeyBytes);
}

TEST(LimitTest, AnOverlongValueIsRefusedBeforeItIsRead) {
  TempFolder folder;
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  // Address space without memory: the first byte that is touched would be a SIGSEGV.
  const size_t size = kMaxValueBytes + 1;
  void* forbidden =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (forbidden == MAP_FAILED)
    GTEST_SKIP() << "no 4 GiB of address space: " << std::strerror(errno);
  const Slice value(static_cast<const char*>(forbidden), size);
  const Status status = db->Put("k", value);
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_TRUE(Tells(status, std::to_string(kMaxValueBytes))) << status.ToString();
  EXPECT_EQ(GetText(db.get(), "k"), "(not found)");
  ::munmap(forbidden, size);
}

TEST(LimitTest, ABatchOverTheLimitIsRefusedWhole) {
  if (kSanitizer) GTEST_SKIP() << "needs more than 2 GiB of memory";
  TempFolder folder;
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  WriteBatch batch;
  batch.Put("small", "v");
  const std::string value(64u << 20, 'v');
  for (int i = 0; i < 17; ++i) batch.Put("large" + std::to_string(i), value);
  const Status status = db->Write(batch);
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_TRUE(Tells(status, "batch")) << status.ToString();
  EXPECT_EQ(GetText(db.get(), "small"), "(not found)");
}

TEST(ReadOnlyMountTest, InspectWorksAndOpenSaysWhyItCannot) {
  TempFolder folder;
  const std::string mount_point = folder.Sub("medium");
  ASSERT_EQ(::mkdir(mount_point.c_str(), 0700), 0);
  if (::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=16m,mode=0700") != 0) {
    GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  }
  const std::string pool = mount_point + "/pool";
  if (const auto db = OpenOrFail(TinyOptions(), pool)) {
    BRAID_EXPECT_OK(db->Put("k", "v"));
  }
  EXPECT_EQ(::mount("", mount_point.c_str(), "", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  Result<PoolInfo> info = DB::Inspect(pool, Options{});
  BRAID_EXPECT_OK(info.status());
  if (info.ok()) {
    EXPECT_EQ(info.value().media_class, MediaClass::kPage);
  }
  const Status status = DB::Open(TinyOptions(), pool).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kIOError));
  EXPECT_TRUE(Tells(status, "mount the filesystem for writing")) << status.ToString();
  EXPECT_EQ(::umount(mount_point.c_str()), 0) << std::strerror(errno);
}

}  // namespace
}  // namespace braid::test
