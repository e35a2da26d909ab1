// Loads and checkpoints that find no room: nothing of them is left.
#include <filesystem>

#include "conformance.h"
#include "support/records.h"

namespace braid::test {
namespace {

namespace fs = std::filesystem;

class IngestSpaceTest : public ConformanceTest {
 protected:
  void SetUp() override {
    if (!GetParam().tiny) GTEST_SKIP() << "a pool of ordinary size takes long to fill";
    options_ = TinyOptions();
    GetParam().kind.ApplyTo(&options_);
    options_.background_threads = GetParam().background;
    options_.pool.initial_bytes = 2 << 20;
    options_.pool.max_bytes = 4 << 20;
    path_ = folder_.Sub("pool");
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, IngestSpaceTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::ingest)), SetupName);

TEST_P(IngestSpaceTest, ALoadThatDoesNotFitLeavesTheStoreAsItWas) {
  Fill(0, 1000, 200);
  BRAID_ASSERT_OK(db_->Compact());
  const uint64_t used = db_->GetStatistics().pool_used_bytes;
  Model records;
  for (uint64_t i = 0; i < 40'000; ++i) records[NumberedKey(500 + i)] = std::string(200, 'x');
  records["large"] = std::string(100 << 10, 'L');
  for (int round = 0; round < 3; ++round) {
    IngestReport report;
    EXPECT_TRUE(HasCode(IngestSorted(db_.get(), records, &report), Status::Code::kOutOfSpace));
    EXPECT_EQ(report.records, 0u);
    ExpectContent(db_.get(), model_);
    ExpectVerified(db_.get());
    EXPECT_LE(db_->GetStatistics().pool_used_bytes, used + options_.pool.chunk_bytes);
  }
  // What fits goes in.
  Model few;
  for (uint64_t i = 0; i < 500; ++i) few[NumberedKey(800 + i)] = std::string(200, 'y');
  BRAID_ASSERT_OK(IngestSorted(db_.get(), few));
  for (const auto& [key, value] : few) model_[key] = value;
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(IngestSpaceTest, ADeviceThatIsFullLeavesNoCheckpoint) {
  Fill(0, 1000, 200);
  // A place where no file can be made.
  const std::string target = folder_.Sub("nowhere") + "/target";
  const Status status = db_->CreateCheckpoint(target);
  EXPECT_TRUE(HasCode(status, Status::Code::kIOError));
  EXPECT_FALSE(fs::exists(folder_.Sub("nowhere")));
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->CreateCheckpoint(folder_.Sub("target")));
}

}  // namespace
}  // namespace braid::test
