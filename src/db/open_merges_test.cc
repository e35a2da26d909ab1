// Tests of stores that were left while merges of a group were open: what each is asked for.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "braid/db.h"
#include "compaction/merger.h"
#include "support/store_parts.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

/// Each member a number of steps, and then none goes on.
class StopsAfter final : public compaction::Crew {
 public:
  StopsAfter(int steps, std::atomic<bool>* stop) : steps_(steps), stop_(stop) {}
  void Run(const std::vector<Task>& tasks) override {
    for (const Task& task : tasks) {
      for (int i = 0; i < steps_; ++i) EXPECT_TRUE(task());
    }
    stop_->store(true);
    for (const Task& task : tasks) EXPECT_FALSE(task());
  }

 private:
  const int steps_;
  std::atomic<bool>* const stop_;
};

/// How many steps each merge has made.
class OpenMergesTest : public ::testing::TestWithParam<int> {
 protected:
  OpenMergesTest() : parts_([](Options* options) { options->compaction.batch_entries = 8; }) {}

  void PutRange(char range, const std::string& value) {
    for (int i = 0; i < 60; ++i) {
      const std::string key = range + std::to_string(100 + i);
      parts_.Put(key, value);
      model_[key] = value;
    }
  }
  /// The newer table of L0 has the lower keys, and both merges stop early.
  void LeaveMergesOpen() {
    PutRange('a', "1");
    PutRange('b', "1");
    parts_.Flush();
    parts_.Merge();
    PutRange('b', "2");
    parts_.Flush();
    PutRange('a', "2");
    parts_.Flush();
    StopsAfter stops(GetParam(), &parts_.stop_merges);
    parts_.merger.SetCrew(&stops);
    compaction::Plan plan = parts_.PlanOfMerge();
    plan.inputs.clear();
    for (const auto& table : parts_.state().version->l0()) plan.inputs.push_back(table->id());
    EXPECT_EQ(parts_.merger.Merge(plan).status().code(), Status::Code::kAborted);
  }
  void CheckReads(DB* db) {
    std::string value;
    for (const auto& [key, expected] : model_) {
      const Status s = db->Get(key, &value);
      EXPECT_TRUE(s.ok()) << key << ": " << s.ToString();
      EXPECT_EQ(value, expected) << key;
    }
  }

  test::StoreParts parts_;
  std::map<std::string, std::string> model_;
};

TEST_P(OpenMergesTest, EachKeyIsReadFromTheTableThatHasItsNewestVersion) {
  LeaveMergesOpen();
  const test::TempFolder folder;
  const std::string copy = folder.Sub("copy");
  std::filesystem::copy(parts_.path(), copy, std::filesystem::copy_options::recursive);
  Options options;
  options.create_if_missing = false;
  options.background_threads = false;
  options.read_only = true;
  {
    Result<std::unique_ptr<DB>> db = DB::Open(options, copy);
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    CheckReads(db->get());
  }
  options.read_only = false;
  Result<std::unique_ptr<DB>> db = DB::Open(options, copy);
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  CheckReads(db->get());
  ASSERT_TRUE((*db)->Compact().ok());
  CheckReads(db->get());
  EXPECT_TRUE((*db)->Close().ok());
}

INSTANTIATE_TEST_SUITE_P(Steps, OpenMergesTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace braid
