// Update: no change is lost, whoever else writes the key.
#include "braid/update.h"

#include <new>
#include <thread>

#include "conformance.h"

namespace braid::test {
namespace {

class UpdateTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, UpdateTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::compare_and_swap)),
                         SetupName);

std::optional<std::string> AddOne(std::optional<Slice> value) {
  return std::to_string(value ? std::stoull(std::string(*value)) + 1 : 1);
}

TEST_P(UpdateTest, CountsWhatManyThreadsAdd) {
  constexpr uint64_t kThreads = 4, kAdds = 200;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kAdds; ++i) {
        const Result<bool> added = Update(db_.get(), "counter", AddOne);
        EXPECT_TRUE(added.ok() && added.value()) << added.status().ToString();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(GetText(db_.get(), "counter"), std::to_string(kThreads * kAdds));
}

TEST_P(UpdateTest, IsCalledAgainWithWhatAnotherHasWritten) {
  Put("k", "a");
  int calls = 0;
  const auto append = [&](std::optional<Slice> value) -> std::optional<std::string> {
    // As if another thread came in between: once.
    if (++calls == 1) {
      EXPECT_TRUE(db_->Put("k", "b").ok());
    }
    return std::string(*value) + "c";
  };
  EXPECT_TRUE(Update(db_.get(), "k", append).value());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(GetText(db_.get(), "k"), "bc");
}

TEST_P(UpdateTest, NothingIsWrittenWhereNothingShallChange) {
  const uint64_t before = db_->GetStatistics().puts;
  const auto leave = [](std::optional<Slice> value) -> std::optional<std::string> {
    EXPECT_FALSE(value.has_value());
    return std::nullopt;
  };
  EXPECT_FALSE(Update(db_.get(), "k", leave).value());
  EXPECT_EQ(db_->GetStatistics().puts, before);
  EXPECT_EQ(GetText(db_.get(), "k"), "(not found)");
}

TEST_P(UpdateTest, ErrorsAreToldAndNothingThrownGetsOut) {
  const auto fail = [](std::optional<Slice>) -> std::optional<std::string> {
    throw std::bad_alloc();
  };
  EXPECT_TRUE(Update(db_.get(), "k", fail).status().IsOutOfMemory());
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  EXPECT_TRUE(
      HasCode(Update(db_.get(), long_key, AddOne).status(), Status::Code::kInvalidArgument));
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(Update(db_.get(), "k", AddOne).status().IsClosed());
}

}  // namespace
}  // namespace braid::test
