// What a closed pool holds when it is opened again.
#include <filesystem>

#include "conformance.h"

namespace braid::test {
namespace {

class ReopenTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, ReopenTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(ReopenTest, KeepsEverythingAfterClose) {
  Fill(0, 3000, 120);
  for (uint64_t i = 0; i < 3000; i += 4) Delete(NumberedKey(i));
  Reopen();
  EXPECT_EQ(db_->GetStatistics().clean_open, 1u);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(ReopenTest, KeepsEverythingAfterDestructionWithoutClose) {
  Fill(0, 3000, 120);
  for (uint64_t i = 0; i < 3000; i += 4) Delete(NumberedKey(i));
  AbandonAndReopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(ReopenTest, SurvivesManyReopensWithWritesBetween) {
  for (uint64_t round = 0; round < 25; ++round) {
    Fill(round * 37 % 500, 60, 90, "round " + std::to_string(round) + " ");
    if (round % 3 == 0) Delete(NumberedKey(round * 5));
    if (round % 4 == 1) {
      BRAID_ASSERT_OK(db_->Flush());
    }
    if (round % 6 == 2) {
      BRAID_ASSERT_OK(db_->Compact());
    }
    if (round % 2 == 0) {
      Reopen();
    } else {
      AbandonAndReopen();
    }
    if (HasFatalFailure()) return;
    ExpectContent(db_.get(), model_);
  }
  ExpectVerified(db_.get());
}

TEST_P(ReopenTest, DeletedKeysStayDeleted) {
  Fill(0, 500, 50);
  BRAID_ASSERT_OK(db_->Compact());
  Reopen();
  for (uint64_t i = 0; i < 500; ++i) Delete(NumberedKey(i));
  Reopen();
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  BRAID_ASSERT_OK(db_->Compact());
  Reopen();
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  ExpectVerified(db_.get());
}

TEST_P(ReopenTest, DoesNotDependOnRunTimeSettings) {
  Fill(0, 2000, 100);
  Random random(DeriveSeed(31));
  SCOPED_TRACE(ReplayLine());
  for (int round = 0; round < 10; ++round) {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
    Options other = RandomTinyOptions(&random);
    GetParam().kind.ApplyTo(&other);
    other.background_threads = random.OneIn(2);
    if (round % 2 == 1) other.verify_on_open = VerifyOnOpen::kFull;
    SCOPED_TRACE(Describe(other));
    db_ = OpenOrFail(other, path_);
    ASSERT_NE(db_, nullptr);
    ExpectContent(db_.get(), model_);
    Fill(static_cast<uint64_t>(round) * 200, 100, 80, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  ExpectVerified(db_.get());
}

TEST_P(ReopenTest, ChunkSizeOfAnExistingPoolStays) {
  Fill(0, 300, 100);
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  const auto before = DB::Inspect(path_);
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  Options other = options_;
  other.pool.chunk_bytes = 64ull << 10;
  other.pool.initial_bytes = 8ull << 20;
  db_ = OpenOrFail(other, path_);
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
  const auto after = DB::Inspect(path_);
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(after.value().chunk_bytes, before.value().chunk_bytes);
  EXPECT_EQ(after.value().uuid, before.value().uuid);
}

TEST_P(ReopenTest, FullVerifyAtOpenAcceptsASoundPool) {
  Fill(0, 2000, 100);
  BRAID_ASSERT_OK(db_->Compact());
  Fill(1000, 2000, 100, "second ");
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  options_.verify_on_open = VerifyOnOpen::kFull;
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
}

TEST_P(ReopenTest, EmptyPoolStaysEmpty) {
  Reopen();
  Reopen();
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  AbandonAndReopen();
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  ExpectVerified(db_.get());
}

TEST_P(ReopenTest, SequenceNumbersAreNeverReused) {
  uint64_t last = 0;
  for (int round = 0; round < 6; ++round) {
    BRAID_ASSERT_OK(db_->Put("k", std::to_string(round)));
    const auto snapshot = db_->GetSnapshot();
    ASSERT_EQ(snapshot->status().ok(), Has(&Capabilities::snapshots));
    const uint64_t now =
        snapshot->status().ok() ? snapshot->sequence() : db_->GetStatistics().last_sequence;
    EXPECT_GT(now, last);
    last = now;
    if (round % 2 == 0) {
      Reopen();
    } else {
      AbandonAndReopen();
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(ReopenTest, ThePoolMayBeMovedToAnotherPath) {
  Fill(0, 500, 100);
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  const std::string moved = folder_.Sub("moved");
  std::filesystem::rename(path_, moved);
  path_ = moved;
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
}

TEST_P(ReopenTest, ACopyOfAClosedPoolIsAPool) {
  Fill(0, 500, 100);
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  std::filesystem::copy(path_, folder_.Sub("copy"), std::filesystem::copy_options::recursive);
  const auto copy = OpenOrFail(options_, folder_.Sub("copy"));
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(copy, nullptr);
  ASSERT_NE(db_, nullptr);
  BRAID_ASSERT_OK(copy->Put("only in the copy", "v"));
  ExpectContent(db_.get(), model_);
  EXPECT_EQ(GetText(copy.get(), "only in the copy"), "v");
}

}  // namespace
}  // namespace braid::test
