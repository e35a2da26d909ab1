// Files that other users have put, linked or may write to where a pool's own are: refused, never
// waited for, never written to.
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "db/concurrent_reader.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr unsigned kForeignSeconds = 60;  // the end of a hang

std::string ContentOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Mentions(const Status& status, const std::string& what) {
  return status.message().find(what) != std::string_view::npos;
}

Options AllowingOthers() {
  Options options = TinyOptions();
  options.pool.allow_world_writable = true;
  return options;
}

/// A closed pool of one record.
class ForeignFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pool_ = folder_.Sub("pool");
    const auto db = OpenOrFail(TinyOptions(), pool_);
    ASSERT_NE(db, nullptr);
    BRAID_ASSERT_OK(db->Put("k", "v"));
  }
  std::string File(const std::string& name) const { return pool_ + "/" + name; }
  static Status StatusOfOpen(const Options& options, const std::string& pool) {
    return DB::Open(options, pool).status();
  }
  Status OpenStatus() const { return StatusOfOpen(TinyOptions(), pool_); }
  Status ReadStatus() const {
    Options options = TinyOptions();
    options.read_only = true;
    return StatusOfOpen(options, pool_);
  }

  TempFolder folder_;
  std::string pool_;
};

TEST_F(ForeignFilesTest, APipeOfAnyNameIsWaitedForByNobody) {
  const char* const names[] = {"lock",    "segment-000000", "segment-000001", "segment-000001.new",
                               "readers", "regions",        "region",         "anything"};
  for (const char* name : names) {
    const std::string copy = folder_.Sub(std::string("with-") + name);
    std::filesystem::copy(pool_, copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    std::filesystem::remove(copy + "/" + name);
    ASSERT_EQ(::mkfifo((copy + "/" + name).c_str(), 0600), 0) << name;
    const ChildOutcome outcome = RunInChild(kForeignSeconds, [&](int) {
      // What each answers is for other tests.
      (void)DB::Inspect(copy).ok();
      Options reading = TinyOptions();
      reading.read_only = true;
      (void)StatusOfOpen(reading, copy).ok();
      RepairReport report;
      (void)DB::Repair(TinyOptions(), copy, copy + ".repaired", &report).ok();
      (void)DB::Restore(TinyOptions(), copy, copy + ".restored", {}).ok();
      Result<std::unique_ptr<DB>> db = DB::Open(TinyOptions(), copy);
      if (db.ok()) {
        VerifyReport verified;
        (void)db.value()->Verify(&verified).ok();
        (void)db.value()->Close().ok();
      }
      (void)DB::Destroy(copy).ok();
      return 0;
    });
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.ToString();
  }
}

TEST_F(ForeignFilesTest, AFolderOfAnEndlessFileIsNoMemoryHog) {
  // "regions" is read as a whole.
  std::ofstream(File("regions")) << "region 1 /nowhere\n";
  ASSERT_EQ(::truncate(File("regions").c_str(), off_t{1} << 40), 0);
  EXPECT_TRUE(HasCode(OpenStatus(), Status::Code::kCorruption));
  EXPECT_FALSE(DB::Inspect(pool_).ok());
}

TEST_F(ForeignFilesTest, AFolderOrFileThatItsGroupMayWriteToIsRefusedUnlessAllowed) {
  for (const std::string& path : {pool_, File("lock"), File("segment-000000")}) {
    struct stat before {};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    for (const mode_t others : {S_IWGRP, S_IWOTH}) {
      ASSERT_EQ(::chmod(path.c_str(), before.st_mode | others), 0);
      for (const Status& status : {OpenStatus(), ReadStatus()}) {
        EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument)) << path;
        EXPECT_TRUE(Mentions(status, "allow_world_writable")) << status.ToString();
        EXPECT_TRUE(Mentions(status, path)) << status.ToString();
      }
      BRAID_EXPECT_OK(StatusOfOpen(AllowingOthers(), pool_));
      ASSERT_EQ(::chmod(path.c_str(), before.st_mode), 0);
    }
  }
  BRAID_EXPECT_OK(OpenStatus());
}

TEST_F(ForeignFilesTest, AFolderOrFileOfAnotherUserIsRefusedUnlessAllowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  constexpr uid_t kNobody = 65534;
  for (const std::string& path : {pool_, File("lock"), File("segment-000000")}) {
    ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    const Status status = OpenStatus();
    EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument)) << path;
    EXPECT_TRUE(Mentions(status, std::to_string(kNobody))) << status.ToString();
    BRAID_EXPECT_OK(ReadStatus());  // whose it is has nothing to fear
    BRAID_EXPECT_OK(StatusOfOpen(AllowingOthers(), pool_));
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
}

TEST_F(ForeignFilesTest, WhatHasAnotherNameElsewhereIsNotWrittenTo) {
  const std::string precious = folder_.Sub("precious");
  for (const char* name : {"lock", "readers"}) {
    std::ofstream(precious) << "precious";
    std::filesystem::remove(File(name));
    ASSERT_EQ(::link(precious.c_str(), File(name).c_str()), 0);
    for (const Options& options : {TinyOptions(), AllowingOthers()}) {
      const Status status = StatusOfOpen(options, pool_);
      // What readers meet a writer by holds nothing, so the writer goes on without it.
      if (std::string_view(name) == "lock") {
        EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
        EXPECT_TRUE(Mentions(status, "hard link")) << status.ToString();
      } else {
        BRAID_EXPECT_OK(status);
      }
      EXPECT_EQ(ContentOfFile(precious), "precious") << name;
    }
    std::filesystem::remove(File(name));
  }
  ASSERT_EQ(::link(File("segment-000000").c_str(), folder_.Sub("other").c_str()), 0);
  EXPECT_TRUE(HasCode(OpenStatus(), Status::Code::kInvalidArgument));
  BRAID_EXPECT_OK(ReadStatus());
  std::filesystem::remove(folder_.Sub("other"));
  BRAID_EXPECT_OK(OpenStatus());
}

TEST(RemovedReadersFileTest, AReaderThatNobodyCanTellAnyMoreKeepsTheNextWriterOut) {
  TempFolder folder;
  const std::string pool = folder.Sub("pool");
  Options options = TinyOptions();
  options.background_threads = true;  // one of which answers readers
  auto writer = OpenOrFail(options, pool);
  ASSERT_NE(writer, nullptr);
  BRAID_ASSERT_OK(writer->Put("k", "v"));
  Options reading = options;
  reading.read_only = true;
  const std::chrono::seconds patience = concurrent_reader_patience.load();
  concurrent_reader_patience = std::chrono::seconds(3600);  // a busy machine is no reason
  auto reader = OpenOrFail(reading, pool);
  concurrent_reader_patience = patience;
  ASSERT_NE(reader, nullptr);
  for (const bool again : {false, true}) {
    if (again) {  // a file of the same name is not the one that the reader has
      std::ofstream(pool + "/readers") << std::string(4096, '\0');
      ASSERT_EQ(::chmod((pool + "/readers").c_str(), 0600), 0);
    } else {
      ASSERT_TRUE(std::filesystem::remove(pool + "/readers"));
      BRAID_ASSERT_OK(writer->Close());
      writer.reset();
    }
    const Status status = DB::Open(options, pool).status();
    EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
    EXPECT_TRUE(Mentions(status, "readers")) << status.ToString();
    EXPECT_EQ(GetText(reader.get(), "k"), "v");
  }
  BRAID_ASSERT_OK(reader->Close());
  reader.reset();
  writer = OpenOrFail(options, pool);
  ASSERT_NE(writer, nullptr);
  EXPECT_EQ(GetText(writer.get(), "k"), "v");
}

}  // namespace
}  // namespace braid::test
