// Checkpoints of an open store, and pools restored from closed ones.
#include <filesystem>
#include <fstream>

#include "conformance.h"
#include "support/records.h"

namespace braid::test {
namespace {

namespace fs = std::filesystem;

/// Nothing is at `path`, nor beside it what is left of an attempt.
void ExpectNothingAt(const std::string& path) {
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(fs::exists(path + ".partial"));
}

class CheckpointTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    target_ = folder_.Sub("target");
  }
  void FillMixed() {
    Fill(0, 1500, 80, "old");
    BRAID_ASSERT_OK(db_->Compact());
    Fill(500, 700, 80, "flushed");
    BRAID_ASSERT_OK(db_->Flush());
    Fill(900, 100, 80, "memtable");
    for (uint64_t i = 0; i < 1500; i += 7) Delete(NumberedKey(i));
    Put("", "of the empty key");
    Put("empty", "");
    Put("large", std::string(options_.pool.chunk_bytes * 2 + 77, 'L'));
  }
  /// Opens the pool at the target and compares.
  void ExpectAtTarget(const Model& want) {
    const std::unique_ptr<DB> copy = OpenOrFail(options_, target_);
    ASSERT_NE(copy, nullptr);
    ExpectContent(copy.get(), want);
    ExpectVerified(copy.get());
    BRAID_ASSERT_OK(copy->Put("more", "is written"));
    BRAID_ASSERT_OK(copy->Compact());
    Model more = want;
    more["more"] = "is written";
    ExpectContent(copy.get(), more);
    BRAID_EXPECT_OK(copy->Close());
  }
  void CloseDb() {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
  }

  std::string target_;
};

class CreateCheckpointTest : public CheckpointTest {};
INSTANTIATE_TEST_SUITE_P(Designs, CreateCheckpointTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::checkpoints)), SetupName);

TEST_P(CreateCheckpointTest, HoldsTheStateOfItsMomentAndIsAPoolLikeAnyOther) {
  FillMixed();
  const Model then = model_;
  std::vector<double> told;
  CheckpointOptions options;
  options.progress = [&](double share) { told.push_back(share); };
  BRAID_ASSERT_OK(db_->CreateCheckpoint(target_, options));
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1.0);
  EXPECT_FALSE(fs::exists(target_ + ".partial"));
  Fill(0, 300, 80, "after");
  Delete("large");
  ExpectAtTarget(then);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(CreateCheckpointTest, HasTheDesignAndTheShapeOfThePool) {
  Put("a", "1");
  BRAID_ASSERT_OK(db_->CreateCheckpoint(target_ + "/"));
  const Result<PoolInfo> original = DB::Inspect(path_);
  const Result<PoolInfo> copy = DB::Inspect(target_);
  ASSERT_TRUE(original.ok() && copy.ok());
  EXPECT_EQ(copy.value().design, original.value().design);
  EXPECT_EQ(copy.value().comparator, original.value().comparator);
  EXPECT_EQ(copy.value().chunk_bytes, original.value().chunk_bytes);
  EXPECT_EQ(copy.value().regions.size(), original.value().regions.size());
  EXPECT_NE(copy.value().uuid, original.value().uuid);
  EXPECT_TRUE(copy.value().clean);
}

TEST_P(CreateCheckpointTest, OfAnEmptyStore) {
  BRAID_ASSERT_OK(db_->CreateCheckpoint(target_));
  ExpectAtTarget({});
}

TEST_P(CreateCheckpointTest, WhatLiesAtTheTargetStays) {
  Put("a", "1");
  EXPECT_TRUE(HasCode(db_->CreateCheckpoint(path_), Status::Code::kInvalidArgument));
  fs::create_directory(target_);
  std::ofstream(target_ + "/file") << "mine";
  EXPECT_TRUE(HasCode(db_->CreateCheckpoint(target_), Status::Code::kInvalidArgument));
  EXPECT_TRUE(fs::exists(target_ + "/file"));
  // Nor does what is no pool at the place where the new one is made.
  const std::string other = folder_.Sub("other");
  fs::create_directory(other + ".partial");
  std::ofstream(other + ".partial/file") << "mine";
  EXPECT_TRUE(HasCode(db_->CreateCheckpoint(other), Status::Code::kInvalidArgument));
  EXPECT_TRUE(fs::exists(other + ".partial/file"));
  EXPECT_FALSE(fs::exists(other));
  ExpectContent(db_.get(), model_);
}

TEST_P(CreateCheckpointTest, OneThatWasInterruptedIsNoCheckpointAndIsMadeAnew) {
  Fill(0, 50, 50);
  {
    // As a crash leaves it: a pool, not closed, without the name.
    const std::unique_ptr<DB> half = OpenOrFail(options_, target_ + ".partial");
    ASSERT_NE(half, nullptr);
    BRAID_ASSERT_OK(half->Put("half", "1"));
    EXPECT_TRUE(HasCode(db_->CreateCheckpoint(target_), Status::Code::kBusy));
  }
  EXPECT_FALSE(fs::exists(target_));
  BRAID_ASSERT_OK(db_->CreateCheckpoint(target_));
  ExpectAtTarget(model_);
}

TEST_P(CreateCheckpointTest, IsClosedAfterClose) {
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(HasCode(db_->CreateCheckpoint(target_), Status::Code::kClosed));
  ExpectNothingAt(target_);
}

TEST_P(CreateCheckpointTest, CanBeRestored) {
  FillMixed();
  const std::string checkpoint = folder_.Sub("checkpoint");
  BRAID_ASSERT_OK(db_->CreateCheckpoint(checkpoint));
  BRAID_ASSERT_OK(DB::Restore(options_, checkpoint, target_));
  ExpectAtTarget(model_);
}

class NoCheckpointTest : public CheckpointTest {};
INSTANTIATE_TEST_SUITE_P(Designs, NoCheckpointTest, ::testing::ValuesIn(AllSetups()), SetupName);

TEST_P(NoCheckpointTest, IsNotSupportedAndMakesNothing) {
  if (db_->GetCapabilities().checkpoints) GTEST_SKIP() << "the design has checkpoints";
  EXPECT_TRUE(HasCode(db_->CreateCheckpoint(target_), Status::Code::kNotSupported));
  ExpectNothingAt(target_);
}

class RestoreTest : public CheckpointTest {};
INSTANTIATE_TEST_SUITE_P(Designs, RestoreTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(RestoreTest, MakesAPoolOfAClosedOne) {
  FillMixed();
  CloseDb();
  std::vector<double> told;
  CheckpointOptions options;
  options.progress = [&](double share) { told.push_back(share); };
  BRAID_ASSERT_OK(DB::Restore(options_, path_, target_, options));
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1.0);
  ExpectAtTarget(model_);
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
}

TEST_P(RestoreTest, RefusesAnOpenPool) {
  Put("a", "1");
  EXPECT_TRUE(HasCode(DB::Restore(options_, path_, target_), Status::Code::kBusy));
  ExpectNothingAt(target_);
}

TEST_P(RestoreTest, OfAPoolThatWasNotClosed) {
  Fill(0, 300, 60);
  db_ = nullptr;  // its destructor closes; a log that is left is the crash tests' business
  BRAID_ASSERT_OK(DB::Restore(options_, path_, target_));
  ExpectAtTarget(model_);
}

TEST_P(RestoreTest, RefusesWhatIsNoPoolAndATargetThatIsThere) {
  EXPECT_TRUE(
      HasCode(DB::Restore(options_, folder_.Sub("nowhere"), target_), Status::Code::kNotFound));
  fs::create_directory(folder_.Sub("foreign"));
  EXPECT_TRUE(HasCode(DB::Restore(options_, folder_.Sub("foreign"), target_),
                      Status::Code::kInvalidArgument));
  CloseDb();
  fs::create_directory(target_);
  std::ofstream(target_ + "/file") << "mine";
  EXPECT_TRUE(HasCode(DB::Restore(options_, path_, target_), Status::Code::kInvalidArgument));
  EXPECT_TRUE(fs::exists(target_ + "/file"));
}

/// Changes one byte wherever `text` stands in a segment: a freed log may hold it, too.
void DamageText(const std::string& pool, const std::string& text) {
  size_t found = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(pool)) {
    if (!file.path().filename().string().starts_with("segment-")) continue;
    std::string bytes;
    {
      std::ifstream in(file.path(), std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    std::fstream out(file.path(), std::ios::binary | std::ios::in | std::ios::out);
    for (size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
      out.seekp(static_cast<std::streamoff>(at));
      out.put(static_cast<char>(text[0] ^ 1));
      ++found;
    }
  }
  ASSERT_NE(found, 0u) << text << " is in no segment";
}

TEST_P(RestoreTest, ADamagedPoolIsNamedAndNothingIsMade) {
  Fill(0, 200, 60);
  Put("marked", "a value that is found in the file");
  CloseDb();
  ASSERT_NO_FATAL_FAILURE(DamageText(path_, "a value that is found in the file"));
  const Status status = DB::Restore(options_, path_, target_);
  EXPECT_TRUE(HasCode(status, Status::Code::kCorruption));
  EXPECT_NE(status.message().find(path_ + "/segment-"), std::string::npos) << status.ToString();
  EXPECT_EQ(status.message().find(".partial"), std::string::npos) << status.ToString();
  ExpectNothingAt(target_);
}

TEST_P(RestoreTest, AMissingSegmentIsNamed) {
  Fill(0, 200, 60);
  CloseDb();
  std::string last;
  for (const fs::directory_entry& file : fs::directory_iterator(path_)) {
    const std::string name = file.path().filename();
    if (name.starts_with("segment-") && name > last) last = name;
  }
  if (last == "segment-000000") {
    fs::rename(path_ + "/" + last, path_ + "/segment-000001");
  } else {
    fs::remove(path_ + "/segment-000000");
  }
  const Status status = DB::Restore(options_, path_, target_);
  EXPECT_TRUE(HasCode(status, Status::Code::kCorruption));
  EXPECT_NE(status.message().find("segment-000000"), std::string::npos) << status.ToString();
  ExpectNothingAt(target_);
}

}  // namespace
}  // namespace braid::test
