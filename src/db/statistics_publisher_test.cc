// Tests of the file by which a program that embeds braid tells what its store does.
#include "db/statistics_publisher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "braid/db.h"
#include "support/child_process.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

class StatisticsPublisherTest : public ::testing::Test {
 protected:
  std::string pool() const { return folder_.Sub("pool"); }
  std::string file() const { return pool() + ".stats.json"; }
  bool IsThere() const { return std::filesystem::exists(file()); }
  std::string Text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::unique_ptr<DB> Open(bool read_only = false) {
    Options options;
    options.read_only = read_only;
    auto db = DB::Open(options, pool());
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return db.ok() ? std::move(db).value() : nullptr;
  }

  test::TempFolder folder_;
};

TEST_F(StatisticsPublisherTest, TheFileIsThereWhileItIsAskedFor) {
  const auto db = Open();
  ASSERT_TRUE(db->Put("key", "value").ok());
  EXPECT_FALSE(IsThere());
  ASSERT_TRUE(db->PublishStatistics(true).ok());
  ASSERT_TRUE(db->PublishStatistics(true).ok());
  EXPECT_NE(Text().find("\"puts\":1,"), std::string::npos) << Text();
  EXPECT_NE(Text().find("\"pid\":" + std::to_string(::getpid())), std::string::npos);
  ASSERT_TRUE(db->PublishStatistics(false).ok());
  EXPECT_FALSE(IsThere());
  ASSERT_TRUE(db->PublishStatistics(false).ok());
  ASSERT_TRUE(db->PublishStatistics(true).ok());
  ASSERT_TRUE(db->Close().ok());
  EXPECT_FALSE(IsThere());
  EXPECT_TRUE(db->PublishStatistics(true).IsClosed());
  EXPECT_TRUE(Open(true)->PublishStatistics(true).IsNotSupported());
}

TEST_F(StatisticsPublisherTest, ItIsRenewed) {
  const auto db = Open();
  const auto publisher = StatisticsPublisher::Start(
      pool(), [&] { return db->GetStatistics(); }, std::chrono::milliseconds(5));
  ASSERT_TRUE(publisher.ok()) << publisher.status().ToString();
  ASSERT_TRUE(db->Put("key", "value").ok());
  for (int i = 0; i < 2000 && Text().find("\"puts\":1,") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(Text().find("\"puts\":1,"), std::string::npos) << Text();
}

TEST_F(StatisticsPublisherTest, AChildThatEndsLeavesTheParentsFile) {
  auto db = Open();
  ASSERT_TRUE(db->PublishStatistics(true).ok());
  const test::ChildOutcome ended = test::RunInChild(60, [&](int) {
    if (db->PublishStatistics(false).ok()) return 1;
    db.reset();
    return 0;
  });
  EXPECT_EQ(ended.exit_code, 0) << ended.ToString();
  EXPECT_TRUE(IsThere());
  ASSERT_TRUE(db->Close().ok());
  EXPECT_FALSE(IsThere());
}

TEST_F(StatisticsPublisherTest, WhereItCantBeWrittenTheCallSaysWhy) {
  const auto db = Open();
  std::filesystem::create_directories(file() + ".new/inside");
  const Status s = db->PublishStatistics(true);
  EXPECT_TRUE(s.IsIOError());
  EXPECT_NE(s.ToString().find(file()), std::string::npos) << s.ToString();
  ASSERT_TRUE(db->Put("key", "value").ok());
}

}  // namespace
}  // namespace braid
