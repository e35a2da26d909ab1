#include "engine/write_errors.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/test_pool.h"

namespace braid::engine {
namespace {

class WriteErrorsTest : public ::testing::Test {
 protected:
  test::TestPool pool_;
  std::atomic<bool> closed_{false};
};

TEST_F(WriteErrorsTest, AtFirstThereAreNone) {
  const WriteErrors errors(pool_.get(), &closed_);
  EXPECT_FALSE(errors.ended());
  EXPECT_FALSE(errors.failed());
  EXPECT_FALSE(errors.blocked());
  EXPECT_TRUE(errors.failure().ok());
  EXPECT_TRUE(errors.block_reason().ok());
  EXPECT_FALSE(errors.IsBlockedAt(0));
}

TEST_F(WriteErrorsTest, TheFirstFailureIsTold) {
  WriteErrors errors(pool_.get(), &closed_);
  EXPECT_TRUE(errors.Fail(Status::IOError("first")));
  EXPECT_FALSE(errors.Fail(Status::IOError("second")));
  EXPECT_TRUE(errors.failed());
  EXPECT_EQ(errors.failure().message(), "first");
}

TEST_F(WriteErrorsTest, ABlockEndsWhenItIsTakenBack) {
  WriteErrors errors(pool_.get(), &closed_);
  EXPECT_FALSE(errors.Unblock());
  errors.Block(Status::OutOfSpace("full"), 3, 3);
  EXPECT_TRUE(errors.blocked());
  EXPECT_FALSE(errors.failed());
  EXPECT_EQ(errors.block_reason().message(), "full");
  EXPECT_TRUE(errors.IsBlockedAt(2));
  EXPECT_TRUE(errors.IsBlockedAt(3));
  EXPECT_FALSE(errors.IsBlockedAt(4)) << "there is more room than there was";
  EXPECT_TRUE(errors.Unblock());
  EXPECT_FALSE(errors.IsBlockedAt(3));
  EXPECT_TRUE(errors.block_reason().ok());
}

TEST_F(WriteErrorsTest, RoomThatCameWhileItWasLookedForIsTried) {
  WriteErrors errors(pool_.get(), &closed_);
  errors.Block(Status::OutOfSpace("full"), 3, 102);
  EXPECT_TRUE(errors.IsBlockedAt(3));
  EXPECT_FALSE(errors.IsBlockedAt(102)) << "nobody has looked there";
  errors.Block(Status::OutOfSpace("full"), 50, 10);
  EXPECT_TRUE(errors.IsBlockedAt(10));
  EXPECT_FALSE(errors.IsBlockedAt(45)) << "others held them meanwhile";
}

TEST_F(WriteErrorsTest, OfAStoreThatIsClosedItIsSaidThatItIs) {
  WriteErrors errors(pool_.get(), &closed_);
  errors.Fail(Status::IOError("it failed"));
  EXPECT_TRUE(errors.ended());
  EXPECT_EQ(errors.WhyEnded().message(), "it failed");
  closed_.store(true);
  EXPECT_TRUE(errors.WhyEnded().IsClosed()) << errors.WhyEnded().ToString();
}

TEST_F(WriteErrorsTest, WithoutASyncThatFailedWritesGoOn) {
  WriteErrors errors(pool_.get(), &closed_);
  errors.NoteSyncError();
  EXPECT_FALSE(errors.ended());
  errors.Block(Status::OutOfSpace("full"), 3, 3);
  EXPECT_FALSE(errors.ended()) << "a block ends when there is room";
}

TEST_F(WriteErrorsTest, WhoFindsAFailureFindsItsReason) {
  for (int round = 0; round < 100; ++round) {
    WriteErrors errors(pool_.get(), &closed_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&errors] { errors.Fail(Status::IOError("it failed")); });
      threads.emplace_back([&errors] {
        while (!errors.failed()) std::this_thread::yield();
        EXPECT_EQ(errors.failure().message(), "it failed");
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace braid::engine
