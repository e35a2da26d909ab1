#include "lsm/drain_requests.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace braid::lsm {
namespace {

TEST(DrainRequestsTest, WhatIsAskedForTogetherIsServedTogether) {
  DrainRequests requests;
  EXPECT_FALSE(requests.Unserved().has_value());
  const uint64_t first = requests.Ask(7);
  const uint64_t second = requests.Ask(5);
  const auto open = requests.Unserved();
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->number, second);
  EXPECT_EQ(open->tables, 7u) << "those of all who ask";
  EXPECT_FALSE(requests.Answer(first).has_value());
  requests.Served(*open);
  ASSERT_TRUE(requests.Answer(first).has_value());
  EXPECT_TRUE(requests.Answer(first)->ok());
  EXPECT_TRUE(requests.Answer(second).has_value());
  EXPECT_FALSE(requests.Unserved().has_value());
}

TEST(DrainRequestsTest, WhoAsksLaterWaitsForTheNextRound) {
  DrainRequests requests;
  requests.Ask(1);
  const auto open = requests.Unserved();
  const uint64_t later = requests.Ask(2);
  requests.Served(*open);
  EXPECT_FALSE(requests.Answer(later).has_value());
  EXPECT_EQ(requests.Unserved()->number, later);
  EXPECT_EQ(requests.Unserved()->tables, 2u);
}

TEST(DrainRequestsTest, WhoIsGivenUpIsToldWhy) {
  DrainRequests requests;
  const uint64_t number = requests.Ask(1);
  requests.GiveUp(Status::OutOfMemory());
  ASSERT_TRUE(requests.Answer(number).has_value());
  EXPECT_TRUE(requests.Answer(number)->IsOutOfMemory());
  const uint64_t next = requests.Ask(1);
  EXPECT_FALSE(requests.Answer(next).has_value());
  requests.Served(*requests.Unserved());
  EXPECT_TRUE(requests.Answer(next)->ok());
}

TEST(DrainRequestsTest, WhoWaitsForAFlushIsToldThatItFailed) {
  DrainRequests requests;
  requests.FlushFailed(Status::OutOfMemory());
  const uint64_t seen = requests.flush_failures();
  EXPECT_TRUE(requests.WhyFlushFailed(seen).ok()) << "that was before";
  requests.FlushFailed(Status::OutOfMemory());
  EXPECT_TRUE(requests.WhyFlushFailed(seen).IsOutOfMemory());
  requests.Wait([&] { return !requests.WhyFlushFailed(seen).ok(); });
}

TEST(DrainRequestsTest, SomebodyWaitsAsLongAsAWaiterLives) {
  DrainRequests requests;
  EXPECT_FALSE(requests.AnyWaits());
  {
    const DrainRequests::Waiter one(&requests);
    {
      const DrainRequests::Waiter other(&requests);
      EXPECT_TRUE(requests.AnyWaits());
    }
    EXPECT_TRUE(requests.AnyWaits());
  }
  EXPECT_FALSE(requests.AnyWaits());
}

TEST(DrainRequestsTest, AWaitEndsWithWhatItWaitsFor) {
  DrainRequests requests;
  std::atomic<bool> done{false};
  std::thread worker([&] {
    for (;;) {
      if (const auto open = requests.Unserved(); open) {
        done.store(true);
        return requests.Served(*open);
      }
      std::this_thread::yield();
    }
  });
  const uint64_t number = requests.Ask(1);
  requests.Wait([&] { return requests.Answer(number).has_value(); });
  EXPECT_TRUE(done.load());
  worker.join();
}

TEST(DrainRequestsTest, AMissedCallIsNoWaitForEver) {
  DrainRequests requests;
  int looks = 0;
  requests.Wait([&] { return ++looks == 3; });  // nobody calls Notify
  EXPECT_EQ(looks, 3);
}

}  // namespace
}  // namespace braid::lsm
