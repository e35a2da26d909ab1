// Files that are read where they lie in memory, and what becomes of them that leave it.
#include "media/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "support/temp_folder.h"

namespace braid::media {
namespace {

constexpr uint64_t kFileBytes = 1'000'001;  // no whole pages

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t i = 0; i < kFileBytes; ++i) text_ += static_cast<char>('a' + i % 23);
    std::ofstream(path_) << text_;
    file_ = MappedFile::Of(path_);
    ASSERT_NE(file_, nullptr);
  }

  const test::TempFolder folder_;
  const std::string path_ = folder_.Sub("file");
  std::string text_;
  std::unique_ptr<MappedFile> file_;
};

TEST_F(MappedFileTest, HasWhatIsInMemory) {
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4095}, uint64_t{500'000}, kFileBytes - 1}) {
    const uint64_t bytes = std::min<uint64_t>(9000, kFileBytes - offset);
    ASSERT_TRUE(file_->Has(offset, bytes)) << offset;
    EXPECT_EQ(std::string(file_->At(offset), bytes), text_.substr(offset, bytes));
  }
}

TEST_F(MappedFileTest, HasNothingThatIsNotThere) {
  EXPECT_FALSE(file_->Has(0, 0));
  EXPECT_FALSE(file_->Has(kFileBytes, 1));
  EXPECT_FALSE(file_->Has(kFileBytes - 1, 2));
  EXPECT_FALSE(file_->Has(~uint64_t{0}, 2));
  EXPECT_FALSE(file_->Has(0, (MappedFile::kMostPages + 1) * 4096)) << "more than is looked at";
  EXPECT_EQ(MappedFile::Of(folder_.Sub("none")), nullptr);
  std::ofstream(folder_.Sub("empty")).close();
  EXPECT_EQ(MappedFile::Of(folder_.Sub("empty")), nullptr);
}

TEST_F(MappedFileTest, WhatHasLeftTheMemoryIsForAReadCall) {
  const int file = ::open(path_.c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::fsync(file), 0);
  // Nothing of it was touched through the mapping, which would keep it.
  ASSERT_EQ(::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
  ::close(file);
  if (file_->Has(0, 1)) GTEST_SKIP() << "the file system keeps its pages";
  EXPECT_FALSE(file_->Has(500'000, 5000));
  std::string read(10'000, '\0');
  std::ifstream(path_).read(read.data(), 10'000);
  EXPECT_TRUE(file_->Has(0, 10'000)) << "that brings it back";
}

TEST_F(MappedFileTest, AFileThatWasCutDoesNotKill) {
  ASSERT_TRUE(file_->Has(8192, 100));
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  ASSERT_TRUE(file_->Has(8192, 100)) << "nobody has seen it yet";
  EXPECT_EQ(std::string(file_->At(8192), 100), std::string(100, '\0'));
  EXPECT_FALSE(file_->Has(8192, 100)) << "for a read call to report";
  EXPECT_FALSE(file_->Has(0, 100));
}

}  // namespace
}  // namespace braid::media
