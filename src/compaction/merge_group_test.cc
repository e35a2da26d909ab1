#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/random.h"
#include "compaction/merger.h"
#include "merge/borders.h"
#include "support/idle_engine.h"
#include "support/store_parts.h"

namespace braid::compaction {
namespace {

/// Each task on a thread of its own.
class Threads final : public Crew {
 public:
  void Run(const std::vector<Task>& tasks) override {
    std::vector<std::thread> threads;
    for (const Task& task : tasks) {
      threads.emplace_back([&task] {
        while (task()) {
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

/// Stops when both merges have begun.
class StopsLater final : public Crew {
 public:
  explicit StopsLater(std::atomic<bool>* stop) : stop_(stop) {}
  void Run(const std::vector<Task>& tasks) override {
    for (const Task& task : tasks) {
      for (int steps = 0; steps < 4; ++steps) EXPECT_TRUE(task());
    }
    stop_->store(true);
    for (const Task& task : tasks) EXPECT_FALSE(task());
  }

 private:
  std::atomic<bool>* stop_;
};

/// Merges of the oldest tables, by the thread of the test or by threads of their own.
class MergeGroupTest : public ::testing::TestWithParam<bool> {
 protected:
  MergeGroupTest() : parts_([](Options* options) { options->compaction.batch_entries = 8; }) {
    if (GetParam()) parts_.merger.SetCrew(&threads_);
  }

  void Put(const std::string& key, const std::string& value) {
    parts_.Put(key, value);
    model_[key] = value;
  }
  void Delete(const std::string& key) {
    parts_.Delete(key);
    model_.erase(key);
  }
  static std::string Key(char range, int i) {
    char text[16];
    std::snprintf(text, sizeof text, "%c%04d", range, i);
    return text;
  }
  void PutRange(char range, int n, const std::string& value) {
    for (int i = 0; i < n; ++i) Put(Key(range, i), value);
  }
  Plan PlanOf(size_t tables) const {
    Plan plan = parts_.PlanOfMerge();
    const level::Level& l0 = parts_.state().version->l0();
    plan.inputs.clear();
    for (size_t i = l0.size() - tables; i < l0.size(); ++i) plan.inputs.push_back(l0[i]->id());
    return plan;
  }
  Merger::Merged Merge(size_t tables) {
    Result<Merger::Merged> merged = parts_.merger.Merge(PlanOf(tables));
    EXPECT_TRUE(merged.ok()) << merged.status().ToString();
    return merged.ok() ? *merged : Merger::Merged{};
  }
  uint64_t Borders() {
    uint64_t borders = 0;
    index::Damage damage;
    const index::SkipList list = parts_.state().version->bottom().list();
    for (const auto* e = list.First(&damage); e != nullptr; e = list.Next(e, &damage)) {
      borders += merge::IsBorder(*e) ? 1 : 0;
    }
    EXPECT_FALSE(damage);
    return borders;
  }
  /// All keys that the test has ever put or deleted are read.
  void CheckReads() {
    for (const auto& [key, value] : model_) EXPECT_EQ(parts_.Get(key), value) << key;
  }
  void Check() {
    CheckReads();
    const VerifyReport report = parts_.Verify();
    EXPECT_EQ(report.problems, std::vector<std::string>{});
  }

  Threads threads_;
  test::StoreParts parts_;
  std::map<std::string, std::string> model_;
  // An iterator keeps its engine; who that is, is all the same here.
  const read::Reader::Owner engine_ = std::make_shared<test::IdleEngine>();
};

TEST_P(MergeGroupTest, RangesBehindAllThatL1HoldsGoInAtOnce) {
  PutRange('a', 100, "1");
  parts_.Flush();
  parts_.Merge();
  PutRange('c', 200, "2");
  parts_.Flush();
  PutRange('b', 200, "2");
  parts_.Flush();
  PutRange('d', 200, "2");
  parts_.Flush();
  const Merger::Merged merged = Merge(3);
  EXPECT_EQ(merged.tables, 3u);
  EXPECT_EQ(merged.entries, 600u);
  EXPECT_EQ(parts_.l1_entries(), 700u);
  EXPECT_TRUE(parts_.state().version->l0().empty());
  EXPECT_EQ(parts_.open_merge(), StoreFacts::OpenMerge::kNone);
  EXPECT_EQ(Borders(), 0u);
  Check();
}

TEST_P(MergeGroupTest, AnEmptyL1TakesThemToo) {
  PutRange('a', 100, "1");
  parts_.Flush();
  PutRange('b', 100, "1");
  parts_.Flush();
  Merge(2);
  EXPECT_EQ(parts_.l1_entries(), 200u);
  Check();
}

TEST_P(MergeGroupTest, VersionsAndDeletesRightAtTheBorderAreMergedAsElsewhere) {
  PutRange('a', 50, "1");
  PutRange('b', 50, "1");
  parts_.Flush();
  parts_.Merge();
  const auto view = parts_.views->Register(parts_.sequence, nullptr);
  PutRange('a', 50, "2");
  Delete(Key('a', 49));  // the last key of its range, and of which L1 has a version
  Delete(Key('a', 0));
  parts_.Flush();
  PutRange('b', 50, "2");
  Delete(Key('b', 0));
  Delete(Key('b', 49));
  parts_.Flush();
  Merge(2);
  EXPECT_EQ(Borders(), 0u);
  for (const auto& key : {Key('a', 49), Key('a', 0), Key('b', 0), Key('b', 49)}) {
    EXPECT_EQ(parts_.Get(key), "-") << key;
  }
  Check();
}

TEST_P(MergeGroupTest, WhatIsOpenWhenItIsStoppedGoesOnOneByOne) {
  PutRange('a', 100, "1");
  parts_.Flush();
  parts_.Merge();
  PutRange('a', 400, "2");
  parts_.Flush();
  PutRange('b', 400, "2");
  parts_.Flush();
  StopsLater stops(&parts_.stop_merges);
  parts_.merger.SetCrew(&stops);
  const Result<Merger::Merged> stopped = parts_.merger.Merge(PlanOf(2));
  EXPECT_EQ(stopped.status().code(), Status::Code::kAborted);
  EXPECT_EQ(parts_.state().version->l0().size(), 2u);
  EXPECT_EQ(parts_.merger.open().size(), 2u);
  EXPECT_EQ(Borders(), 1u);
  Check();
  parts_.stop_merges.store(false);
  Merge(1);
  Check();
  Merge(1);
  EXPECT_EQ(parts_.open_merge(), StoreFacts::OpenMerge::kNone);
  EXPECT_EQ(parts_.l1_entries(), 800u + Borders());
  Check();
}

// As an old page brings it back, in the place of the one that a batch has written.
TEST_P(MergeGroupTest, AnOverwrittenEntryThatIsLiveAgainIsFoundWhileMergesAreOpen) {
  PutRange('a', 100, "1");
  parts_.Flush();
  parts_.Merge();
  const std::string last = Key('a', 99);
  const auto found = parts_.versions.Lock().bottom()->Get(
      index::LookupKey{last, base::Hash64(last)}, index::ReadView{});
  ASSERT_EQ(found.state, index::LookupResult::State::kFound);
  auto* old = parts_.pool->As<format::EntryHeader>(found.value.offset());
  PutRange('a', 100, "2");
  parts_.Flush();
  PutRange('b', 100, "2");
  parts_.Flush();
  StopsLater stops(&parts_.stop_merges);
  parts_.merger.SetCrew(&stops);
  EXPECT_FALSE(parts_.merger.Merge(PlanOf(2)).ok());
  ASSERT_EQ(parts_.merger.open().size(), 2u);
  ASSERT_EQ(old->state(), format::kStateObsolete);
  Check();
  parts_.pool->ops().StoreByte(old->state_byte(), format::kStateLive);
  const std::vector<std::string> problems = parts_.Examine().problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("bytes of entries are live"), std::string::npos) << problems[0];
}

TEST_P(MergeGroupTest, ABorderStaysWhileItsRightNeighbourIsOpen) {
  PutRange('b', 100, "1");
  parts_.Flush();
  parts_.Merge();
  PutRange('a', 100, "2");
  parts_.Flush();
  PutRange('b', 100, "2");
  parts_.Flush();
  PutRange('c', 100, "2");
  parts_.Flush();
  // The left one has merged nothing, the one beside it a part, when it is stopped.
  class StopsUnevenly final : public Crew {
   public:
    explicit StopsUnevenly(std::atomic<bool>* stop) : stop_(stop) {}
    void Run(const std::vector<Task>& tasks) override {
      for (int steps = 0; steps < 6; ++steps) EXPECT_TRUE(tasks[1]());
      stop_->store(true);
      EXPECT_TRUE(tasks[0]());
      for (const Task& task : tasks) EXPECT_FALSE(task() && task());
    }

   private:
    std::atomic<bool>* stop_;
  } stops(&parts_.stop_merges);
  parts_.merger.SetCrew(&stops);
  EXPECT_FALSE(parts_.merger.Merge(PlanOf(3)).ok());
  parts_.stop_merges.store(false);
  EXPECT_EQ(Borders(), 2u);
  Merge(1);
  EXPECT_EQ(Borders(), 2u) << "records of an open merge name its links";
  Check();
  Merge(1);
  EXPECT_EQ(Borders(), 2u) << "its merge had begun";
  Merge(1);
  EXPECT_EQ(parts_.l1_entries(), 300u + Borders());
  CheckReads();  // what was obsolete when they were stopped is counted by the next open
}

/// Takes turns as far as a test wants; reads between the steps.
class ReadsBetween final : public Crew {
 public:
  explicit ReadsBetween(std::function<void()> read) : read_(std::move(read)) {}
  void Run(const std::vector<Task>& tasks) override {
    std::vector<bool> ended(tasks.size());
    for (bool more = true; more; read_()) {
      more = false;
      for (size_t i = 0; i < tasks.size(); ++i) {
        ended[i] = ended[i] || !tasks[i]();
        more = more || !ended[i];
      }
    }
  }

 private:
  std::function<void()> read_;
};

TEST_P(MergeGroupTest, ANewerTableDoesNotHideWhatAnOlderOneOfHigherKeysHolds) {
  PutRange('a', 60, "1");
  PutRange('b', 60, "1");
  parts_.Flush();
  parts_.Merge();
  PutRange('b', 60, "2");
  Delete(Key('b', 30));
  parts_.Flush();
  PutRange('a', 60, "2");
  parts_.Flush();
  // Without trees, as where memory is short, searches go along the lists.
  for (const auto& table : parts_.state().version->l0()) level::ListOf(table)->set_tree(nullptr, 1);
  ReadsBetween reads([&] {
    CheckReads();
    EXPECT_EQ(parts_.Get(Key('b', 30)), "-");
    std::vector<std::string> keys;
    for (const auto& [key, value] : model_) keys.push_back(key);
    const std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<std::string> values(keys.size());
    std::vector<Status> statuses(keys.size());
    parts_.reader.MultiGet({}, slices, values.data(), statuses.data());
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(values[i], "2") << keys[i];
  });
  parts_.merger.SetCrew(&reads);
  EXPECT_EQ(Merge(2).tables, 2u);
  Check();
}

/// Stops before any has merged anything: all end later, one by one, and nobody takes borders out.
class StopsAtOnce final : public Crew {
 public:
  explicit StopsAtOnce(std::atomic<bool>* stop) : stop_(stop) {}
  void Run(const std::vector<Task>& tasks) override {
    stop_->store(true);
    for (const Task& task : tasks) {
      while (task()) {
      }
    }
  }

 private:
  std::atomic<bool>* stop_;
};

TEST_P(MergeGroupTest, ABorderThatWasLeftBehindGoesWithTheNextMergeOfItsKey) {
  PutRange('a', 100, "1");
  parts_.Flush();
  PutRange('b', 100, "1");
  parts_.Flush();
  StopsAtOnce stops(&parts_.stop_merges);
  parts_.merger.SetCrew(&stops);
  EXPECT_FALSE(parts_.merger.Merge(PlanOf(2)).ok());
  parts_.stop_merges.store(false);
  EXPECT_EQ(Borders(), 1u);
  Put(Key('b', 200), "2");
  parts_.Flush();
  while (!parts_.state().version->l0().empty()) Merge(1);
  EXPECT_EQ(Borders(), 1u) << "none of them has met its key alone";
  EXPECT_EQ(parts_.l1_entries(), 202u);
  Check();
  Put(Key('a', 99), "2");
  parts_.Flush();
  Merge(1);
  EXPECT_EQ(Borders(), 0u);
  EXPECT_EQ(parts_.l1_entries(), 201u);
  Check();
}

TEST_P(MergeGroupTest, ABorderThatWasLeftBehindGivesWayToTheNextOneOfItsKey) {
  const auto flush_both = [this](const std::string& value) {
    PutRange('a', 100, value);
    parts_.Flush();
    PutRange('b', 100, value);
    parts_.Flush();
  };
  flush_both("1");
  StopsAtOnce stops(&parts_.stop_merges);
  parts_.merger.SetCrew(&stops);
  EXPECT_FALSE(parts_.merger.Merge(PlanOf(2)).ok());
  parts_.stop_merges.store(false);
  while (!parts_.state().version->l0().empty()) Merge(1);
  ASSERT_EQ(Borders(), 1u);
  TurnTakers turns;
  parts_.merger.SetCrew(&turns);
  flush_both("2");
  Merge(2);
  EXPECT_EQ(Borders(), 0u);
  EXPECT_EQ(parts_.l1_entries(), 200u);
  Check();
}

TEST_P(MergeGroupTest, ASnapshotSeesOldValuesOnBothSidesOfABorder) {
  PutRange('a', 60, "old");
  PutRange('b', 60, "old");
  parts_.Flush();
  parts_.Merge();
  const std::shared_ptr<const Snapshot> snapshot = parts_.reader.GetSnapshot();
  PutRange('a', 60, "new");
  Delete(Key('a', 59));  // the border's key
  parts_.Flush();
  PutRange('b', 60, "new");
  Delete(Key('b', 0));
  parts_.Flush();
  const auto read = [&] {
    ReadOptions then;
    then.snapshot = snapshot.get();
    std::string value;
    for (const char range : {'a', 'b'}) {
      for (int i = 0; i < 60; ++i) {
        const Status s = parts_.reader.Get(then, Key(range, i), &value);
        EXPECT_TRUE(s.ok()) << s.ToString();
        EXPECT_EQ(value, "old") << Key(range, i);
      }
    }
    const std::unique_ptr<Iterator> all = parts_.reader.NewIterator(then, engine_);
    int count = 0;
    for (all->SeekToFirst(); all->Valid(); all->Next(), ++count) EXPECT_EQ(all->value(), "old");
    EXPECT_TRUE(all->status().ok()) << all->status().ToString();
    EXPECT_EQ(count, 120);
    CheckReads();
  };
  ReadsBetween reads([&] {
    EXPECT_EQ(Borders(), 1u);
    read();
  });
  if (!GetParam()) parts_.merger.SetCrew(&reads);
  EXPECT_EQ(Merge(2).tables, 2u);
  EXPECT_EQ(Borders(), 0u);
  EXPECT_EQ(parts_.Get(Key('a', 59)), "-");
  EXPECT_EQ(parts_.Get(Key('b', 0)), "-");
  read();
  Check();
}

TEST_P(MergeGroupTest, WithoutAHeadForTheBordersTheOldestIsMergedAlone) {
  PutRange('a', 100, "1");
  parts_.Flush();
  PutRange('b', 100, "1");
  parts_.Flush();
  std::vector<uint32_t> heads;
  {
    const level::VersionSet::Locked versions = parts_.versions.Lock();
    for (;;) {
      const Result<uint32_t> head = versions.manifest().TakeHead();
      if (!head.ok()) break;
      heads.push_back(*head);
    }
  }
  EXPECT_EQ(Merge(2).tables, 1u);
  EXPECT_EQ(parts_.state().version->l0().size(), 1u);
  Check();
}

TEST_P(MergeGroupTest, AnyTablesThatLieApartComeOutRight) {
  Random random(17);
  std::map<std::string, bool> touched;
  for (int round = 0; round < 12; ++round) {
    std::string ranges = "abcd";
    for (size_t i = ranges.size(); i > 1; --i) std::swap(ranges[i - 1], ranges[random.Uniform(i)]);
    const size_t tables = 2 + random.Uniform(3);
    for (size_t t = 0; t < tables; ++t) {
      const uint64_t writes = 1 + random.Uniform(150);
      for (uint64_t i = 0; i < writes; ++i) {
        const std::string key = Key(ranges[t], static_cast<int>(random.Uniform(200)));
        touched[key] = true;
        if (random.OneIn(3)) {
          Delete(key);
        } else {
          Put(key, std::to_string(round));
        }
      }
      parts_.Flush();
    }
    EXPECT_EQ(Merge(tables).tables, tables);
    EXPECT_EQ(Borders(), 0u);
    for (const auto& [key, unused] : touched) {
      if (!model_.contains(key)) {
        EXPECT_EQ(parts_.Get(key), "-") << key;
      }
    }
    Check();
  }
}

INSTANTIATE_TEST_SUITE_P(Crews, MergeGroupTest, ::testing::Values(false, true),
                         [](const auto& test) { return test.param ? "Threads" : "InTurn"; });

}  // namespace
}  // namespace braid::compaction
