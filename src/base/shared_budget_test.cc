#include "base/shared_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace braid::base {
namespace {

constexpr uint64_t kMiB = 1 << 20;

/// A database as the budget sees it: takes what the test says.
class Taker {
 public:
  Taker(const std::shared_ptr<SharedBudget>& budget, uint64_t takes, uint64_t fixed = 0)
      : takes_(takes) {
    auto joined = budget->Join(fixed);
    EXPECT_TRUE(joined.ok()) << joined.status().ToString();
    if (!joined.ok()) return;
    share_ = std::move(joined).value();
    share_->Attach([this] { return takes_; }, [this] { ++told_; });
  }

  SharedBudget::Share& share() { return *share_; }
  uint64_t bytes() const { return share_->bytes(); }
  void Take(uint64_t bytes) { takes_ = bytes; }
  int told() const { return told_; }

 private:
  uint64_t takes_;
  int told_ = 0;
  std::unique_ptr<SharedBudget::Share> share_;
};

class SharedBudgetTest : public ::testing::Test {
 protected:
  std::shared_ptr<SharedBudget> Of(uint64_t bytes) { return std::make_shared<SharedBudget>(bytes); }
  /// Past the time between two divisions.
  void Look(Taker* taker, bool wants_more = false) {
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    taker->share().Look(wants_more);
  }
};

TEST_F(SharedBudgetTest, OneAloneHasAllHoweverLittleItIs) {
  Taker large(Of(100 * kMiB), 0);
  EXPECT_EQ(large.bytes(), 100 * kMiB);
  Taker tiny(Of(1), 5 * kMiB, 7 * kMiB);
  EXPECT_EQ(tiny.bytes(), 1u);
}

TEST_F(SharedBudgetTest, ThoseThatWantMoreHaveEqualParts) {
  const auto budget = Of(90 * kMiB);
  Taker a(budget, 80 * kMiB);
  Taker b(budget, 0);
  Taker c(budget, 0);
  Look(&a, true);
  Look(&b, true);
  Look(&c, true);
  for (const Taker* taker : {&a, &b, &c}) {
    EXPECT_NEAR(static_cast<double>(taker->bytes()), 30.0 * kMiB, 0.1 * kMiB);
  }
}

TEST_F(SharedBudgetTest, WhatOneDoesNotNeedIsTheOthersUntilItDoes) {
  const auto budget = Of(80 * kMiB);
  Taker busy(budget, 10 * kMiB);
  Taker idle(budget, 2 * kMiB);
  Look(&busy, true);
  // A quarter of an equal part is kept for what the idle one may take before it looks.
  EXPECT_NEAR(static_cast<double>(busy.bytes()), 68.0 * kMiB, 0.1 * kMiB);
  EXPECT_GE(idle.bytes(), 40 * kMiB) << "an equal part is its own whenever it comes for it";
  busy.Take(60 * kMiB);
  idle.Take(30 * kMiB);
  const int told = busy.told();
  Look(&idle);
  EXPECT_NEAR(static_cast<double>(busy.bytes()), 40.0 * kMiB, 0.1 * kMiB);
  EXPECT_EQ(busy.told(), told + 1) << "it is to give up what it has above its share";
}

TEST_F(SharedBudgetTest, WhatACloseFreesComesBack) {
  const auto budget = Of(64 * kMiB);
  Taker stays(budget, 20 * kMiB);
  Look(&stays, true);
  {
    Taker closes(budget, 20 * kMiB);
    Look(&closes, true);
    EXPECT_NEAR(static_cast<double>(stays.bytes()), 32.0 * kMiB, 0.1 * kMiB);
    const int told = stays.told();
    closes.share().Close();
    EXPECT_NEAR(static_cast<double>(stays.bytes()), 44.0 * kMiB, 0.1 * kMiB)
        << "what iterators still hold of it counts";
    EXPECT_EQ(stays.told(), told + 1) << "it may have more now";
    EXPECT_EQ(budget->usage().databases, 1u);
    EXPECT_EQ(budget->usage().bytes, 40 * kMiB);
  }
  EXPECT_EQ(stays.bytes(), 64 * kMiB);
  EXPECT_EQ(budget->usage().bytes, 20 * kMiB);
}

TEST_F(SharedBudgetTest, EachIsSureOfTheLeastAndOfWhatItCantGiveUp) {
  const auto budget = Of(16 * kMiB);
  Taker fixed(budget, 9 * kMiB, 9 * kMiB);
  Taker greedy(budget, 16 * kMiB);
  Taker small(budget, 0);
  Look(&greedy, true);
  Look(&small, true);
  EXPECT_EQ(fixed.bytes(), 10 * kMiB);
  EXPECT_NEAR(static_cast<double>(greedy.bytes()), 3.0 * kMiB, 0.1 * kMiB);
  EXPECT_EQ(small.bytes(), greedy.bytes()) << "it does not matter who was first";
}

TEST_F(SharedBudgetTest, OneThatHasNoRoomIsRefusedWithTheNumberToRaise) {
  const auto budget = Of(3 * kMiB);
  std::vector<std::unique_ptr<Taker>> takers;
  for (int i = 0; i < 3; ++i) takers.push_back(std::make_unique<Taker>(budget, 0));
  const auto refused = budget->Join(0);
  ASSERT_TRUE(refused.status().IsInvalidArgument());
  const std::string text = refused.status().ToString();
  EXPECT_NE(text.find("4 databases"), std::string::npos) << text;
  EXPECT_NE(text.find("raise memory_budget_bytes of the SharedResources"), std::string::npos);
  EXPECT_NE(text.find(std::to_string(4 * kMiB)), std::string::npos) << text;
  EXPECT_EQ(budget->usage().databases, 3u) << "the one that was refused is not one of them";
  takers.pop_back();
  EXPECT_TRUE(budget->Join(0).ok());
  EXPECT_FALSE(budget->Join(kMiB).ok()) << "the cache does not fit";
}

TEST_F(SharedBudgetTest, WhatCantBeResizedIsChosenForSeveral) {
  const auto budget = Of(160 * kMiB);
  std::vector<std::unique_ptr<Taker>> takers;
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(budget->BaseOfNext(), 160 * kMiB / std::max<uint64_t>(8, takers.size() + 1));
    takers.push_back(std::make_unique<Taker>(budget, 0));
  }
}

}  // namespace
}  // namespace braid::base
