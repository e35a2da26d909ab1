// The checker itself: it accepts what it must and rejects what it must, also compared with a search
// through all orders.
#include <gtest/gtest.h>

#include <numeric>

#include "support/environment.h"
#include "support/linearizability.h"

namespace braid::test {
namespace {

Operation Write(uint64_t call, uint64_t returned, size_t reg, RegisterValue value) {
  Operation operation;
  operation.call = call;
  operation.returned = returned;
  operation.writes[reg] = value;
  return operation;
}
Operation Read(uint64_t call, uint64_t returned, size_t reg, RegisterValue value) {
  Operation operation;
  operation.call = call;
  operation.returned = returned;
  operation.reads[reg] = value;
  return operation;
}
Operation Swap(uint64_t call, uint64_t returned, size_t reg, RegisterValue expected,
               RegisterValue desired) {
  Operation operation = Write(call, returned, reg, desired);
  operation.reads[reg] = expected;
  return operation;
}
Operation Refused(uint64_t call, uint64_t returned, size_t reg, RegisterValue expected) {
  Operation operation;
  operation.call = call;
  operation.returned = returned;
  operation.differs[reg] = expected;
  return operation;
}
Operation WriteTwo(uint64_t call, uint64_t returned, RegisterValue first, RegisterValue second) {
  Operation operation = Write(call, returned, 0, first);
  operation.writes[1] = second;
  return operation;
}
Operation Scan(uint64_t call, uint64_t returned, RegisterValue first, RegisterValue second) {
  Operation operation = Read(call, returned, 0, first);
  operation.reads[1] = second;
  return operation;
}

TEST(LinearizabilityCheckerTest, AcceptsTheEmptyHistoryAndASequentialOne) {
  EXPECT_TRUE(IsLinearizable({}));
  EXPECT_TRUE(IsLinearizable({Write(1, 2, 0, 7), Read(3, 4, 0, 7), Write(5, 6, 0, 0),
                              Read(7, 8, 0, 0), Read(9, 10, 1, 0)}));
}

TEST(LinearizabilityCheckerTest, AcceptsEitherOrderOfConcurrentWrites) {
  EXPECT_TRUE(IsLinearizable({Write(1, 5, 0, 1), Write(2, 6, 0, 2), Read(7, 8, 0, 1)}));
  EXPECT_TRUE(IsLinearizable({Write(1, 5, 0, 1), Write(2, 6, 0, 2), Read(7, 8, 0, 2)}));
  EXPECT_FALSE(IsLinearizable({Write(1, 5, 0, 1), Write(2, 6, 0, 2), Read(7, 8, 0, 0)}));
}

TEST(LinearizabilityCheckerTest, RejectsAStaleRead) {
  EXPECT_FALSE(IsLinearizable({Write(1, 2, 0, 1), Read(3, 4, 0, 0)}));
  EXPECT_FALSE(IsLinearizable({Write(1, 2, 0, 1), Write(3, 4, 0, 2), Read(5, 6, 0, 1)}));
}

TEST(LinearizabilityCheckerTest, RejectsAReadFromTheFuture) {
  EXPECT_FALSE(IsLinearizable({Read(1, 2, 0, 1), Write(3, 4, 0, 1)}));
  EXPECT_FALSE(IsLinearizable({Read(1, 2, 0, 9)}));
}

TEST(LinearizabilityCheckerTest, RejectsNewThenOld) {
  // Both reads overlap the write, but the first has seen it.
  EXPECT_FALSE(IsLinearizable({Write(1, 10, 0, 1), Read(2, 3, 0, 1), Read(4, 5, 0, 0)}));
  EXPECT_TRUE(IsLinearizable({Write(1, 10, 0, 1), Read(2, 3, 0, 0), Read(4, 5, 0, 1)}));
}

TEST(LinearizabilityCheckerTest, RejectsALostWriteAndAResurrectedKey) {
  EXPECT_FALSE(
      IsLinearizable({Write(1, 2, 0, 1), Write(3, 6, 0, 2), Write(4, 5, 1, 5), Read(7, 8, 0, 1)}));
  EXPECT_FALSE(
      IsLinearizable({Write(1, 2, 0, 1), Write(3, 4, 0, 0), Read(5, 6, 0, 0), Read(7, 8, 0, 1)}));
}

TEST(LinearizabilityCheckerTest, RejectsHalfABatch) {
  EXPECT_TRUE(IsLinearizable({WriteTwo(1, 9, 1, 1), Scan(2, 3, 0, 0), Scan(4, 5, 1, 1)}));
  EXPECT_FALSE(IsLinearizable({WriteTwo(1, 9, 1, 1), Scan(2, 3, 1, 0)}));
  EXPECT_FALSE(IsLinearizable({WriteTwo(1, 9, 1, 1), Scan(2, 3, 0, 1)}));
  // Two single gets: the second must not see the old value once the first saw the new one.
  EXPECT_FALSE(IsLinearizable({WriteTwo(1, 9, 1, 1), Read(2, 3, 0, 1), Read(4, 5, 1, 0)}));
  EXPECT_TRUE(IsLinearizable({WriteTwo(1, 9, 1, 1), Read(2, 3, 0, 0), Read(4, 5, 1, 1)}));
}

TEST(LinearizabilityCheckerTest, RejectsWhatIsOnlySequentiallyConsistentOverTwoKeys) {
  // Each register alone is fine; together there is no order.
  EXPECT_FALSE(
      IsLinearizable({Write(1, 2, 0, 1), Write(1, 2, 1, 1), Read(3, 4, 0, 1), Read(5, 6, 1, 0)}));
}

TEST(LinearizabilityCheckerTest, OneOfTwoSwapsFromTheSameValueSucceeds) {
  EXPECT_TRUE(IsLinearizable({Swap(1, 9, 0, 0, 1), Refused(2, 8, 0, 0), Read(10, 11, 0, 1)}));
  EXPECT_TRUE(IsLinearizable({Swap(1, 9, 0, 0, 1), Swap(2, 8, 0, 1, 2), Read(10, 11, 0, 2)}));
  EXPECT_FALSE(IsLinearizable({Swap(1, 9, 0, 0, 1), Swap(2, 8, 0, 0, 2)}));
}

TEST(LinearizabilityCheckerTest, RejectsASwapFromAValueThatWasGoneOrNotThereYet) {
  EXPECT_FALSE(IsLinearizable({Write(1, 2, 0, 1), Write(3, 4, 0, 2), Swap(5, 6, 0, 1, 3)}));
  EXPECT_FALSE(IsLinearizable({Swap(1, 2, 0, 1, 3), Write(3, 4, 0, 1)}));
  // A swap that lost an update in between: the write of 2 was read, so it was there.
  EXPECT_FALSE(IsLinearizable({Write(1, 2, 0, 1), Swap(3, 9, 0, 1, 3), Write(4, 5, 0, 2),
                               Read(6, 7, 0, 2), Read(10, 11, 0, 3)}));
}

TEST(LinearizabilityCheckerTest, RejectsARefusalThoughTheValueWasThereAllTheTime) {
  EXPECT_FALSE(IsLinearizable({Write(1, 2, 0, 1), Refused(3, 4, 0, 1)}));
  EXPECT_FALSE(IsLinearizable({Refused(1, 2, 0, 0)}));
  EXPECT_TRUE(IsLinearizable({Write(1, 2, 0, 1), Refused(3, 6, 0, 1), Write(4, 5, 0, 2)}));
  EXPECT_TRUE(IsLinearizable({Write(1, 2, 0, 1), Refused(3, 4, 0, 2)}));
}

TEST(LinearizabilityCheckerTest, TwoReadersMayNotDisagreeOnTheOrder) {
  EXPECT_FALSE(IsLinearizable({Write(1, 20, 0, 1), Write(1, 20, 0, 2), Read(2, 3, 0, 1),
                               Read(4, 5, 0, 2), Read(6, 7, 0, 1)}));
  EXPECT_FALSE(
      IsLinearizable({Write(1, 20, 0, 1), Write(1, 20, 1, 1), Scan(2, 5, 1, 0), Scan(3, 6, 0, 1)}));
}

TEST(LinearizabilityCheckerTest, AnOperationThatNeverReturnedMayHaveHappenedOrNot) {
  EXPECT_TRUE(IsLinearizable({Write(1, kNeverReturned, 0, 1), Read(5, 6, 0, 0)}));
  EXPECT_TRUE(IsLinearizable({Write(1, kNeverReturned, 0, 1), Read(5, 6, 0, 1)}));
  EXPECT_TRUE(IsLinearizable({Write(1, kNeverReturned, 0, 1), Read(5, 6, 0, 0), Read(7, 8, 0, 1)}));
  EXPECT_FALSE(
      IsLinearizable({Write(1, kNeverReturned, 0, 1), Read(5, 6, 0, 1), Read(7, 8, 0, 0)}));
}

TEST(LinearizabilityCheckerTest, StartsFromTheGivenState) {
  EXPECT_TRUE(IsLinearizable({Read(1, 2, 0, 5)}, {5, 0, 0}));
  EXPECT_FALSE(IsLinearizable({Read(1, 2, 0, 0)}, {5, 0, 0}));
}

TEST(LinearizabilityCheckerTest, RefusesAHistoryOverItsLimit) {
  EXPECT_TRUE(IsLinearizable(History(kMaxOperations, Write(1, 2, 0, 1))));
  EXPECT_FALSE(IsLinearizable(History(kMaxOperations + 1, Write(1, 2, 0, 1))));
}

/// Every order that respects the intervals, without any pruning.
bool IsLinearizableByAllOrders(const History& history) {
  std::vector<size_t> order(history.size());
  std::iota(order.begin(), order.end(), 0u);
  do {
    bool respects = true;
    for (size_t i = 0; i < order.size() && respects; ++i) {
      for (size_t j = i + 1; j < order.size() && respects; ++j) {
        respects = history[order[j]].returned >= history[order[i]].call;
      }
    }
    if (!respects) continue;
    Registers state{};
    bool explains = true;
    for (const size_t i : order) {
      for (size_t r = 0; r < kRegisters; ++r) {
        const RegisterValue read = history[i].reads[r];
        if (read != kUntouched && read != state[r]) explains = false;
        const RegisterValue other = history[i].differs[r];
        if (other != kUntouched && other == state[r]) explains = false;
      }
      for (size_t r = 0; r < kRegisters; ++r) {
        if (history[i].writes[r] != kUntouched) state[r] = history[i].writes[r];
      }
    }
    if (explains) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

History RandomHistory(Random* random, size_t operations) {
  History history;
  for (size_t i = 0; i < operations; ++i) {
    Operation operation;
    operation.call = random->Below(12);
    operation.returned = operation.call + 1 + random->Below(8);
    for (size_t r = 0; r < 2; ++r) {
      const uint64_t what = random->Below(6);
      if (what == 0 || what == 4) {
        operation.writes[r] = static_cast<RegisterValue>(random->Below(3));
      }
      if (what == 1 || what == 4) {
        operation.reads[r] = static_cast<RegisterValue>(random->Below(3));
      }
      if (what == 5) operation.differs[r] = static_cast<RegisterValue>(random->Below(3));
    }
    history.push_back(operation);
  }
  return history;
}

TEST(LinearizabilityCheckerTest, AgreesWithASearchThroughAllOrders) {
  Random random(DeriveSeed(301));
  uint64_t accepted = 0;
  const uint64_t rounds = Sized(20'000, 500'000);
  for (uint64_t round = 0; round < rounds; ++round) {
    const History history = RandomHistory(&random, 2 + random.Below(5));
    const bool expected = IsLinearizableByAllOrders(history);
    accepted += expected ? 1 : 0;
    ASSERT_EQ(IsLinearizable(history), expected) << ToString(history) << ReplayLine();
  }
  EXPECT_GT(accepted, rounds / 20);
  EXPECT_LT(accepted, rounds - rounds / 20);
}

TEST(LinearizabilityCheckerTest, TheMemoryKeepsAHardHistoryShort) {
  // 16 concurrent writes, then a read of a value nobody wrote: 16! orders, but only two states for
  // each set of operations.
  History history;
  for (int i = 0; i < 16; ++i) history.push_back(Write(1, 2, 0, 1 + i % 2));
  history.push_back(Read(3, 4, 0, 3));
  LinearizabilityChecker checker(history, {});
  EXPECT_FALSE(checker.Check());
  EXPECT_LE(checker.visited(), 1u << 18);
}

}  // namespace
}  // namespace braid::test
